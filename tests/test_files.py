"""Tables in files: what comes back is what went in, names are kept, and odd files are told."""

import gzip
import importlib

import numpy as np
import pandas as pd
import pytest
from extras import need_format
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from clustertrust.files import (
    FORMATS,
    Reading,
    TableError,
    delimited,
    format_of,
    read_table,
    write_table,
)
from clustertrust.files.tables import open_source

TABLE = pd.DataFrame(
    {
        "name": ["007", "Zoë", "a,b", '"q"', "null"],
        "label": pd.array([0, 1, None, 1, 0], dtype="Int64"),
        "score": [0.1, 1 / 3, np.nan, 1e-300, 0.1 + 0.2],
    }
)
SUFFIXES = [s for name, kind in FORMATS.items() if name != "h5ad" for s in kind.suffixes]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_comes_back_to_the_last_digit(tmp_path, suffix):
    need_format(suffix)
    path = tmp_path / f"scores{suffix}"
    write_table(TABLE, path)
    back = read_table(path, Reading(text=("name",))).data
    assert list(back.columns) == list(TABLE.columns)
    assert back["name"].tolist() == TABLE["name"].tolist()
    digits = 1e-16 if suffix == ".xlsx" else 0  # which holds 16 of them
    assert_allclose(back["score"].to_numpy(float), TABLE["score"].to_numpy(), rtol=0, atol=digits)
    missing = -1 if suffix in {".npy", ".npz"} else np.nan
    assert_array_equal(back["label"].to_numpy(float, na_value=np.nan), [0, 1, missing, 1, 0])


APPENDED = [s for kind in FORMATS.values() if kind.append is not None for s in kind.suffixes]


@pytest.mark.parametrize("suffix", APPENDED)
def test_frames_written_one_below_the_other_are_one_table(tmp_path, suffix):
    need_format(suffix)
    path = tmp_path / f"scores{suffix}"
    reasons = pd.Categorical(
        ["core", "fringe", "core", "core", "core"], categories=["core", "fringe", "boundary"]
    )
    table = TABLE.assign(reason=reasons)
    with FORMATS[format_of(path)].append(path) as write:
        write(table[:2])
        write(table[2:])
    back = read_table(path, Reading(text=("name",))).data
    assert back["name"].tolist() == table["name"].tolist()
    assert back["reason"].tolist() == table["reason"].tolist()
    assert_array_equal(back["score"].to_numpy(float), table["score"].to_numpy())
    assert_array_equal(back["label"].to_numpy(float, na_value=np.nan), [0, 1, np.nan, 1, 0])


def test_compressed_text_is_compressed(tmp_path):
    write_table(TABLE, tmp_path / "t.csv.gz")
    assert (
        gzip.decompress((tmp_path / "t.csv.gz").read_bytes())
        .decode()
        .startswith("name,label,score\n007,0,0.1\n")
    )


def test_suffixes_in_capital_letters_are_known(tmp_path):
    assert format_of("A.CSV") == "csv"
    write_table(TABLE, tmp_path / "T.NPZ")
    assert (tmp_path / "T.NPZ").is_file()
    assert len(read_table(tmp_path / "T.NPZ").data) == 5


@pytest.mark.parametrize("write", ["to_parquet", "to_feather_stream"])
def test_names_of_rows_that_a_file_carries_are_kept(tmp_path, write):
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(["b", "a"], name="cell"))
    if write == "to_parquet":
        path = tmp_path / "t.parquet"
        frame.to_parquet(path)
    else:
        path, table = tmp_path / "t.arrow", pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    back = read_table(path)
    assert back.names.tolist() == ["b", "a"]
    assert back.names.name == "cell"
    assert list(back.data.columns) == ["x"]


def test_a_file_written_by_polars_is_read(tmp_path):
    pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    pl.DataFrame({"x": [1.5, 2.5], "t": ["u", "v"]}).write_parquet(tmp_path / "t.parquet")
    pl.DataFrame({"x": [1.5, 2.5], "t": ["u", "v"]}).write_ipc(tmp_path / "t.arrow")
    for name in ("t.parquet", "t.arrow"):
        back = read_table(tmp_path / name)
        assert back.names is None
        assert back.data["x"].tolist() == [1.5, 2.5]
        assert back.data["t"].tolist() == ["u", "v"]


