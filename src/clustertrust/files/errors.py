"""Errors in files, in one or two lines that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clustertrust.storage import DAMAGE


class TableError(ValueError):
    """A file that cannot be read as a table; the message says what to do.

    Attributes
    ----------
    suggested_options : parameters that help, such as `header=False`
    """

    def __init__(self, text: str, suggested_options: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.suggested_options = tuple(suggested_options)


@contextmanager
def named_errors(source_name: str, format: str) -> Iterator[None]:
    """Turn any error of a reader into one or two lines that name the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        name = "UTF-8" if error.encoding.startswith("utf-8") else error.encoding
        raise TableError(
            f"{source_name} is not {name} text ({error.reason} at byte {error.start}); save it as "
            "UTF-8, or name its encoding (encoding=…)."
        ) from error
    except TableError as error:
        raise TableError(f"{source_name} {error}", error.suggested_options) from error
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        # Arrow has its own errors, which cannot be named here without importing it.
        if not isinstance(error, DAMAGE) and not type(error).__module__.startswith("pyarrow"):
            raise
        raise TableError(f"{source_name} cannot be read as {format}: {error}") from error
