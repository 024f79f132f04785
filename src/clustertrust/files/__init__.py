"""Tables in files: read whole or in blocks of rows, and written. Nothing is ever unpickled."""

from clustertrust.files.tables import FORMATS, Reading, Table, TableError, format_of, read_table, write_table

__all__ = ["FORMATS", "Reading", "Table", "TableError", "format_of", "read_table", "write_table"]