def test_arrays(tmp_path):
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "x.npy", X)
    assert_array_equal(read_table(tmp_path / "x.npy").data.to_numpy(), X)
    np.savez(tmp_path / "one.npz", X=X)
    assert_array_equal(read_table(tmp_path / "one.npz").data.to_numpy(), X)
    np.savez(tmp_path / "two.npz", X=X, Y=-X)
    assert_array_equal(read_table(tmp_path / "two.npz", Reading(array="Y")).data.to_numpy(), -X)
    with pytest.raises(
        TableError, match=r"holds several arrays \(X \(3, 2\), Y \(3, 2\)\); name one.* array='X'"
    ):
        read_table(tmp_path / "two.npz")
    with pytest.raises(TableError, match=r"has no array 'Z'; it has \['X', 'Y'\]"):
        read_table(tmp_path / "two.npz", Reading(array="Z"))
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    assert_array_equal(read_table(tmp_path / "s.npz").data.toarray(), X)


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", X=np.array([{"a": 1}], dtype=object))
    for name in ("o.npy", "o.npz"):
        with pytest.raises(TableError, match=r"Python objects|Object arrays"):
            read_table(tmp_path / name)


def test_text_columns_keep_what_pandas_would_take_for_missing_or_a_number():
    text = b"\xef\xbb\xbfid,x\n007,1\nNA,2\n,3\n1e5,4\n"  # with a byte-order mark
    assert read_table(text, Reading(text=("id",)), format="csv").data["id"].tolist() == [
        "007",
        "NA",
        "",
        "1e5",
    ]


def test_numbers_are_read_to_the_last_digit():
    text = "x\n" + "\n".join(
        map(repr, values := np.random.default_rng(0).normal(size=500).tolist())
    )
    assert read_table(text.encode(), format="csv").data["x"].tolist() == values


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "is empty; it needs a line of column names"),
        (b"\n\n", "is empty"),
        (b"\n<!DOCTYPE html><html><body>Sign in</body></html>\n", "is a web page, not a table"),
        (b"2,15\n3,4\n", r"numbers in its first line \(2, 15\): set header=False"),
        (b"a,b\n1,2,3,4\n4,5,6,7\n", "more fields in its rows than in its first line"),
        (b"a,b\n1,2\n4,5,6\n", "Expected 2 fields in line 3, saw 3"),
        (b"a\n\x00\n", r"holds bytes that are not text"),
    ],
)
def test_text_that_is_no_table_is_told(text, told):
    with pytest.raises(TableError, match=f"The input .*{told}"):
        read_table(text, format="csv")


def test_the_first_line_can_be_said_to_hold_names_or_not():
    assert read_table(b"1.5,2\n3,4\n", Reading(header=False), format="csv").data.shape == (2, 2)
    assert list(read_table(b"1.5,2\n3,4\n", Reading(header=True), format="csv").data.columns) == [
        "1.5",
        "2",
    ]
    # As pandas names columns itself.
    assert list(read_table(b"0,1\n3,4\n", format="csv").data.columns) == ["0", "1"]
    ids = read_table(b"007,2\n008,4\n", Reading(header=False, text=("0",)), format="csv").data[0]
    assert ids.tolist() == ["007", "008"]


def test_a_separator_can_be_given():
    assert read_table(b"a;b\n1;2\n", Reading(separator=";"), format="csv").data.to_dict("list") == {
        "a": [1],
        "b": [2],
    }


@pytest.mark.parametrize("separator", [";;", "a+"])
def test_a_separator_is_one_character_or_blanks(separator):
    with pytest.raises(ValueError, match="is not one character; try ';' or 'tab'"):
        Reading(separator=separator)
    for blanks in (" ", "spaces", r"\s+"):
        table = read_table(b"a  b\n1 2\n", Reading(separator=blanks), format="csv")
        assert list(table.data) == ["a", "b"]


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_other_sheets_of_a_file_are_named(tmp_path, suffix):
    need_format(suffix)
    with pd.ExcelWriter(str(tmp_path / f"t{suffix}")) as book:
        for sheet in ("About", "My data"):
            pd.DataFrame({"x": [1.5, 2.5]}).to_excel(book, sheet_name=sheet, index=False)
    (note,) = read_table(tmp_path / f"t{suffix}").notes
    assert str(note) == "sheet 'About', the first of 2 (sheet='My data' reads another)"
    assert not read_table(tmp_path / f"t{suffix}", Reading(sheet="My data")).notes


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npy", ".npz", ".csv.gz", ".h5ad"])
def test_damaged_files_are_told(tmp_path, suffix):
    need_format(suffix)
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(b"\x93no such thing" * 5)
    with pytest.raises(
        TableError, match=r"bad.* (cannot be read as|holds Python objects or is not a NumPy file)"
    ):
        read_table(path)


