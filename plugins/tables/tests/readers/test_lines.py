"""Dropping bad rows: each line of a text file maps to a row, or to none, by itself."""

import csv
import io
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.plugin.columns import Notation
from dpcore.plugin.parts import Dataset
from dpcore_tables.readers import records

NAMED = {
    "missing": ["", "NA"],
    "columns": {
        "a": {"kind": "numeric", "lower": -10, "upper": 10},
        "c": {"kind": "categorical", "categories": ["x", 'y"', "z,z", "\ufffd"]},
        "d": {"kind": "drop"},
        "y": {"kind": "label", "classes": ["n", "p"]},
    },
}
HEAD = b"a,c,d,y\n"
CSV = (HEAD, Schema.from_dict(NAMED), "f.csv")
HEADLESS = (b"", Schema.from_dict(NAMED | {"header": False}), "f.csv")
TABS = (b"", Schema.from_dict(NAMED | {"header": False, "separator": "\t"}), "f.csv")
WIDE = width_schema(3, classes=(["-1", "0"], ["1", "é"]), row_norm=8)
COMMAS = (b"", width_schema(3, row_norm=8, separator=","), "f.csv")
LAYOUTS = {
    "csv": CSV,
    "csv without a header": HEADLESS,
    "tabs": TABS,
    "csv with a width": COMMAS,
    "whitespace": (b"", WIDE, "f.dat"),
    "whitespace with columns": (
        b"",
        Schema.from_dict(NAMED | {"header": False, "separator": "whitespace"}),
        "f.dat",
    ),
    "libsvm": (b"", WIDE, "f.svm"),
}


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Return the rows of ``layout`` that a list of lines maps to, labels last."""
    folder = tmp_path_factory.mktemp("lines")

    def rows(layout, some, ends=(b"\n",)):
        head, schema, name = layout
        ended = (line + ends[i % len(ends)] for i, line in enumerate(some))
        (folder / name).write_bytes(head + b"".join(ended))
        data = Dataset.from_file(folder / name, schema, bad_rows="drop")
        X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
        return np.column_stack([X, data.y]).tolist()

    return rows


GOOD = {
    ",": [b"1,x,q,n", b'2,"y""",,p', b'"3",y",,"p"', b' 4 ,"z,z",",",n', "5,é,é,p".encode()],
    "\t": [b"1\tx\tq\tn", b'2\t"y"""\t\tp', b"\t\t\t", "5\té\té\tp".encode()],
    " ": [b"1 2 3 1", b" .5\t2  3 -1", b'1 y" q n', "5 é é p".encode()],
    ":": [b"1 1:2", b"-1", b"1 2:3 # x", b"0 1:1e-400"],
    "#": [b"1,2,3,1", b'.5,"2",3,-1'],
}
CELLS = st.sampled_from(
    [b"1", b"n", b"p", b"x", b"", b'"', b'""', b'"x', b'x"', b'"x"y', b'"n"', b'"y"""', b"\x00"]
    + [b"\xef\xbb\xbf", b"\xef\xbb\xbf1", b"\xff", b"\xe2\x82", "\u2028".encode(), b"\x0b", b"#"]
    + [b"1:2", b"2:1", b":", b"3:", b"nan", b"1e999", b"-0", b"0x1", b"1_0", b"+1"]
    + ["\xa01".encode(), b" ", b" 1 ", b"\x1c1", b"\xc2\x85", b"NA", b" NA"]
) | st.from_regex(Notation().pattern, fullmatch=True).map(lambda text: text.strip().encode())
LONG = st.builds(
    lambda piece, times, end: piece * times + end,
    st.sampled_from([b'"', b"x", b'"x', b",", b"1", b"\xff", b'"",', b" ", b"1:1 ", b"0"]),
    st.sampled_from([131_073, 1_200_000]),
    CELLS,
)


def one_line(raw):
    return raw.replace(b"\n", b"").replace(b"\r", b"")


def junk(separators=b", \t:"):
    joined = st.builds(
        lambda comma, cells: bytes([comma]).join(cells),
        st.sampled_from(list(separators)),
        st.lists(CELLS, min_size=1, max_size=6) | st.lists(CELLS, min_size=4, max_size=4),
    )
    return joined | st.binary(max_size=20).map(one_line)


def good(kind):
    return st.lists(st.sampled_from(GOOD[kind]), max_size=3)


QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))
ENDS = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1, max_size=3)


def each_by_itself(load, layout, before, line, after, ends=(b"\n",)):
    """A junk line moves no other: it adds what it maps to alone, one row or none, in its place."""
    alone = load(layout, [line])
    assert len(alone) <= 1
    company = load(layout, [*before, line, *after], ends)
    assert company == [*load(layout, before), *alone, *load(layout, after)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [(",", "csv"), (",", "csv without a header"), ("\t", "tabs"), ("#", "csv with a width")]
    + [(" ", "whitespace"), (" ", "whitespace with columns"), (":", "libsvm")],
)
def test_a_line_never_moves_another(load, kind, name):
    @settings(QUICK, max_examples=30)
    @given(good(kind), junk(), good(kind), ENDS)
    @example([], b"\xef\xbb\xbf" + GOOD[kind][0], GOOD[kind], [b"\n"])
    @example(GOOD[kind], b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD[kind][0], [], [b"\r"])
    @example([], b"\t\t\t", GOOD[kind], [b"\n"])
    def rule(before, line, after, ends):
        each_by_itself(load, LAYOUTS[name], before, line, after, ends)

    rule()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv", "csv with a width", "whitespace", "libsvm"])
