"""Tables in files: read whole or in blocks of rows, and written. Nothing is ever unpickled."""

from clustertrust.files.errors import TableError
from clustertrust.files.formats import FORMATS, Format, format_of
from clustertrust.files.reading import Reading, Table
from clustertrust.files.tables import open_source, read_table, write_table

__all__ = [
    "FORMATS",
    "Format",
    "Reading",
    "Table",
    "TableError",
    "format_of",
    "open_source",
    "read_table",
    "write_table",
]