def test_an_option_that_the_format_does_not_use_is_an_error():
    with pytest.raises(TableError, match="array='X' is not used for csv files"):
        read_table(b"a\n1\n", Reading(array="X"), format="csv")


def test_unknown_formats_are_told(tmp_path):
    with pytest.raises(TableError, match=r"a.xls has none of the known suffixes: .*\.parquet"):
        format_of("a.xls")
    with pytest.raises(ValueError, match="format='xml' is not known"):
        read_table(b"", format="xml")
    with pytest.raises(ValueError, match="bytes have no suffix"):
        read_table(b"a\n1\n")
    with pytest.raises(ValueError, match="cannot be written as h5ad"):
        write_table(TABLE, tmp_path / "t.h5ad")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [("pyarrow", ".parquet", "parquet"), ("anndata", ".h5ad", "anndata")],
)
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    tmp_path, monkeypatch, module, suffix, extra
):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ImportError, match=rf'need {module}: pip install "clustertrust\[{extra}\]"'):
        read_table(tmp_path / f"t{suffix}")


@pytest.mark.parametrize(
    ("read", "text", "written", "first"),
    [
        ("in.csv", "x;y;z\n1,5;a;1\n2,5;b;2\n", "out.csv", "1,5;a;1"),
        ("in.csv", "x;y\n1.5;a\n2.5;b\n", "out.csv", "1.5;a"),
        ("in.csv", 'x,y\n"1,5",a\n"2,5",b\n', "out.csv", '"1,5",a'),
        ("in.csv", "x\ty\n1.5\ta\n2.5\tb\n", "out.csv", "1.5\ta"),
        ("in.csv", "x;y;z\n1,5;a;1\n2,5;b;2\n", "out.tsv", "1,5\ta\t1"),
        ("in.tsv", "x\ty\n1.5\ta\n2.5\tb\n", "out.csv", "1.5,a"),
        ("in.tsv", "x\ty\tz\n1,5\ta\t1\n2,5\tb\t2\n", "out.csv", "1,5;a;1"),
        ("in.txt", "x y\n1.5 a\n2.5 b\n3.5 c\n", "out.txt", "1.5\ta"),
    ],
)
def test_text_is_written_in_the_dialect_that_was_read(read, text, written, first, tmp_path):
    (tmp_path / read).write_text(text, encoding="utf-8")
    table = read_table(tmp_path / read)
    write_table(table.data, tmp_path / written, dialect=table.dialect)
    assert (tmp_path / written).read_text(encoding="utf-8").splitlines()[1] == first
    assert read_table(tmp_path / written).data.equals(table.data)


def test_a_dialect_is_one_of_text(tmp_path):
    (tmp_path / "in.csv").write_text("x;y;z\n1,5;a;1\n2,5;b;2\n", encoding="utf-8")
    table = read_table(tmp_path / "in.csv")
    write_table(table.data, tmp_path / "out.json", dialect=table.dialect)
    assert read_table(tmp_path / "out.json").data.equals(table.data)
    assert read_table(tmp_path / "out.json").dialect is None
    with pytest.raises(TypeError, match="dialect=';'"):
        write_table(table.data, tmp_path / "out.csv", dialect=";")


NASTY = {
    "numbers": ["1", "-2.5", " 3.25", "1e-5", "", "NA", "0.1", "123456789.123456789", "4.", ".5"],
    "words": ["a", "NA", "None", "", '"q, r"', "#NA", "null", "ö", '"two\nlines"', " b "],
    "late": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "oops"],
    "huge": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "9007199254740993"],
    "ids": ["007", "NA", "", "a", "b", "c", "d", "e", "f", "g"],
}


