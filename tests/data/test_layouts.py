"""A layout is one file and a place in the list: a fourth one, defined here, has the bits of all."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from dpcore.data.blocks import layouts
from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.data.blocks.frozen import freeze, unchanging
from dpcore.data.blocks.layout import Layout
from dpcore.data.blocks.truncation import truncate_rows
from dpcore.data.dataset import Dataset
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_baselines.queries.gradient_sum import GradientSum
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_tables.files import assemble

WIDTH, RAW, ROW = 5, 2.0, 1.25


@dataclass(frozen=True, eq=False)
class Columns:
    """Encoded rows, column by column."""

    of: np.ndarray

    ndim = 2

    @property
    def shape(self):
        return self.of.shape[1], self.of.shape[0]

    def __getitem__(self, rows):
        return Columns(self.of[:, rows])


class RawColumns:
    def __init__(self, columns):
        self._columns = columns

    def fill_margins(self, start, stop, w, out):
        out[:] = 0.0
        for weight, column in zip(w, self._columns, strict=True):
            out += weight * column[start:stop]

    def weighted_sum(self, start, stop, c):
        return np.array([float(sum(c * column[start:stop])) for column in self._columns])

    def mapped(self, entry):
        return RawColumns(entry(self._columns))


class ColumnBlock(CachedMargins):
    @classmethod
    def from_rows(cls, X, y, path, row_norm):
        values, squares = truncate_rows(X.of.T.copy(), None, len(y), path.raw_norm_bound)
        block = cls(y, len(X.of), squares, path, row_norm)
        is_stored = np.array_equal(X.of, values.T)
        block._columns = unchanging(X.of if is_stored else values.T)
        return block

    @classmethod
    def gather(cls, blocks, places):
        columns = np.hstack([block._columns for block in blocks])
        ordered = np.empty_like(columns)
        ordered[:, places] = columns
        return RawColumns(ordered)

    def raw_rows(self):
        return RawColumns(self._columns)

    def _absolute_steps(self):
        return np.ldexp(np.abs(self._columns), 16).astype(np.int64).sum(axis=0)

    def _unfolded(self):
        return self._columns.T.copy()

    def _take_cells(self, places):
        self._columns = self._columns[:, places]


class ColumnLayout(Layout):
    block_type = ColumnBlock

    def holds(self, X):
        return isinstance(X, Columns)

    def parts(self, X):
        return (X.of.T,)

    def join(self, form, parts):
        return Columns(parts[0].T.copy())

    def freeze(self, X):
        return replace(X, of=freeze(X.of))


@pytest.fixture
def fourth(monkeypatch):
    monkeypatch.setattr(layouts, "LAYOUTS", (*layouts.LAYOUTS, ColumnLayout()))


def rows(n=Table.BLOCK_ROWS + 100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, WIDTH)) * (rng.random((n, WIDTH)) < 0.6)
    X[:, -1] = 1.0
    return X, np.where(rng.random(n) < 0.5, -1.0, 1.0)


def in_both(X, y):
    table = partial(Table.from_matrix, y=y, row_norm=ROW, raw_norm_bound=RAW)
    return table(Columns(X.T.copy())), table(X)


def questions():
    relation = NeighboringRelation.REPLACE_ONE
    problem = Problem(Logistic(), 0.1, WIDTH, ROW, RAW, relation, n=Table.BLOCK_ROWS + 100)
    rng = np.random.default_rng(1)
    w, direction = rng.normal(size=WIDTH), np.rint(rng.normal(size=WIDTH) * 2**14) / 2**14
    return {
        "gradient": ClippedGradientSum(problem, w, 0.5),
        "gradient in l1": ClippedGradientSum(problem, w, 0.5, norm="l1"),
        "loss line": ClippedLossLine(problem, w, direction, np.arange(5) / 16, 2.0),
        "moved along it": ClippedGradientSum(problem, w - direction / 16, 0.5),
        "Gram": GramMatrix(problem, 1.5),
        "moments": ColumnMoments(problem, 0.75),
        "precise gradient": GradientSum(problem, w, 20, precise=True),
    }


@pytest.mark.usefixtures("fourth")
def test_a_fourth_layout_gives_the_bits_of_the_dense_one():
    new, dense = in_both(*rows())
    assert [type(block) for block in new.blocks] == [ColumnBlock] * 2
    for name, query in questions().items():
        answers = [LocalEngine(table, threads=2).answer(query) for table in (new, dense)]
        assert answers[0].any() and np.array_equal(*answers), name


@pytest.mark.usefixtures("fourth")
def test_a_layout_that_rounds_to_nearest_would_be_seen(monkeypatch):
    new, dense = in_both(*rows())
    rounded = [np.rint(block._columns * 2**15) / 2**15 for block in new.blocks]
    for block, columns in zip(new.blocks, rounded, strict=True):
        monkeypatch.setattr(block, "_columns", columns)
    for name, query in questions().items():
        answers = [LocalEngine(table).answer(query) for table in (new, dense)]
        assert not np.array_equal(*answers), name


@pytest.mark.usefixtures("fourth")
def test_samples_rows_and_several_points_are_those_of_the_dense_layout():
    new, dense = (table.blocks[0] for table in in_both(*rows()))
    places, points = np.arange(3, 900, 7), np.random.default_rng(2).normal(size=(3, WIDTH))
    for a, b in ((new, dense), (new.take(places), dense.take(places))):
        assert np.array_equal(a.rows(), b.rows()) and np.array_equal(a.factor, b.factor)
        assert np.array_equal(a.margins_at(points), b.margins_at(points))
        assert np.array_equal(a.row_norms("l1"), b.row_norms("l1"))


class Map:
    """A map of rows whose norms take both products."""

    key = ()

    def norms_up(self, product, square_product):
        v = np.arange(1.0, WIDTH + 1)
        return product(v) ** 2 + square_product(v)


@pytest.mark.usefixtures("fourth")
def test_norms_under_a_map_are_those_of_the_dense_layout():
    new, dense = (table.blocks[0].standardized_norms(Map()) for table in in_both(*rows()))
    assert np.array_equal(new, dense)


@pytest.mark.usefixtures("fourth")
def test_raw_rows_in_place_and_gathered_are_those_of_the_dense_layout():
    tables = in_both(*rows())
    places = np.random.default_rng(3).permutation(tables[0].n_rows)
    w = np.array([0.5, 1.0, -2.0, 0.25, 1.0])
    new, dense = ([t.blocks[0].raw_rows(), gathered(t, places)] for t in tables)
    for a, b in zip(new, dense, strict=True):
        margins = np.empty((2, 595))
        for out, part in zip(margins, (a, b), strict=True):
            part.fill_margins(5, 600, w, out)
        assert np.array_equal(*margins)
        sums = [part.mapped(np.square).weighted_sum(5, 600, np.ones(595)) for part in (a, b)]
        np.testing.assert_allclose(*sums, rtol=1e-12)


def gathered(table, places):
    return type(table.blocks[0]).gather(table.blocks, places)


@pytest.mark.usefixtures("fourth")
def test_pieces_and_parts_of_a_data_set_are_held_once():
    X, y = rows(300)
    X *= 0.25
    pieces = [(Columns(X[k : k + 100].T.copy()), y[k : k + 100].copy()) for k in (0, 100, 200)]
    held, labels = assemble(pieces)
    assert np.array_equal(held.of, X.T) and np.array_equal(labels, y)
    data = Dataset("columns", held, labels, width_schema(WIDTH - 1, row_norm=2.0))
    part = data.take(np.arange(300) % 2 == 0)
    assert part.table().n_rows == 150 and not part.X.of.flags.writeable
    on_grid = Dataset("columns", ColumnLayout().freeze(Columns(np.eye(5))), y[:5], data.schema)
    assert np.shares_memory(on_grid.table().blocks[0]._columns, on_grid.X.of)


def test_rows_of_no_known_layout_are_refused():
    X, y = rows(10)
    for unknown in (Columns(X.T.copy()), csc_matrix(X)):
        with pytest.raises(InvalidInputError, match="a NumPy array, a SciPy CSR matrix"):
            Table.from_matrix(unknown, y, row_norm=ROW, raw_norm_bound=RAW)
