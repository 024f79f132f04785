"""The paper's tables and figures, made anew and set beside the printed ones: `python -m experiments --help`."""
