"""What is wrong with a file, in a line or two that name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clustertrust.storage import DAMAGE

__all__ = ["TableError", "named_errors"]


class TableError(ValueError):
    """A file that cannot be read as a table, and what to do about it."""


@contextmanager
def named_errors(source_name: str, format: str) -> Iterator[None]:
    """Make of anything that a reader raises over a file an error of one or two lines that names the
    file.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise TableError(
            f"{source_name} is not UTF-8 text ({error.reason} at byte {error.start}); save it as "
            "UTF-8."
        ) from error
    except TableError as error:
        raise TableError(f"{source_name} {error}") from error
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        # Arrow has kinds of its own, which cannot be named here without loading it.
        if not isinstance(error, DAMAGE) and not type(error).__module__.startswith("pyarrow"):
            raise
        raise TableError(f"{source_name} cannot be read as {format}: {error}") from error
