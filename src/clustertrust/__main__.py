"""`python -m clustertrust` and the command `clustertrust`.

Nothing is imported before Ctrl-C is handled.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    try:
        from clustertrust import _interrupts

        _interrupts.leave_at_once()
        _print_what_can_be_printed()
        from clustertrust.cli import main as run

        run()
    except KeyboardInterrupt:
        import os

        os.write(2, b"Stopped; nothing is half-written.\n")
        os._exit(130)


def _print_what_can_be_printed() -> None:
    """Print ? for letters the output cannot show: on Windows, files and pipes have no UTF-8."""
    import sys

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    main()
