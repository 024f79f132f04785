"""Text labels → a warning of those that may be one label, written in several ways."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from clustertrust._validation.arguments import warn_user

# Groups of labels that a warning names
SHOWN = 3
# A label is taken for a misspelling only of one with so many times its points, and only if the word
# that differs has so many letters: "type A" is no misspelling of "type B".
FREQUENT, LETTERS = 10, 5
# Longer labels are sentences.
LONGEST = 60


def warn_of_spellings(names: Sequence[Any], sizes: Sequence[int]) -> None:
    """Warn of labels that differ in spaces or capital letters, and of rare ones misspelt."""
    written: dict[str, list[tuple[str, int]]] = {}
    for name, size in zip(names, sizes, strict=True):
        if isinstance(name, str):
            written.setdefault(" ".join(name.split()).casefold(), []).append((name, size))
    several = [alike for alike in written.values() if len(alike) > 1]
    _warn("differ only in spaces or capital letters", several)
    points = {plain: sum(size for _, size in alike) for plain, alike in written.items()}
    misspelt = [[*written[common][:1], *written[rare]] for rare, common in misspellings(points)]
    _warn("may be misspellings of others", misspelt)


def misspellings(points: dict[str, int]) -> list[tuple[str, str]]:
    """Return rare labels with a typing error, and the frequent label that each may mean.

    `points` says how many points each has. A typing error is a letter too many, missing, wrong, or
    swapped with the next one.
    """
    # Those with such an error are alike without some letter.
    alike: dict[str, set[str]] = {}
    for name in points:
        for at in range(len(name) + 1 if len(name) <= LONGEST else 0):
            alike.setdefault(name[:at] + name[at + 1 :], set()).add(name)
    return sorted(
        {
            (rare, common)
            for names in alike.values()
            for rare, common in permutations(names, 2)
            if points[common] >= FREQUENT * points[rare] and _has_typing_error(rare, common)
        }
    )


def _has_typing_error(rare: str, common: str) -> bool:
    """Return whether one word of the two differs, by one typing error."""
    first, second = (re.split(r"[\W_]+", name) for name in (rare, common))
    if len(first) != len(second):
        return False
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(differing) != 1:
        return False
    a, b = sorted(differing[0], key=len)
    if len(a) < LETTERS or not (a.isalpha() and b.isalpha()):
        return False
    if len(a) < len(b):
        return any(a == b[:at] + b[at + 1 :] for at in range(len(b)))
    wrong = [at for at in range(len(a)) if a[at] != b[at]]
    swapped = len(wrong) == 2 and a[wrong[0]] + a[wrong[1]] == b[wrong[1]] + b[wrong[0]]
    return len(wrong) == 1 or (swapped and wrong[1] == wrong[0] + 1)


def _warn(what: str, groups: list[list[tuple[str, int]]]) -> None:
    if not groups:
        return
    counted = [
        " and ".join(f"{name!r} ({size} point{'' if size == 1 else 's'})" for name, size in group)
        for group in groups[:SHOWN]
    ]
    more = "" if len(groups) <= SHOWN else f"; and {len(groups) - SHOWN} more"
    warn_user(
        f"labels that {what} are different clusters: {'; '.join(counted)}{more}. If they mean the "
        "same, write them alike."
    )
