"""What the paper says in passing, or proves: one file each, with an `EXPERIMENT`."""
