"""Parquet, Feather and Arrow's stream, by pyarrow, and how large they become in memory."""

from __future__ import annotations

import importlib
import io
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from clustertrust.files.errors import TableError
from clustertrust.files.memory import allowed, check_memory, in_words, needed
from clustertrust.files.opening import opened
from clustertrust.files.reading import Append, Reading, Table
from clustertrust.files.sources import FileSource

MAGIC = b"ARROW1"
# Rows that are decoded at once where a Parquet file is read whole.
DECODED = 2**14


def read_parquet(source: Any, reading: Reading) -> Table:
    """Read Parquet."""
    file = parquet_file(source)
    check_memory(parquet_size(file).need, f"its {file.metadata.num_rows:,} rows")
    arrow, batches, size = importlib.import_module("pyarrow"), [], 0
    # A text that a file holds once may stand in all rows, so that they take more than they claim.
    for batch in file.iter_batches(batch_size=DECODED):
        size += batch.nbytes
        check_memory(3 * size, "its rows")
        batches.append(batch)
    table = arrow.Table.from_batches(batches, file.schema_arrow)
    return Table.of_frame(from_arrow(table))


def read_arrow(source: Any, reading: Reading) -> Table:
    """Read Feather, Arrow's file format, or Arrow's stream."""
    size = arrow_size(source)
    check_memory(size.need, f"its {size.rows:,} rows")
    with opened(source) as file:
        return Table.of_frame(from_arrow(arrow_reader(file)[0].read_all()))


def parquet_file(source: Any) -> Any:
    """Open Parquet."""
    return importlib.import_module("pyarrow.parquet").ParquetFile(source)


def arrow_reader(file: IO[bytes]) -> tuple[Any, bool]:
    """Return Arrow's reader of an open file, and whether it has the file format, not a stream."""
    ipc = importlib.import_module("pyarrow.ipc")
    is_file = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return (ipc.open_file if is_file else ipc.open_stream)(file), is_file


def from_arrow(table: Any, *, flat: bool = False) -> pd.DataFrame:
    """Turn an Arrow table into a frame and check its text: pandas may do so only later.

    Levels of an index of several become columns; if `flat`, any index does.
    """
    table.validate(full=True)
    frame: pd.DataFrame = table.to_pandas()
    levels = index_levels(table.schema)
    there = [name for name in levels if name in table.schema.names]
    as_columns = there and (flat or len(levels) > 1)
    return frame.rename_axis(there).reset_index() if as_columns else frame


def index_levels(schema: Any) -> list[str]:
    """Return the columns of a file that pandas wrote as an index, one for each level."""
    levels = (schema.pandas_metadata or {}).get("index_columns", ())
    return [name for name in levels if isinstance(name, str)]  # others count the rows


class ParquetSource(FileSource):
    """Parquet, by pyarrow."""

    format = "parquet"

    def __init__(self, paths: Sequence[Path], reading: Reading) -> None:
        super().__init__(paths, reading)
        self.n_rows = sum(parquet_file(path).metadata.num_rows for path in self.paths)

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Estimate eight bytes per number."""
        about = parquet_file(path).metadata
        return int(about.num_rows * about.num_columns * 8)

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count what the file says of its parts."""
        return parquet_size(parquet_file(path)).need

    def _columns(self, path: Path) -> list[str]:
        return list(parquet_file(path).schema_arrow.names)

    def _index(self, path: Path) -> str | None:
        return _index_of(parquet_file(path).schema_arrow)

    def _places(self, path: Path) -> list[Any]:
        return list(range(parquet_file(path).num_row_groups)) or [None]

    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        file = parquet_file(path)
        parquet_size(file).check_part()
        chosen = None if place is None else [place]
        for batch in file.iter_batches(batch_size=rows, row_groups=chosen, columns=self.wanted):
            yield from_arrow(batch, flat=True)


class ArrowSource(FileSource):
    """Feather, Arrow's file format, and Arrow's stream, by pyarrow.

    A block is at most a batch of the file.
    """

    format = "arrow"

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return the bytes of the values, which the file says of its parts."""
        return arrow_size(path).bytes

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count what the file says of its parts."""
        return arrow_size(path).need

    def _columns(self, path: Path) -> list[str]:
        with path.open("rb") as file:
            return [str(name) for name in arrow_reader(file)[0].schema.names]

    def _index(self, path: Path) -> str | None:
        with path.open("rb") as file:
            return _index_of(arrow_reader(file)[0].schema)

    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        arrow_size(path).check_part()
        with path.open("rb") as file:
            reader, is_file = arrow_reader(file)
            positions = range(reader.num_record_batches if is_file else 0)
            for batch in map(reader.get_batch, positions) if is_file else reader:
                chosen = batch.select(self.wanted)
                for low in range(0, len(chosen), rows):
                    yield from_arrow(chosen.slice(low, rows), flat=True)


def _index_of(schema: Any) -> str | None:
    """Return the column that names the rows of what pandas wrote; not one level of several."""
    levels = index_levels(schema)
    return levels[0] if len(levels) == 1 else None


def _parquet_writer(path: Path, schema: Any) -> Any:
    return importlib.import_module("pyarrow.parquet").ParquetWriter(path, schema)


def _arrow_writer(path: Path, schema: Any) -> Any:
    ipc = importlib.import_module("pyarrow.ipc")
    return ipc.new_file(str(path), schema, options=ipc.IpcWriteOptions(compression="lz4"))


