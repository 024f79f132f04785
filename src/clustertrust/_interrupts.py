"""Ctrl-C while the command loads its modules, when there is nothing yet to tidy up."""

from __future__ import annotations

import os
import signal
from typing import Any

STOPPED = "Stopped; nothing is half-written."
INTERRUPTED = 130  # 128 + the signal, as shells have it


def leave_at_once() -> None:
    """End the process at Ctrl-C, from now on until `loaded`.

    An exception would pass through half-loaded modules of others, some of which catch it or print
    it.
    """
    # Not where a shell has us ignore it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def loaded() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again: there may be files to tidy up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: Any) -> None:
    os.write(2, f"{STOPPED}\n".encode())
    os._exit(INTERRUPTED)
