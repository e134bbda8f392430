"""A process that read a row with an odd cell has the same modules, kernels, caches and warnings as
one that did not: with equal releases nothing in it tells of the row."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from odd_rows import KINDS, OBJECTS, TEXTS, frame_of, good_cells, is_legal, schema_of, text_of
from traces import differences, of_process

from dpcore.plugin import njit

PROGRAM = Path(__file__).parents[1] / "traces.py"
WIDTH = {"width": 3, "row_norm": 4.0, "columns": {"y": {"kind": "label", "classes": [0, 1]}}}
BLANKS = WIDTH | {"header": False, "separator": "whitespace"}


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


@pytest.fixture(scope="module")
def program():
    """The program that forks a process for each job: to start one anew costs more than the fits."""
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    ) as running:
        yield running


@pytest.fixture
def in_two_processes(program, tmp_path):
    """Return what differs between a process that reads the first file of each pair under its schema
    and one that reads the second."""

    def of_a_process(files, scored, broken):
        job = {"files": files, "scored": [*scored], "broken": broken}
        job["records"] = str(tmp_path / "records.pickle")
        print(json.dumps(job), file=program.stdin, flush=True)
        found = json.loads(program.stdout.readline())
        assert found.keys() != {"ended with"}, found
        return found

    def differ(pairs, scored=((), ()), broken=False):
        files = [*zip(*(((one, keys), (other, keys)) for one, other, keys in pairs), strict=True)]

        def once():
            traces = [
                of_a_process(read, rows, broken) for read, rows in zip(files, scored, strict=True)
            ]
            return differences(*traces)

        # The first that needs a kernel compiles it, if no test before did, which shows in caches.
        return once() and once()

    return differ


def writer(folder, suffix, write):
    """Return what writes rows to a new file, and returns its path."""

    def written(rows):
        path = folder / f"{len(list(folder.iterdir()))}.{suffix}"
        write(rows, path)
        return str(path)

    return written


def together(cells):
    """Return the cells in groups of four: what one of them leaves shows beside others, but for
    quotes, which may reach over the next rows."""
    quoted = [cell for cell in cells if isinstance(cell, str) and '"' in cell]
    others = [cell for cell in cells if not isinstance(cell, str) or '"' not in cell]
    return [[cell] for cell in quoted] + [others[i : i + 4] for i in range(0, len(others), 4)]


def texts(folder, kinds=tuple(KINDS)):
    write = writer(folder, "csv", lambda cells, path: path.write_text(text_of(cells)))
    for kind in kinds:
        good = write(good_cells(kind))
        for cells in together(TEXTS[[*KINDS].index(kind) % 8 :: 8]):
            yield good, write([*good_cells(kind), *cells]), schema_of(kind)


def scaled_down(folder):
    """Yield tables without and with a row that is longer than rows may be."""
    write = writer(folder, "csv", lambda cells, path: path.write_text(text_of(cells)))
    for kind in ("number", "number, both", "knots"):
        good, keys = write(good_cells(kind)), schema_of(kind, row_norm=1.2)
        for cell in ("90", "-99", "99", "3"):
            yield good, write([*good_cells(kind), cell]), keys


def columns(folder):
    def write(cells, path):
        labels = pa.array([str(i % 2) for i in range(len(cells))])
        cells = pa.array([cell or None for cell in cells], pa.string())
        pq.write_table(pa.table({"x": cells, "y": labels}), path)

    write = writer(folder, "parquet", write)
    # Each kind has an eighth of the cells, and each cell an eighth of the kinds: others than those
    # of text files.
    for number, kind in enumerate(KINDS):
        good = write(good_cells(kind))
        for cells in together(TEXTS[(number + 4) % 8 :: 8]):
            yield good, write([*good_cells(kind), *cells]), schema_of(kind)


def frames(folder):
    write = writer(
        folder, "pickle", lambda cells, path: path.write_bytes(pickle.dumps(frame_of(cells)))
    )
    for number, kind in enumerate(KINDS):
        good = write(good_cells(kind))
        for cells in together([c for c in OBJECTS[number % 2 :: 2] if is_legal(kind, c)]):
            yield good, write([*good_cells(kind), *cells]), schema_of(kind)


def lines(folder, suffix, keys, good, odd):
    write = writer(folder, suffix, lambda rows, path: path.write_text("\n".join([*rows, ""])))
    first = write(good * 4)
    for line in odd:
        yield first, write([*good * 4, line]), keys


def libsvm(folder):
    odd = ["1", "1 1:x", "1 1:1e999", "2 1:1", "1 1:99 2:1", "1 4:1", "", "# c", "1 2:1 1:1", "é"]
    return lines(folder, "svm", WIDTH, ["0 1:.5 2:3", "1 3:1"], odd)


def blanks(folder):
    odd = [
        "x 1 1 1",
        "1e999 1 1 1",
        "1 1 1 2",
        "1 1",
        "",
        "  1   2 1 1",
        '"1" 2 3 1',
        "é",
        "99 1 1 1",
    ]
    return lines(folder, "txt", BLANKS, ["0.5 3 0 0", "1 2 1 1"], odd)


def matrices(folder):
    def write(rows, path):
        np.savez(path, X=rows, y=np.arange(len(rows)) % 2)

    write = writer(folder, "npz", write)
    full = np.full((8192, 3), 0.25)  # as many as a block holds
    yield write(full), write(full[[*range(8192), 0]]), WIDTH
    good = full[:6]
    for odd in ([np.nan, 0, 0], [99.0, 0, 0], [0.0, 0, 0], [np.inf, 0, 0]):
        yield write(good), write(np.vstack([good, odd])), WIDTH


@pytest.mark.slow
@pytest.mark.parametrize("source", [scaled_down, columns, frames, libsvm, blanks, matrices])
def test_a_process_tells_nothing_of_an_odd_cell(tmp_path, source, in_two_processes):
    assert in_two_processes(source(tmp_path)) == []


# Two unlike ones at a time: what some kinds of column always leave must not hide what others leave
# for a cell.
@pytest.mark.slow
@pytest.mark.parametrize("kinds", [*zip([*KINDS][::2], [*KINDS][1::2][::-1], strict=True)])
def test_a_process_that_reads_two_kinds_of_column_tells_nothing(tmp_path, kinds, in_two_processes):
    assert in_two_processes(texts(tmp_path, kinds)) == []


@pytest.mark.slow
def test_a_process_tells_nothing_of_the_rows_that_a_model_scores(tmp_path, in_two_processes):
    write = writer(tmp_path, "csv", lambda cells, path: path.write_text(text_of(cells)))
    kind = "number, both"
    good = write(good_cells(kind))
    odd = [write([*good_cells(kind), cell]) for cell in ("", "x", "1e999", "none", "  ")]
    scored = [good] * len(odd), odd
    assert in_two_processes([(good, good, schema_of(kind))], scored) == []


@pytest.mark.slow
def test_traces_of_a_broken_reader_are_found(tmp_path, in_two_processes):
    write = writer(tmp_path, "csv", lambda cells, path: path.write_text(text_of(cells)))
    kind = "number, marked"
    pairs = [(write(good_cells(kind)), write([*good_cells(kind), "  "]), schema_of(kind))]
    found = {"modules", "caches", "patterns", "warnings", "globals"}
    assert {*in_two_processes(pairs, broken=True)} == found
    (tmp_path / "records.pickle").unlink()
    assert in_two_processes(pairs) == []


@pytest.mark.slow
def test_a_kernel_for_another_type_is_found():
    @njit()
    def last(x):
        return x[-1]

    last(np.zeros(1))
    before = of_process("kernels")
    read_only = np.zeros(1)
    read_only.setflags(write=False)
    last(read_only)
    assert before != of_process("kernels")


FROZEN = """
import gc
from dpcore.plugin import njit
from traces import of_process

@njit()
def kept(x):
    return x

def signatures():
    kernels = of_process("kernels")["kernels"]
    return [signed for name, *signed in kernels if name == "__main__.kept"]

gc.freeze()
assert signatures() == [[]]
kept(0.25)
assert signatures() == [["(float64,)"]], signatures()
"""


@pytest.mark.slow
def test_what_was_frozen_at_the_start_is_seen():
    # In a process of its own: what this one keeps takes long to look through.
    known = {**os.environ, "PYTHONPATH": str(PROGRAM.parent)}
    subprocess.run([sys.executable, "-c", FROZEN], env=known, check=True)
