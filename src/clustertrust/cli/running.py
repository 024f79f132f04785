"""How a command ends: with notes and errors of a line or two, its files tidied up, and a code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any

import click

from clustertrust._errors import Wording, message_of
from clustertrust._interrupts import INTERRUPTED, STOPPED
from clustertrust.cli.outputs import remove_drafts
from clustertrust.cli.terminal import Examples, echo, quote
from clustertrust.cli.wording import CliWording

# 128 + the signal, as shells have it.
TERMINATED = 143
# Seconds to tidy up in.
GRACE = 3.0
# Bytes of addresses that NumPy, SciPy and numba take when they are loaded, and some.
LEAST_ADDRESSES = 1000 << 20
EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError)


# What people type, and what does that.
ELSEWHERE = {
    "cluster": "`clustertrust score DATA -k 3` clusters a table and scores the assignments",
    "fit": "`clustertrust score DATA -k 3 --model FILE` saves a model for `clustertrust predict`",
}


class Commands(Examples, click.Group):
    """Commands whose errors are one or two lines on standard error."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one says what does that."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
            ctx.obj["command"] = command
            return name, command, rest
        except click.UsageError as error:
            close = get_close_matches(args[0], self.commands, 1)
            hint = f" {ELSEWHERE[args[0]]}." if args[0] in ELSEWHERE else ""
            hint = hint or (f" Did you mean {close[0]}?" if close else "")
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx) from error

    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run, and exit with the code for the outcome."""
        state: dict[str, Any] = {"typed": list(sys.argv[1:] if args is None else args)}
        extra |= {"standalone_mode": False, "obj": state}
        try:
            with _notes_for_warnings(state), _ended_in_order():
                _check_addresses()
                code = super().main(args, prog_name, **extra)
        except (click.Abort, KeyboardInterrupt):
            click.echo(STOPPED, err=True)
            code = INTERRUPTED
        except Exception as error:
            if state.get("debug"):
                traceback.print_exc()
            code = _report_error(error, state)
        sys.exit(code if isinstance(code, int) else 0)


def _check_addresses() -> None:
    """Raise under a limit on addresses (ulimit -v) that NumPy and SciPy cannot be loaded in.

    OpenBLAS, which both bring, tries without end to reserve its buffers, and hears no signal then.
    It reserves some for each of its threads, of which we use one.
    """
    if sys.platform == "win32":  # it has no such limit
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if limit < LEAST_ADDRESSES:
        raise click.ClickException(
            f"Out of memory: addresses are limited to {limit >> 20} MiB (ulimit -v), and "
            f"{LEAST_ADDRESSES >> 20} are needed to begin. Raise the limit; --memory limits what "
            "a table may take."
        )


def _report_error(error: Exception, state: Mapping[str, Any]) -> int:
    """Print what went wrong and what to do; return the exit code."""
    code, hint = 1, ""
    wording = CliWording(state.get("command"))
    message = message_of(error).render(wording) or type(error).__name__
    if isinstance(error, click.ClickException):
        code, message = error.exit_code, error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"Try '{error.ctx.command_path} --help'."
    elif isinstance(error, OSError) and error.filename is not None and error.strerror:
        message = f"{error.filename}: {error.strerror}."
    elif isinstance(error, MemoryError):
        message = f"Out of memory. {message}" if str(error) else "Out of memory."
        hint = "Use fewer rows or columns; `score --memory` reads a large file in blocks."
    elif not isinstance(error, EXPECTED):
        message, hint = (
            f"{type(error).__name__}: {error}",
            "This is a bug in clustertrust; --debug shows where it happened.",
        )
    echo(f"Error: {' '.join(message.split())}", err=True)
    if isinstance(error, ValueError) and hasattr(error, "suggested_options"):
        hint = _to_paste(error, state["typed"], wording)
    if hint:
        echo(hint, err=True)
    return code


def _to_paste(error: Any, typed: Sequence[str], wording: Wording) -> str:
    """Return the command that was typed, with what helps against the error."""
    renames = dict(getattr(error, "renames", ()))
    words = [",".join(renames.get(part, part) for part in word.split(",")) for word in typed]
    added = " ".join(wording(name, repr(value)) for name, value in error.suggested_options)
    if not added and words == list(typed):
        return ""
    return f"Try: clustertrust {' '.join(map(quote, words))} {added}".rstrip()


@contextmanager
def _notes_for_warnings(state: Mapping[str, Any]) -> Iterator[None]:
    """Show each warning for users once, as a note on one line."""
    shown: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(message_of(message).render(CliWording(state.get("command"))).split())
        if text not in shown:
            shown.add(text)
            echo(f"Note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Exit in order when the system ends the process, so that temporary files are removed.

    Where that takes longer than `GRACE`, such as in a library that waits for its threads, the
    process ends all the same.
    """

    def end() -> None:
        with suppress(OSError):
            remove_drafts()
        os._exit(TERMINATED)

    def leave(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(2, f"{STOPPED}\n".encode())
        late = threading.Timer(GRACE, end)
        late.daemon = True
        try:
            late.start()
        except RuntimeError:
            # No memory for another thread
            end()
        sys.exit(TERMINATED)

    # Signals are the main thread's.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is leave:
            signal.signal(signal.SIGTERM, before)
