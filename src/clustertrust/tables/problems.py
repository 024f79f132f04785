"""Reasons why a table cannot be clustered, each with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from clustertrust._errors import InputError, Message, Wording, as_python, literal


class Problem(NamedTuple):
    """A reason why a table cannot be clustered.

    Attributes
    ----------
    text : what is wrong, and what to do
    suggested_option : a parameter that helps, with its value; None where there is none
    rename : a name that was given and the one that was meant, where that is the help
    """

    text: Message
    suggested_option: tuple[str, Any] | None = None
    rename: tuple[str, str] | None = None


class TablePlanError(InputError):
    """All reasons why a table cannot be clustered.

    Attributes
    ----------
    problems : each with what to do
    suggested_options : parameters that help, with their values
    renames : pairs of names of which the second was meant
    """

    def __init__(
        self, problems: Sequence[Problem], source_name: str = "", wording: Wording = as_python
    ) -> None:
        self.problems = tuple(problems)
        texts = [literal(problem.text.render(wording)) for problem in problems]
        super().__init__(f"{literal(source_name)}{_numbered(texts)}")
        hints = (problem.suggested_option for problem in problems)
        self.suggested_options = tuple(hint for hint in hints if hint is not None)
        renames = (problem.rename for problem in problems)
        self.renames = tuple(rename for rename in renames if rename is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all parts: workers raise errors in other processes."""
        return type(self), (self.problems,), vars(self)


def _numbered(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return " ".join(f"({position}) {text}" for position, text in enumerate(texts, 1))