def test_a_very_long_line_moves_no_other(load, name):
    kind = {"csv": ",", "csv with a width": "#", "whitespace": " ", "libsvm": ":"}[name]

    @settings(QUICK, max_examples=3)
    @given(LONG)
    @example(b"0.5,n," + b"z" * 200_000)
    @example(b"1,x," + b"z" * 1_200_000 + b",n")
    @example(b'1,"x' + b"z" * 1_200_000 + b",n")
    @example(b"1 1:0." + b"1" * 200_000)
    @example(b"1 " * 3 + b"0" * 1_200_000 + b"1")
    def rule(line):
        each_by_itself(load, LAYOUTS[name], GOOD[kind][:2], line, GOOD[kind][-1:])

    rule()


def test_a_malformed_row_costs_itself_alone(load):
    """One open quote once took the rows up to the next quote, or all that followed."""
    rows = [b"0.5,x,,n"] * 400
    for bad in (b'"0.5,x,,n', b'0.5,x,,"n', b'0.5"x,"n', b'a"b,"x', b"0.5,x,,n," + b"z" * 200_000):
        assert len(load(CSV, [*rows[:7], bad, *rows[7:]])) == 400
        assert len(load(CSV, [*rows[:7], bad, *rows[7:300], b'1,"x",,n', *rows[300:]])) == 401


def test_a_cell_with_a_line_break_is_dropped(load, tmp_path):
    broken = b'1,"x\n",,n'
    assert len(load(CSV, [b"1,x,,n", broken, b"2,x,,p"])) == 2
    (tmp_path / "f.csv").write_bytes(HEAD + broken)
    assert Dataset.from_file(tmp_path / "f.csv", CSV[1]).y.tolist() == [-1]


def test_what_is_read_is_what_refusing_reads(load, tmp_path):
    (tmp_path / "f.csv").write_bytes(HEAD + b"\n".join(GOOD[","]))
    refusing = Dataset.from_file(tmp_path / "f.csv", CSV[1])
    assert load(CSV, GOOD[","]) == np.column_stack([refusing.X.toarray(), refusing.y]).tolist()
    assert len(refusing.y) == len(GOOD[","])


@pytest.mark.parametrize("start", [b"\n\n", b"\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("bad_rows", ["refuse", "drop"])
def test_a_header_behind_empty_lines_is_no_row(tmp_path, start, bad_rows):
    columns = {
        "c": {"kind": "categorical", "categories": ["x"]},
        "y": {"kind": "label", "positive": ["p"]},
    }
    (tmp_path / "f.csv").write_bytes(start + b"c,y\nx,p\n")
    schema = Schema.from_dict({"columns": columns})
    assert Dataset.from_file(tmp_path / "f.csv", schema, bad_rows=bad_rows).y.tolist() == [1]


def across_lines(content, width, separator, quote):
    """Broken: records run on to where their quotes close."""
    out = io.StringIO()
    records = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)
    csv.writer(out, lineterminator="\n").writerows(r for r in records if len(r) == width)
    return out.getvalue().encode()


def of_even_quotes(content, width, separator, quote):
    """Broken: an even number of quotes need not close: the first may stand within a cell."""
    kept = [line for line in content.splitlines() if line.count(b'"') % 2 == 0]
    return across_lines(b"\n".join(kept), width, separator, quote)


@pytest.mark.parametrize("broken", [across_lines, of_even_quotes])
def test_the_rule_finds_records_of_several_lines(load, monkeypatch, broken):
    monkeypatch.setattr("dpcore_tables.readers.csv.whole_lines", broken)
    after = [b"1,x,,n"] * 3
    with pytest.raises(AssertionError):
        for line in (b'"0.5,x,,n', b'0.5,y"q,,"n'):
            each_by_itself(load, CSV, [], line, after)


def test_lines_are_split_where_arrow_splits_cells():
    def kept(line, width):
        return records.whole_lines(line, width, ",", '"') == line + b"\n"

    for line, width in [(b'"a,""b",c', 2), (b'a"b,c', 2), (b'""a",', 2), (b'"a" ,"b"', 2)]:
        assert kept(line, width) and not kept(line, width + 1)
    for line in (b'"a', b'"""', b'"a""', b'a,"', b'a"b,"x', b'"a,b"",c', b'"a","'):
        assert not any(kept(line, width) for width in (1, 2, 3))


def test_many_quoted_lines_take_seconds():
    content = b'0.5,"x","q, r",n\n' * 100_000 + b'"0.5,n\n'
    start = time.process_time()
    assert records.whole_lines(content, 4, ",", '"').count(b"\n") == 100_000
    assert time.process_time() - start < 5
