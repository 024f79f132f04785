"""What was measured: the paper, reproduced (`python -m experiments --help`), and research of our own."""
