"""Data like the given ones, but without clusters."""