@pytest.mark.parametrize("names", [["numbers", "words", "ids"], [*NASTY]], ids=["plain", "odd"])
def test_blocks_of_text_are_the_same_by_pyarrow_and_by_pandas(tmp_path, monkeypatch, names):
    pytest.importorskip("pyarrow")
    lines = [",".join(row) for row in zip(*(NASTY[name] for name in names), strict=True)]
    calm = ",".join({"words": "w", "ids": "i"}.get(name, "1.5") for name in names)
    text = "\n".join([",".join(names), *[calm] * 1000, *lines * 3]) + "\n"
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    source = open_source(tmp_path / "x.csv", Reading(text=("ids",)))
    source.words = ["words"]
    parsed = []
    parse = delimited.parse_csv
    monkeypatch.setattr(delimited, "parse_csv", lambda *how: parsed.append(how) or parse(*how))
    by_arrow = list(source.frames(97))
    n_by_pandas = len(parsed)
    monkeypatch.setattr("clustertrust.files.text_sources.arrow_parser", lambda *how: None)
    by_pandas = list(source.frames(97))
    # The first rows show the types; blocks with text among numbers are left to pandas.
    assert n_by_pandas == 1 if "late" not in names else 1 < n_by_pandas < len(by_pandas)
    assert len(by_arrow) == len(by_pandas)
    for one, other in zip(by_arrow, by_pandas, strict=True):
        assert list(one.columns) == list(other.columns) == names
        for name in names:
            if other[name].dtype.kind in "iuf":
                assert_array_equal(one[name].to_numpy(float), other[name].to_numpy(float))
            else:
                assert (
                    one[name].fillna("missing").tolist() == other[name].fillna("missing").tolist()
                )


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_text_that_begins_like_a_formula_stays_text(tmp_path, suffix):
    pytest.importorskip("openpyxl" if suffix == ".xlsx" else "odf")
    texts = ["=1+1", "+1", "-x", "@SUM(1)", '=HYPERLINK("x")', "plain"]
    path = tmp_path / f"x{suffix}"
    write_table(pd.DataFrame({"=name": texts, "a": range(6)}), path)
    assert read_table(path).data["=name"].tolist() == texts
    if suffix == ".xlsx":
        sheet = importlib.import_module("openpyxl").load_workbook(path).active
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} == {"s", "n"}


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_control_characters_in_spreadsheets_are_refused_with_their_place(tmp_path, suffix):
    pytest.importorskip("openpyxl" if suffix == ".xlsx" else "odf")
    table = pd.DataFrame({"name": ["a", "b\x01c"], "a": [1, 2]})
    with pytest.raises(ValueError, match=r"row 1 of column 'name' has a control .* such as .csv"):
        write_table(table, tmp_path / f"x{suffix}")
    with pytest.raises(ValueError, match="has a control character"):
        write_table(table.rename(columns={"a": "a\x02"}).iloc[:1], tmp_path / f"x{suffix}")
    write_table(pd.DataFrame({"name": ["line\nend", "tab\t"]}), tmp_path / f"x{suffix}")


def test_two_columns_with_a_semicolon_and_decimal_commas(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text(
        "age;price\n" + "".join(f"{30 + i};{i},25\n" for i in range(20)), encoding="utf-8"
    )
    data = read_table(path).data
    assert_array_equal(data["age"], np.arange(30, 50))
    assert_array_equal(data["price"], np.arange(20) + 0.25)


@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_columns_that_share_a_name_get_others(tmp_path, format):
    names = ["a", "a", "a.1", "b", "a"]
    frame = pd.DataFrame([range(5), range(5, 10)], columns=names)
    path = tmp_path / f"t.{format}"
    if format == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False)
    table = read_table(path)
    assert list(table.data.columns) == ["a", "a.2", "a.1", "b", "a.3"]
    assert table.data.to_numpy().tolist() == [[*range(5)], [*range(5, 10)]]
    assert "columns that share a name are called a.2, a.3" in table.notes


def test_titles_of_several_fields_are_left_out_above_an_empty_line():
    rows = "\n".join(f"{i},{i * 7 % 11},{i * 5 % 13},{i % 3},1" for i in range(12))
    table = read_table(f"run:,N5,atlas:\n\nROI,volume,adc,fa,rd\n{rows}\n".encode(), format="csv")
    assert list(table.data.columns) == ["ROI", "volume", "adc", "fa", "rd"]
    assert len(table.data) == 12
