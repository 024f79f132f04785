"""Errors as data: which parameter, which value, and what to do about it.

A sentence is made of them where it is shown. Python writes ``metric='cosine'``, the command writes
its option: nothing reads a sentence to find out what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# (parameter, its value as Python writes it, or None for the name alone) → the words for it
Wording = Callable[[str, str | None], str]


def as_python(parameter: str, value: str | None) -> str:
    """Write a parameter, with its value if there is one, as in a call.

    A parameter of another function has the function's name before it: `audit.noise`.
    """
    function, _, name = parameter.rpartition(".")
    text = name if value is None else f"{name}={value}"
    return f"{function}(…, {text})" if function else text


def literal(text: object) -> str:
    """Return a text that stands in a template as it is, braces included."""
    return str(text).replace("{", "{{").replace("}", "}}")


def _as_typed(value: Any) -> str:
    """Return a value as users type it: functions and classes by their names."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) and callable(value) else repr(value)


# A field of a template, or a doubled brace that stands for one.
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


@dataclass(frozen=True)
class Message:
    """A text about parameters that can be written for Python or for the command.

    Attributes
    ----------
    template : the text; `{metric}` stands for the name of a parameter, `{metric=}` for the name
        with its value, `{metric='cosine'}` for the name with another value; `{{` for a brace
    values : the values of the parameters that are shown with them
    subject : the parameter that the text begins with, if it does; its value is among the values
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    subject: str | None = None

    def render(self, wording: Wording = as_python) -> str:
        """Return the text with each parameter in these words."""

        def words(field: re.Match[str]) -> str:
            if field[1] is None:
                return field[0][0]
            name, is_given, text = field[1].partition("=")
            if not is_given:
                return wording(name, None)
            return wording(name, text or _as_typed(self.values[name]))

        text = _FIELD.sub(words, self.template)
        if self.subject is None:
            return text
        return f"{wording(self.subject, _as_typed(self.values[self.subject]))} {text}"

    def after(self, text: str) -> Message:
        """Return the message with a text before it, such as the name of a file."""
        subject = "" if self.subject is None else f"{{{self.subject}=}} "
        return Message(f"{literal(text)}{subject}{self.template}", self.values)

    def __str__(self) -> str:
        return self.render()


def rendered(text: str | Message, wording: Wording) -> str:
    """Return a text in these words, if it names parameters at all."""
    return text.render(wording) if isinstance(text, Message) else text


class ParameterError(ValueError):
    """A parameter has a value that cannot be used.

    Attributes
    ----------
    parameter, value : which parameter, and what was given
    problem, remedy : what is wrong with it, and what to do, as templates of :class:`Message`
    others : other parameters that the text shows with their values

    Examples
    --------
    >>> from clustertrust import CAKE
    >>> try:
    ...     CAKE(3, fusion="sum").fit([[0.0], [1.0], [2.0]])
    ... except ValueError as error:
    ...     print(error.parameter, error.value, "|", error)
    fusion sum | fusion='sum' is not known; choose one of ['combined', 'harmonic', 'product',
    'refined'].
    """

    def __init__(
        self, parameter: str, value: Any, problem: str, remedy: str = "", **others: Any
    ) -> None:
        self.parameter, self.value = parameter, value
        self.problem, self.remedy, self.others = problem, remedy, others
        super().__init__(str(self.message))

    @property
    def message(self) -> Message:
        """The whole sentence, to be written for Python or for the command."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        values = {**self.others, self.parameter: self.value}
        text = f"{self.problem}{remedy}"
        return Message(text if text.endswith("?") else f"{text}.", values, self.parameter)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all parts: workers raise errors in other processes."""
        parts = (self.parameter, self.value, self.problem, self.remedy)
        return _rebuild, (type(self), parts, self.others)


class ParameterTypeError(ParameterError, TypeError):
    """A parameter has a value of a type that cannot be used."""


class InputError(ValueError):
    """An input that cannot be used; its text names parameters, and does not begin with one.

    Attributes
    ----------
    message : the text, to be written for Python or for the command
    """

    def __init__(self, message: Message | str, **values: Any) -> None:
        self.message = Message(message, values) if isinstance(message, str) else message
        super().__init__(str(self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all parts: workers raise errors in other processes."""
        return type(self), (self.message,), vars(self)


class ParameterWarning(UserWarning):
    """A warning that names parameters; `message` can be written for Python or for the command."""

    def __init__(self, message: Message) -> None:
        self.message = message
        super().__init__(str(message))


def message_of(error: BaseException) -> Message:
    """Return what an error or a warning says, to be written in any words."""
    message = getattr(error, "message", None)
    return message if isinstance(message, Message) else Message(literal(error))


def worded(kind: type[Exception], message: Message) -> Exception:
    """Return an error of any kind whose text can be written for Python or for the command."""
    error = kind(str(message))
    vars(error)["message"] = message
    return error


def _rebuild(
    kind: type[ParameterError], parts: tuple[str, Any, str, str], others: dict[str, Any]
) -> ParameterError:
    return kind(*parts, **others)
