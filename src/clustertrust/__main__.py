"""`python -m clustertrust` and the command `clustertrust`.

Nothing is imported before Ctrl-C is handled.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    try:
        from clustertrust import _interrupts

        _interrupts.leave_at_once()
        from clustertrust.cli import main as run

        run()
    except KeyboardInterrupt:
        import os

        os.write(2, b"Stopped; nothing is half-written.\n")
        os._exit(130)


if __name__ == "__main__":
    main()
