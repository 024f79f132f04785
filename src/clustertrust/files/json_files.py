"""Records in JSON: a list of objects, or one object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from clustertrust.files.errors import TableError
from clustertrust.files.memory import check_memory, needed
from clustertrust.files.opening import opened
from clustertrust.files.reading import Reading, Table


def read_json(source: Any, reading: Reading, *, lines: bool) -> Table:
    """Read records: a list of objects, or one object a line."""
    with opened(source) as file:
        check_memory(_needed_by_json(file), "its records")
        text = file.read().decode(reading.encoding or "utf-8-sig")
    try:
        if lines:
            parsed = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise TableError(f"is not valid JSON: {error}.") from error
    # Some services answer with one list of records inside of an object.
    if isinstance(parsed, dict):
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if len(lists) == 1 else parsed
    if isinstance(parsed, dict) and all(isinstance(value, list) for value in parsed.values()):
        if len({len(value) for value in parsed.values()}) > 1:
            raise TableError("holds lists of different lengths; give one record per point.")
        return Table(pd.DataFrame(parsed))
    if not isinstance(parsed, list) or not all(isinstance(record, dict) for record in parsed):
        raise TableError('holds no list of records; give one object per point, such as [{"x": 1}].')
    columns = {name for record in parsed for name in record}
    # Records without a key of another get a gap there.
    check_memory(needed(len(parsed), len(parsed) * len(columns)), f"{len(columns):,} keys")
    return Table.of_frame(pd.DataFrame.from_records(parsed))


def _needed_by_json(file: IO[bytes]) -> int:
    """Return roughly the bytes that JSON takes as Python objects; rewind the file."""
    size, marks, objects = 0, 0, 0
    while part := file.read(2**20):
        size, objects = size + len(part), objects + part.count(b"{") + part.count(b"[")
        marks += part.count(b",") + part.count(b":")
    file.seek(0)
    # Letters beyond Latin ones make all of a text wide.
    return 5 * size + 100 * marks + 200 * objects


def write_json(table: pd.DataFrame, path: Path, *, lines: bool) -> None:
    """Write records; numbers keep all their digits."""
    records = [
        {str(name): _json_value(value) for name, value in record.items()}
        for record in table.to_dict("records")
    ]
    texts = [json.dumps(record, ensure_ascii=False, default=str) for record in records]
    whole = "\n".join(texts) if lines else "[" + ",\n".join(texts) + "]"
    path.write_text(whole + "\n", encoding="utf-8")


def _json_value(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is pd.NA or value is pd.NaT or value != value else value
