"""Errors in files, in one or two lines that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clustertrust._errors import InputError, Message, literal
from clustertrust.storage import DAMAGE


class TableError(InputError):
    """A file that cannot be read as a table; the message says what to do.

    Attributes
    ----------
    message : the text, to be written for Python or for the command
    suggested_options : parameters that help, with their values
    """

    def __init__(
        self, text: str | Message, suggested_options: Sequence[tuple[str, Any]] = ()
    ) -> None:
        super().__init__(Message(literal(text)) if isinstance(text, str) else text)
        self.suggested_options = tuple(suggested_options)


def not_text(encoding: str, problem: str, source_name: str = "") -> TableError:
    """Return the error for bytes that are not text in an encoding."""
    text = f"is not {encoding} text ({problem}); save it as UTF-8, or name its encoding "
    return TableError(Message(f"{literal(source_name + text)}({{encoding}})."))


@contextmanager
def named_errors(source_name: str, format: str) -> Iterator[None]:
    """Turn any error of a reader into one or two lines that name the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        name = "UTF-8" if error.encoding.startswith("utf-8") else error.encoding
        raise not_text(name, f"{error.reason} at byte {error.start}", f"{source_name} ") from error
    except TableError as error:
        message = error.message.after(f"{source_name} ")
        raise TableError(message, error.suggested_options) from error
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except EOFError as error:
        raise TableError(f"{source_name} is cut short; copy or download it again.") from error
    except MemoryError as error:
        raise MemoryError(f"{source_name} could not be read. {error}".strip()) from error
    except Exception as error:
        # Arrow has its own errors, which cannot be named here without importing it.
        if not isinstance(error, DAMAGE) and not type(error).__module__.startswith("pyarrow"):
            raise
        raise TableError(f"{source_name} cannot be read as {format}: {error}") from error
