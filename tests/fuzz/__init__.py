"""Random damage to files and arguments: what is refused, and what slips through (`make test-fuzz`)."""
