"""`python -m experiments` reproduces the paper."""

from experiments.paper.__main__ import main

if __name__ == "__main__":
    main()
