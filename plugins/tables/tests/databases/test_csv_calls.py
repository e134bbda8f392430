"""Text files in queries of DuckDB: a line is a row, or ends the query, whatever the others are."""

import duckdb
import numpy as np
import pytest
from canaries import WORD, leaks_of, raised_by
from features import load_features

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.databases.address import with_query

SCHEMA = Schema.from_toml("""[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel", "7"] }
paid = { kind = "label", classes = [0, 1] }
""")
NAMES = ("age", "city", "paid")
OPTIONS = {
    "auto_detect": "false",
    "header": "true",
    "delim": "','",
    "quote": "''",
    "escape": "''",
    "columns": "{'age': 'VARCHAR', 'city': 'VARCHAR', 'paid': 'VARCHAR'}",
}
LINES = ["40,Bern,1", "31.5,Genf,0", ",7,1", "1e400,Basel,0", '-0,"Bern",1', "7, Bern ,0"]


def called(path, **changes):
    options = {name: value for name, value in {**OPTIONS, **changes}.items() if value is not None}
    return f"read_csv('{path}', {', '.join(f'{name} = {v}' for name, v in options.items())})"


def read(table, what="age, city, paid", claimed=False, **others):
    address = with_query("duckdb://", f"select {what} from {table}", claimed)
    return Dataset.from_file(address, SCHEMA, **others)


def features(source):
    return load_features(source, SCHEMA).toarray().tolist()


def of(table):
    return with_query("duckdb://", f"select age, city, paid from {table}", False)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "rows.csv").write_text("\n".join([",".join(NAMES), *LINES, ""]))
    return tmp_path / "rows.csv"


def test_cells_of_text_are_those_of_the_file_itself(path):
    plain = path.parent / "plain.csv"
    kept = ["40,Bern,1", "31.5,Genf,0", "1e-3,7,1", " 7 , Bern ,0", "99,Bérn,0"]
    plain.write_text("\n".join([",".join(NAMES), *kept, ""]))
    assert features(of(called(plain))) == features(str(plain))
    data = read(called(path), bad_rows="drop")
    assert data.typed_by == "checked query of types" and len(data.y) == 4
    assert len(read(f"{called(path)} where paid = '0'", bad_rows="drop").y) == 2
    assert len(read(called(path.parent / "*.csv"), bad_rows="drop").y) == 9
    tabs = path.parent / "rows.tsv"
    tabs.write_text(plain.read_text().replace(",", "\t"))
    assert features(of(called(tabs, delim=r"'\t'"))) == features(str(plain))


CHANGES = [
    {"quote": None}, {"quote": "'\"'"}, {"escape": None}, {"escape": "'\"'"}, {"delim": None},
    {"delim": "',,'"}, {"delim": "'\n'"}, {"header": None}, {"columns": None}, {"skip": "1"},
    {"comment": "'#'"}, {"null_padding": "true"}, {"ignore_errors": "true"}, {"sample_size": "-1"},
    {"columns": OPTIONS["columns"].replace("'VARCHAR'", "'DOUBLE'", 1)},
    {"columns": OPTIONS["columns"].replace("'city'", "'AGE'")}, {"columns": "{}"},
    {"header": "false"},
    {"filename": "true"}, {"Quote": "'\"'"}, {"store_rejects": "true"}, {"quote": "chr(34)"},
]  # fmt: skip


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_call_with_anything_else_needs_the_claim(path, changes):
    with pytest.raises(InvalidInputError, match="--row-wise-claim") as caught:
        read(called(path, **changes))
    assert "rows.csv" not in str(caught.value)


def test_a_guess_is_refused_even_with_the_claim(path):
    for guess in ({"auto_detect": None}, {"auto_detect": "true"}):
        with pytest.raises(InvalidInputError, match="takes the types of columns"):
            read(called(path, **guess), claimed=True)


