"""Measurements behind every claim of speed or memory; not part of the wheel."""