# Row groups of Parquet, and batches of Arrow's file format, also known as Feather.
WRITERS = {"parquet": _parquet_writer, "arrow": _arrow_writer}


@contextmanager
def append_arrow(path: Path, format: str) -> Iterator[Append]:
    """Write frames with one of the `WRITERS`, opened with the schema of the first frame."""
    arrow = importlib.import_module("pyarrow")
    writer: Any = None
    schema: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer, schema
        # Integers that name rows become floats in a block where one is missing: the first
        # block sets the type.
        table = arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if writer is None:
            schema = table.schema
            writer = WRITERS[format](path, schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


# How large they become


class Size(NamedTuple):
    """What a file holds: rows, columns, bytes of values, and those of the largest part of it."""

    rows: int
    columns: int
    bytes: int
    largest: int

    @property
    def need(self) -> int:
        """Return roughly the bytes that the whole table takes."""
        numbers = self.rows * self.columns * 8
        return needed(self.rows, self.rows * self.columns, letters=max(0, self.bytes - numbers))

    def check_part(self) -> None:
        """Raise if a part, which is unpacked at once, takes more than is allowed."""
        if self.largest > allowed():
            raise TableError(
                f"has a part of rows that takes {in_words(self.largest)} of memory at once, and "
                f"{in_words(allowed())} may be used. Write it in smaller parts (row groups or "
                "record batches)."
            )


def parquet_size(file: Any) -> Size:
    """Return the size of an open Parquet file, by what it says of its parts."""
    about = file.metadata
    parts = [about.row_group(i) for i in range(about.num_row_groups)]
    sizes = [part.total_byte_size for part in parts]
    # One column after the other is unpacked.
    columns = (part.column(j) for part in parts for j in range(part.num_columns))
    largest = max((column.total_uncompressed_size for column in columns), default=0)
    return Size(about.num_rows, about.num_columns, sum(sizes), largest)


def arrow_size(source: Any) -> Size:
    """Return the size of a file or stream of Arrow's, by the headers of its parts.

    Nothing is unpacked: each part says its rows, and each packed buffer its size.
    """
    arrow = importlib.import_module("pyarrow")
    in_memory = isinstance(source, io.BytesIO)
    file = arrow.BufferReader(source.getvalue()) if in_memory else arrow.memory_map(str(source))
    rows, total, largest = 0, 0, 0
    with file:
        reader, is_file = arrow_reader(file)
        file.seek(0)
        for message in _messages_of_file(file) if is_file else _messages_of_stream(file):
            length, size = _batch_size(message)
            rows += length if message.type == "record batch" else 0
            total, largest = total + size, max(largest, size)
        return Size(rows, len(reader.schema), total, largest)


def _messages_of_stream(file: Any) -> Iterator[Any]:
    """Yield the batches of a stream, one after the other."""
    reader = importlib.import_module("pyarrow.ipc").MessageReader.open_stream(file)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        if message.type in ("record batch", "dictionary"):
            yield message


def _messages_of_file(file: Any) -> Iterator[Any]:
    """Yield the batches that the end of a file lists: dictionaries, then rows."""
    read_message = importlib.import_module("pyarrow.ipc").read_message
    end = file.size() - len(MAGIC) - 4
    file.seek(end)
    (length,) = struct.unpack("<i", file.read(4))
    file.seek(end - length)
    data = file.read(length)
    footer = _fields(data, *struct.unpack_from("<I", data))
    for listed in filter(None, (footer(2), footer(3))):
        start = _follow(data, listed)
        (count,) = struct.unpack_from("<I", data, start)
        blocks = data[start + 4 + (-start - 4) % 8 :] if count else b""
        for offset, _, _, _ in struct.iter_unpack("<qiiq", blocks[: 24 * count]):
            file.seek(offset)
            yield read_message(file)


def _batch_size(message: Any) -> tuple[int, int]:
    """Return rows and bytes of a batch of Arrow's, by its header, which is a flatbuffer."""
    data, body = bytes(message.metadata), message.body
    header = _fields(data, *struct.unpack_from("<I", data))(2)
    assert header is not None
    batch = _fields(data, _follow(data, header))
    if message.type == "dictionary":
        inner = batch(1)
        assert inner is not None
        batch = _fields(data, _follow(data, inner))
    length, buffers, packed = batch(0), batch(2), batch(3)
    rows = 0 if length is None else struct.unpack_from("<q", data, length)[0]
    if packed is None or buffers is None:
        return rows, 0 if body is None else body.size
    start = _follow(data, buffers)
    (count,) = struct.unpack_from("<I", data, start)
    size = 0
    for offset, stored in struct.iter_unpack("<qq", data[start + 4 : start + 4 + 16 * count]):
        # The size comes first; -1: this buffer is not packed.
        claim = struct.unpack("<q", bytes(body[offset : offset + 8]))[0] if stored else 0
        size += stored if claim < 0 else claim
    return rows, size


def _follow(data: bytes, position: int) -> int:
    """Return what an offset of a flatbuffer points to."""
    return int(position + struct.unpack_from("<I", data, position)[0])


def _fields(data: bytes, table: int) -> Callable[[int], int | None]:
    """Return where the fields of a table of a flatbuffer are, by their numbers."""
    names = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, names)[0]

    def field(number: int) -> int | None:
        place = 4 + 2 * number
        offset = struct.unpack_from("<H", data, names + place)[0] if place < size else 0
        return table + offset if offset else None

    return field
