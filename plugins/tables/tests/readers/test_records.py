"""Where records end, against a reader that goes byte by byte."""

import csv
import io
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpcore_tables.readers.records import count_lines, records, whole_records

TEXTS = st.text('a,"\r\n', max_size=30).map(str.encode)


def naive(content):
    """Return where the last record begins whose end is not there, by a machine of four states."""
    state, begin, previous = "start", 0, b""
    for i in range(len(content)):
        byte = content[i : i + 1]
        if previous == b"\r" and byte == b"\n" and state == "start":
            begin = i + 1
        elif state == "quoted":
            state = "closing" if byte == b'"' else state
        elif byte == b'"' and state in ("start", "closing"):
            state = "quoted"
        elif byte in (b"\r", b"\n"):
            state, begin = "start", i + 1
        else:
            state = "start" if byte == b"," else "text"
        previous = byte
    return begin


@settings(max_examples=300, deadline=None)
@given(TEXTS)
@example(b'a"b\n"x\ny"\n')
@example(b'""a"\n"')
@example(b'"a""\n""b"\n')
@example(b'a","\r')  # possessive quantifiers of Python 3.11.2 saw a whole record
def test_records_end_where_the_naive_twin_ends_them(content):
    assert whole_records(content, ",", '"') == naive(content)
    ends = [i + 1 for i, byte in enumerate(content) if byte in b"\r\n"]
    assert whole_records(content, ",", None) == max([0, *ends])


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_records_are_the_csv_modules(content):
    content = content[: whole_records(content, ",", '"')]
    reader = csv.reader(io.StringIO(content.decode(), newline=""))
    expected, line = [], 1
    for record in reader:
        if record:
            expected.append((line, len(record)))
        line = reader.line_num + 1
    assert list(records(content, ",", '"')) == expected


@pytest.mark.parametrize("text", [b"", b"\r", b"\n\r", b"\r\n\r", b"a\r\nb\rc\n\n"])
def test_lines_are_counted_as_universal_newlines(text):
    plain = text.decode().replace("\r\n", "\n").replace("\r", "\n")
    assert count_lines(text) == plain.count("\n")


def test_a_long_open_quote_takes_no_quadratic_time():
    content = b'1,a"b\n' * 100_000 + b'1,"' + b"x,y\n" * 500_000
    start = time.process_time()
    assert whole_records(content, ",", '"') == 600_000
    assert time.process_time() - start < 5
