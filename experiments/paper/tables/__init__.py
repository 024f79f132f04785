"""One file for each table of the paper; each has an `EXPERIMENT`."""
