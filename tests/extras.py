"""Packages that a plain install does not bring."""

import importlib
import os

import pytest

from clustertrust.files.formats import FORMATS, format_of


class Missing:
    """Stands in for a package, or a part of it, that is not installed: a test that uses it is skipped.

    While tests are collected it can be named and called, so a file whose cases are listed at its
    top needs no package for its other tests.
    """

    def __init__(self, package):
        self._package = package

    def __getattr__(self, name):
        if name.startswith("__") and not name.startswith("__array"):
            raise AttributeError(name)
        return self._use()

    def __call__(self, *_, **__):
        return self._use()

    def __iter__(self):
        return iter([self._use()])

    def __instancecheck__(self, _):
        return False

    def _use(self):
        if "PYTEST_CURRENT_TEST" in os.environ:
            pytest.skip(f"{self._package} is not installed")
        return self


def extra(package):
    """Return a package that only some users install."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return Missing(package)


def need_format(suffix):
    """Skip the test if files with this suffix need a package that is not installed."""
    needs = FORMATS[format_of(f"file{suffix}")].needs
    if needs is not None:
        pytest.importorskip(needs[0])
