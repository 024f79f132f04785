"""Small files that would take gigabytes of memory, and what a command takes for each.

    python tests/hostile.py FOLDER MIB

runs `clustertrust choose-k` and `score` on each in one process, with `--memory MIB`, and prints the
exit code, the message and the peak of memory by name, as JSON.
"""

import gzip
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np

MANY = 400_000_000
NAMES = ["x", "y"]


def text_of_no_letters(path):
    header = f"{{'descr': '|S0', 'fortran_order': False, 'shape': ({MANY},)}}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())


def sparse_matrix(path):
    empty = np.zeros(0, dtype=np.int32)
    parts = {"indices": empty, "indptr": np.zeros(2, dtype=np.int32), "data": empty.astype(float)}
    np.savez(path, format=np.array("csc"), shape=np.array([MANY, 1]), **parts)


def packed_zeros(path):
    """An archive of one array; zeros are packed a thousand to one."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        shape = (25_000_000, 2)
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        with archive.open("X.npy", "w") as file:
            file.write(header.getvalue())
            for _ in range(400):
                file.write(bytes(10**6))


def _ods(path, row):
    names = {"office": "office", "table": "table", "text": "text"}
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in names.items()
    )
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{row}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)


CELL = '<table:table-cell office:value-type="float" office:value="1"{}><text:p>1</text:p></table:table-cell>'


def repeated_columns(path):
    cell = CELL.format(' table:number-columns-repeated="100000000"')
    _ods(path, f"<table:table-row>{cell}</table:table-row>")


def repeated_rows(path):
    cell = CELL.format(' table:number-columns-repeated="10"')
    _ods(path, f'<table:table-row table:number-rows-repeated="50000000">{cell}</table:table-row>')


def _xlsx(path, cells):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(NAMES)
    book.save(path)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"].decode()
    members["xl/worksheets/sheet1.xml"] = sheet.replace("</sheetData>", f"{cells}</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, body in members.items():
            new.writestr(name, body)


def last_row(path):
    _xlsx(path, '<row r="99999999"><c r="A99999999"><v>1</v></c></row>')


def last_column(path):
    rows = (f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(2, 20_002))
    _xlsx(path, "".join(rows))


def packed_feather(path):
    import pyarrow as pa
    import pyarrow.feather

    zeros = pa.table({"x": np.zeros(40_000_000)})
    pa.feather.write_feather(zeros, path, compression="zstd", chunksize=len(zeros))


def packed_parquet(path):
    import pyarrow as pa
    import pyarrow.parquet

    zeros = np.zeros(40_000_000)
    pa.parquet.write_table(pa.table({"x": zeros, "y": zeros}), path, compression="zstd")


def packed_text(path, line=b"1,2,3\n"):
    """Three gigabytes of lines in megabytes: members of gzip, one after the other."""
    part = gzip.compress(line * (10**7 // len(line)), 1)
    path.write_bytes(gzip.compress(b"x,y,z\n") + part * 300)


def packed_line(path):
    packed_text(path, b"1")


def json_of_nothing(path):
    path.write_text("[" + "{}," * 2_000_000 + "{}]")


def json_of_many_keys(path):
    path.write_text("[" + ",".join(f'{{"k{i}": 1}}' for i in range(20_000)) + "]")


def cells_without_values(path):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", (MANY, 1), "f4", chunks=(10**6, 1))


# Name of a file → how it is made.
FILES = {
    "letters.npy": text_of_no_letters,
    "sparse.npz": sparse_matrix,
    "zeros.npz": packed_zeros,
    "columns.ods": repeated_columns,
    "rows.ods": repeated_rows,
    "row.xlsx": last_row,
    "column.xlsx": last_column,
    "zeros.feather": packed_feather,
    "zeros.parquet": packed_parquet,
    "lines.csv.gz": packed_text,
    "line.csv.gz": packed_line,
    "nothing.json": json_of_nothing,
    "keys.json": json_of_many_keys,
    "cells.h5ad": cells_without_values,
}
# `score` reads these in blocks, so that it has an answer where other commands refuse.
IN_BLOCKS = {"lines.csv.gz", "zeros.parquet"}


def peak():
    """Return the most memory that the process has taken since the last time, in MiB."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1]) / 1024


def main(folder, memory):
    from click.testing import CliRunner

    from clustertrust.cli import cli

    found = {}
    for name in FILES:
        path = Path(folder) / name
        if not path.exists():
            continue
        for command in ("choose-k", "score"):
            if command == "score" and name in IN_BLOCKS:
                continue
            typed = [command, str(path), "--memory", memory]
            done = CliRunner().invoke(cli, typed + ["-k", "2"] * (command == "score"))
            found[f"{command} {name}"] = (done.exit_code, done.stderr, peak())
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