@pytest.mark.parametrize(("odd", "first"), [("1", ("1,2",)), ("x|y", None), ("1,2,3", None)])
def test_a_line_changes_all_others_where_only_types_are_not_guessed(tmp_path, odd, first):
    # Why a file's name is no table even if all of its cells were text: the rows say where one ends.
    lines, path = ["a,b", *["1,2"] * 9], tmp_path / "rows.csv"
    with duckdb.connect() as opened:
        read = f"SELECT * FROM read_csv('{path}', all_varchar = true)"
        path.write_text("\n".join([*lines, ""]))
        assert opened.execute(read).fetchall() == [("1", "2")] * 9
        path.write_text("\n".join([*lines, odd, ""]))
        found = opened.execute(read).fetchall()
    assert ("1", "2") not in found and (first is None or found[0] == first)
    with pytest.raises(InvalidInputError, match="takes the types of columns, or where a row ends"):
        read_query = f"read_csv('{path}', all_varchar = true)"
        Dataset.from_file(with_query("duckdb://", f"select a, b from {read_query}", True), SCHEMA)


def test_columns_that_are_not_of_the_line_are_refused(path):
    for hidden in ("filename", "rowid", "file_row_number"):
        with pytest.raises(InvalidInputError, match=f"no column {hidden!r}"):
            read(called(path), f"age, {hidden} as city, paid")
    files = [f"'{path}'", f"'{path}'"]
    with pytest.raises(InvalidInputError, match="--row-wise-claim"):
        read(called(path).replace(files[0], f"[{', '.join(files)}]"))
    with pytest.raises(InvalidInputError, match="a JOIN|more than"):
        read(f"{called(path)}, {called(path)}")


LETTERS = ["a", ",", '"', "'", "\t", "#", "\\", "é", "0", " ", '""', "|", "\0"]


def rows_of(opened, path, lines, quote, header="false"):
    """Return the rows that DuckDB reads of some lines; none where it refuses them."""
    path.write_text("".join(f"{line}\n" for line in lines))
    columns = {"header": header, "columns": "{'a': 'VARCHAR', 'b': 'VARCHAR'}"}
    asked = called(path, quote=f"'{quote}'", escape=f"'{quote}'", **columns)
    try:
        return opened.execute(f"SELECT * FROM {asked}").fetchall()
    except duckdb.Error:
        return None


def by_itself(line):
    """Return the row of a line, by its commas alone; none where it is no row of two cells. Commas
    may end it."""
    cells = line.split(",")
    while len(cells) > 2 and not cells[-1]:
        del cells[-1]
    return tuple(cell or None for cell in cells) if len(cells) == 2 else None


def test_without_quotes_a_line_is_a_row_by_itself(tmp_path):
    rng, path, n_read = np.random.default_rng(1), tmp_path / "rows.csv", 0
    with duckdb.connect() as opened:
        for _ in range(60):
            halves = ["".join(rng.choice(LETTERS, rng.integers(0, 4))) for _ in range(6)]
            lines = [f"{a},{b}" for a, b in zip(halves[::2], halves[1::2], strict=True)]
            alone = [by_itself(line) for line in lines]
            found = rows_of(opened, path, lines, "")
            assert found == (None if None in alone else alone), lines
            n_read += found is not None
        assert n_read > 10
        # With quotes one that is left open takes the next line into its cell.
        left_open, other = '"a, b', 'c",d'
        assert by_itself(left_open) and by_itself(other)
        assert rows_of(opened, path, [left_open, other], '"') == [("a, b\nc", "d")]
        assert rows_of(opened, path, [left_open, other], "") == [('"a', " b"), ('c"', "d")]


def test_a_mark_of_the_byte_order_is_lost_by_a_first_line_alone(path):
    other, marked = "40,Bern", "\ufeffBern,1"
    with duckdb.connect() as opened:
        both, alone = [other, marked], [marked]
        # Without the header, which a call by lines has to have, one row changes another's cell.
        assert rows_of(opened, path, both, "")[1] == ("\ufeffBern", "1")
        assert rows_of(opened, path, alone, "") == [("Bern", "1")]
        for lines in (both, alone):
            found = rows_of(opened, path, ["age,city", *lines], "", header="true")
            assert found == [by_itself(line) for line in lines]


def test_a_line_that_is_no_row_ends_the_query_in_a_line_without_it(path):
    for odd in (f"40,{WORD}", f"40,{WORD},1,2", "40,\xff,1"):
        path.write_bytes("\n".join([",".join(NAMES), *LINES, odd, ""]).encode("latin-1"))
        for claimed in (False, True):
            error = raised_by(lambda claimed=claimed: read(called(path), claimed=claimed))
            assert isinstance(error, DataError) and "\n" not in str(error), error
            assert leaks_of(error) == [], error
