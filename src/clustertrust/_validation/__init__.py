"""The checks that public functions call first.

Each error names the argument, the value and the remedy.
"""
