"""How a file is read, what it holds, and how text was written."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from clustertrust._errors import Message, ParameterError, ParameterTypeError
from clustertrust._validation.arguments import check_count
from clustertrust.files.columns import check_unique

# Blanks between fields, as pandas takes them.
BLANKS = r"\s+"
# Words that may be typed for a separator.
SEPARATORS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
SEPARATORS |= dict.fromkeys(("space", "spaces", " ", "whitespace"), BLANKS)
TEXTS = ("separator", "array", "use_rep", "encoding", "decimal", "thousands", "sheet")


@dataclass(frozen=True)
class Reading:
    """How to read a file.

    Attributes
    ----------
    text : names of columns to keep as text, such as ids (007 stays 007)
    separator : between the fields of text, also as a word such as "tab"; None: detected
    header : whether the first line of CSV and TSV holds names; None: it must, and numbers there are
        an error
    array : which array of an NPZ file
    use_rep : which representation of an AnnData file, a key of `obsm` or "X"
    encoding : of text, such as "cp1252"; None: detected
    decimal, thousands : marks in numbers of text; None: detected
    na : texts that mean a missing value, besides the usual ones; (): only empty fields
    skip_rows : lines above the column names; None: detected
    sheet : name of the sheet of a spreadsheet; None: the first
    as_written : whether all columns are kept as the text they are
    """

    text: tuple[str, ...] = ()
    separator: str | None = None
    header: bool | None = None
    array: str | None = None
    use_rep: str = "X_pca"
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] | None = None
    skip_rows: int | None = None
    sheet: str | None = None
    as_written: bool = False

    def __post_init__(self) -> None:
        """Raise if an option has the wrong type."""
        if not isinstance(self.text, tuple | list) or not all(
            isinstance(name, str) for name in self.text
        ):
            raise TypeError(
                f"text={self.text!r} must be a tuple of names of columns, such as ('id',)."
            )
        if not (self.header is None or isinstance(self.header, bool)):
            raise ParameterTypeError("header", self.header, "must be True, False or None")
        for name in TEXTS:
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name != "use_rep")):
                raise ParameterTypeError(name, value, "must be text")
        if self.between and len(self.between) > 1 and self.between != BLANKS:
            problem = "is not one character"
            raise ParameterError("separator", self.separator, problem, "try ';' or 'tab'")
        if self.skip_rows is not None:
            check_count("skip_rows", self.skip_rows, at_least=0)
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ParameterError(
                    "encoding", self.encoding, "is not known", "try 'utf-8', 'cp1252' or 'utf-16'"
                ) from None

    @classmethod
    def check(cls, reading: Any) -> Reading:
        """Return the reading options, the usual ones for None; raise for anything else."""
        if not isinstance(reading, cls | None):
            raise TypeError(
                f"reading={reading!r} must be a clustertrust.files.Reading, such as "
                "Reading(text=('id',))."
            )
        return reading or cls()

    @property
    def between(self) -> str | None:
        """The separator that was given, as pandas takes it."""
        return SEPARATORS.get(self.separator or "", self.separator)

    @property
    def has_marks(self) -> bool:
        """Whether the marks in numbers are given."""
        return bool(self.decimal or self.thousands)


# Writes one more frame of a table.
Append = Callable[[pd.DataFrame], None]


@dataclass(frozen=True)
class Dialect:
    """How a table was written as text.

    Attributes
    ----------
    format : name of `FORMATS`
    separator : of its fields, as pandas takes it
    decimal : the mark before decimals
    """

    format: str
    separator: str
    decimal: str

    def options(self, format: str, separator: str) -> dict[str, Any]:
        """Return options of to_csv to write a format, whose own separator is given.

        Another format has its own separator, but decimal commas would be quoted between commas.
        """
        if format == self.format and len(self.separator) == 1:
            separator = self.separator
        elif separator == self.decimal:
            separator = ";"
        return {"sep": separator, "decimal": self.decimal}


@dataclass(frozen=True)
class Table:
    """The contents of a file.

    Attributes
    ----------
    data : DataFrame, or CSR array if the file holds a sparse matrix
    names : names of the rows that the file itself has, else None
    adata : the AnnData object, if the file is one
    notes : what was found out about the file, such as its encoding
    dialect : how text is written; None for other formats
    """

    data: Any
    names: pd.Index | None = None
    adata: Any = None
    notes: tuple[str | Message, ...] = ()
    dialect: Dialect | None = None

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Table:
        """Return a frame and its index, if it has one, with text as column names."""
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        check_unique(list(frame.columns))
        names = None if isinstance(frame.index, pd.RangeIndex) else frame.index
        return cls(frame.reset_index(drop=True), names)
