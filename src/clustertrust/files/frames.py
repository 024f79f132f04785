"""What the readers of formats share: an open file, and a frame as a table."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

import pandas as pd

from clustertrust.files.delimited import check_unique, rewound
from clustertrust.files.reading import Table


def opened(source: Any) -> AbstractContextManager[IO[bytes]]:
    """Return the bytes of a path, or those in memory, as an open file."""
    return nullcontext(rewound(source)) if isinstance(source, io.BytesIO) else source.open("rb")


def table_of_frame(frame: pd.DataFrame) -> Table:
    """Make a table of a frame with its index, if it has one, and with text as column names."""
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    check_unique(list(frame.columns))
    names = None if isinstance(frame.index, pd.RangeIndex) else frame.index
    return Table(frame.reset_index(drop=True), names)
