"""`python -m clustertrust`: the command line."""

from __future__ import annotations

from clustertrust.cli import main

if __name__ == "__main__":
    main()
