"""One file for each figure of the paper; each has an `EXPERIMENT`."""
