"""Sums of functions of one row: their bits, and that no row moves them by more than the clip."""

import math
from fractions import Fraction

import leaking_rows as leaking
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, Problem
from dpcore.plugin.parts import (
    CoefficientSum,
    ContributionSum,
    LocalEngine,
    RowFunction,
    SeededNoise,
    Sensitivity,
    Table,
    TableSession,
    dataset_from_arrays,
    load_registry,
)
from dpcore.queries import clipping
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def loss(name):
    return load_registry().load("loss", name)()


def hinge(z, y, parameters):
    return -y if y * z < 1.0 else 0.0


def large(z, y, parameters):
    return parameters[0] * z * y


def moments(x, y, parameters, out):
    for k in range(len(x)):
        out[0] += x[k]
        out[1] += x[k] ** 2
    out[2] = y


def wide(x, y, parameters, out):
    for k in range(len(out)):
        out[k] = 1e3 * x[0] * (k + 1)


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("function", "norm"),
    [(hinge, "l2"), pytest.param(large, "l1", marks=slow), pytest.param(large, "linf", marks=slow)],
)
def test_no_row_moves_a_sum_of_coefficients_by_more(function, norm):
    def make(problem):
        w = np.full(problem.w_shape, 0.25)
        return CoefficientSum(problem, w, RowFunction.coefficient(function), 0.5, (1e6,), norm)

    check_query(make)


OF_VALUES = [leaking.divides_by_zero, leaking.multiplies_a_rare_row]
NORMS = ["l1", "l2", "linf"]
# Values meet the clip of each norm. A place that no array has is none before there is a norm.
LEAKING = {
    f"{each.__name__}-{norm}": (each, norm)
    for each, norms in zip(OF_VALUES, (NORMS[:2], NORMS[2:]), strict=True)
    for norm in norms
}
LEAKING |= {
    each.__name__: (each, NORMS[k % 3])
    for k, each in enumerate(leaking.HELD)
    if each not in OF_VALUES
}


@pytest.mark.slow
@pytest.mark.parametrize(("function", "norm"), [*LEAKING.values()], ids=[*LEAKING])
def test_no_row_moves_a_leaking_sum_by_more(function, norm):
    check_query(
        lambda p: ContributionSum(p, RowFunction.contribution(function), 3, 0.5, (1.0, 2.0), norm)
    )


@slow
@pytest.mark.parametrize(("function", "norm"), [(moments, "l2"), (wide, "l1"), (wide, "linf")])
def test_no_row_moves_a_sum_of_contributions_by_more(function, norm):
    check_query(
        lambda p: ContributionSum(p, RowFunction.contribution(function), 3, 0.5, (1.0, 2.0), norm)
    )


def test_the_usual_slopes_have_the_bits_of_the_gradient():
    rows = make_rows(500, seed=3)
    problem = make_problem(rows, ADD, loss("hinge-svm"))
    w = np.linspace(-1.0, 1.0, 5)
    engine = LocalEngine(rows.table())
    usual = engine.answer(ClippedGradientSum(problem, w, 0.3))
    own = engine.answer(CoefficientSum(problem, w, RowFunction.coefficient(hinge), 0.3))
    np.testing.assert_array_equal(usual, own)


def test_contributions_are_those_of_each_row():
    rows = make_rows(300, seed=4)
    problem = make_problem(rows, ADD, loss("logistic"))
    query = ContributionSum(problem, RowFunction.contribution(moments), 3, 1.0)
    table = rows.table()
    total = LocalEngine(table).answer(query)
    expected = np.zeros(3)
    for block in table.blocks:
        for x, y in zip(block.rows(), block.y, strict=True):
            v = np.array([x.sum(), (x**2).sum(), y])
            expected += v * min(1.0, 1.0 / np.sqrt((v**2).sum()))
    np.testing.assert_allclose(total * 2.0**-query.bits, expected, atol=1e-8)


def test_rows_of_categories_have_the_sum_of_dense_ones():
    frame = {"a": [0.25, 0.5, 0.75], "c": ["u", "v", "u"], "y": [0, 1, 1]}
    columns = {
        "a": {"kind": "numeric", "lower": 0, "upper": 1},
        "c": {"kind": "categorical", "categories": ["u", "v"]},
        "y": {"kind": "label", "classes": [0, 1]},
    }
    rows = dataset_from_arrays(pa.table(frame), schema=Schema.from_dict({"columns": columns}))
    problem = Problem(loss("logistic"), 0.0, rows.n_features, rows.row_norm, rows.row_norm, ADD)
    query = ContributionSum(problem, RowFunction.contribution(moments), 3, 1.0)
    table = rows.table()
    dense = Table.from_matrix(
        np.concatenate([block.rows() for block in table.blocks]),
        rows.y,
        row_norm=rows.row_norm,
        raw_norm_bound=rows.row_norm,
    )
    found = (LocalEngine(each).answer(query) for each in (table, dense))
    np.testing.assert_array_equal(*found)


def test_rows_come_in_pieces_with_the_same_sum(monkeypatch):
    rows = make_rows(300, seed=4)
    query = ContributionSum(
        make_problem(rows, ADD, loss("logistic")), RowFunction.contribution(moments), 3, 1.0
    )
    whole = LocalEngine(rows.table()).answer(query)
    monkeypatch.setattr("dpcore.queries.row_sums._CELLS", 35)
    monkeypatch.setattr("dpcore.queries.row_sums._CACHED", 15)
    np.testing.assert_array_equal(LocalEngine(rows.table()).answer(query), whole)


def test_weights_are_those_of_their_own_rows_in_each_piece(monkeypatch):
    rows = make_rows(300, seed=4)
    rows = dataset_from_arrays(rows.X, rows.y).with_weights(np.arange(300) / 64.0, 3.0)
    problem = Problem(loss("logistic"), 0.0, rows.n_features, rows.row_norm, rows.row_norm, ADD)
    query = ContributionSum(problem, RowFunction.contribution(one_each), 2, 8.0)
    expected = [rows.weights[rows.y > 0].sum(), rows.weights[rows.y <= 0].sum()]
    assert expected != [(rows.y > 0).sum(), (rows.y <= 0).sum()]
    for cached in (2**17, 30):
        monkeypatch.setattr("dpcore.queries.row_sums._CACHED", cached)
        total = LocalEngine(rows.table()).answer(query)
        assert np.ldexp(total.astype(float), -query.bits).tolist() == expected


def one_each(x, y, parameters, out):
    out[0 if y > 0 else 1] = 1.0


def first_feature(x, y, parameters, out):
    out[0] = x[0]


@pytest.mark.parametrize(("function", "is_unfolded"), [(one_each, False), (first_feature, True)])
def test_features_that_a_function_does_not_name_are_not_unfolded(
    function, is_unfolded, monkeypatch
):
    rows = make_rows(300, seed=4)
    [block] = rows.table().blocks
    asked = []
    unfold = type(block).rows
    monkeypatch.setattr(type(block), "rows", lambda self: asked.append(1) or unfold(self))
    problem = make_problem(rows, ADD, loss("logistic"))
    query = ContributionSum(problem, RowFunction.contribution(function), 2, 1.0, grid_bits=0)
    total = query.answer_block(block)
    assert bool(asked) == is_unfolded
    if not is_unfolded:
        assert total.tolist() == [(rows.y > 0).sum(), (rows.y <= 0).sum()]


def test_a_function_whose_text_has_x_in_other_letters_is_given_features():
    rows = make_rows(300, seed=4)
    problem, engine = make_problem(rows, ADD, loss("logistic")), LocalEngine(rows.table())
    text = "def near(x, y, parameters, out):\n    out[0] = 1.0 if x[0] > -9.0 else 0.0"
    for one in (text, text.replace("x[0]", "\N{MATHEMATICAL BOLD SMALL X}[0]")):
        query = ContributionSum(problem, RowFunction(one, "contribution"), 1, 1.0, grid_bits=0)
        assert engine.answer(query).tolist() == [300]


def add_clipped(values, each, clip, scale, is_l1, total):
    clipping.add_clipped(values, each, clip, scale, is_l1, np.empty(len(values)), total)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=6),
    st.floats(2.0**-10, 2.0**10),
    st.booleans(),
    st.integers(0, 40),
)
def test_a_contribution_is_never_longer_than_the_clip(values, clip, is_l1, bits):
    total = np.zeros(len(values), dtype=np.int64)
    with np.errstate(over="ignore"):
        add_clipped(np.array([values]), math.inf, clip, 2.0**bits, is_l1, total)
    steps = [abs(Fraction(int(t), 2**bits)) for t in total]
    if is_l1:
        assert sum(steps) <= Fraction(clip)
    else:
        assert sum(s * s for s in steps) <= Fraction(clip) ** 2


def just_beyond():
    """Return multiples of 2^-40 whose squares add up to more than 1, and in floats to 1."""
    first = np.arange(1, 2**18) * 2.0**-19
    second = np.ceil(np.sqrt(1.0 - first * first) * 2.0**40) * 2.0**-40
    for a, b in np.stack([first, second], axis=1)[first * first + second * second <= 1.0].tolist():
        if Fraction(a) ** 2 + Fraction(b) ** 2 > 1:
            return np.array([[a, b]])
    raise AssertionError("There is no such row.")


def test_a_row_whose_norm_rounds_to_the_clip_is_clipped():
    values, total = just_beyond(), np.zeros(2, dtype=np.int64)
    untouched = np.ldexp(values[0], 40).astype(np.int64)
    add_clipped(values, math.inf, 1.0, 2.0**40, False, total)
    squares = [sum(Fraction(int(t), 2**40) ** 2 for t in each) for each in (untouched, total)]
    assert squares[1] <= 1 < squares[0]  # the second is what its size alone would let through


@settings(max_examples=200, deadline=None)
@given(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(2.0**-10, 2.0**10), st.integers(0, 40)
)
def test_a_number_by_itself_is_clipped_and_truncated(value, clip, bits):
    total = np.zeros(2, dtype=np.int64)
    add_clipped(np.array([[value, -clip]]), clip, math.inf, 2.0**bits, False, total)
    kept = max(-Fraction(clip), min(Fraction(clip), Fraction(value))) if np.isfinite(value) else 0
    assert total.tolist() == [math.trunc(each * 2**bits) for each in (kept, -Fraction(clip))]


def clipped_by_sizes(values, clip, is_l1, first):
    """Return the sum of clipped rows, with the size of the first of eight, if so, for each."""
    total = np.zeros(values.shape[1], dtype=np.int64)
    for i, row in enumerate(values):
        measured = values[i - i % 8] if first else row
        size = np.abs(measured).sum() if is_l1 else np.linalg.norm(measured)
        add_clipped((row * min(1.0, clip / size))[None], np.inf, 1e3, 2.0**8, is_l1, total)
    return total


@pytest.mark.parametrize("n", [*range(10), 31, 32, 33, 65])  # 8 side by side, 32 at a time
@pytest.mark.parametrize("is_l1", [False, True])
def test_each_of_several_rows_is_clipped_by_its_own_size(n, is_l1):
    values = np.random.default_rng(n).normal(size=(n, 3)) * 2.0 ** np.arange(-3, n - 3)[:, None]
    found, alone = np.zeros((2, 3), dtype=np.int64)
    add_clipped(values.copy(), np.inf, 1.0, 2.0**8, is_l1, found)
    for row in values:
        add_clipped(row[None].copy(), np.inf, 1.0, 2.0**8, is_l1, alone)
    np.testing.assert_array_equal(found, alone)
    # By the formula, up to a step a row; not by the size of another row, which would be a leak.
    assert np.abs(found - clipped_by_sizes(values, 1.0, is_l1, first=False)).max() <= n
    assert n < 5 or np.abs(found - clipped_by_sizes(values, 1.0, is_l1, first=True)).max() > n


def test_the_largest_entry_of_a_row_is_used_up_to_the_clip():
    X = np.array([[0.5, -0.25], [0.0, 2.0**-16], [0.0, 0.0]])
    table = Table.from_matrix(X, np.ones(3), row_norm=1.0, raw_norm_bound=1.0)
    problem = Problem(loss("logistic"), 0.0, 2, 1.0, 1.0, ADD)
    query = CoefficientSum(
        problem, np.zeros(2), RowFunction.coefficient(large), 0.5, (-1e300,), "linf"
    )
    [block] = table.blocks
    assert block.row_norms("linf").tolist() == [0.5, 2.0**-16, 0.0]
    slope = CoefficientSum(problem, np.zeros(2), RowFunction.coefficient(hinge), 0.5, (), "linf")
    assert not query.answer_block(block).any()  # margins of 0
    parts = np.ldexp(slope.answer_block(block).astype(float), -16 - slope.bits)
    np.testing.assert_allclose(parts, [-0.5, 0.25 - 2.0**-16], atol=2.0 ** (1 - slope.bits))
    with pytest.raises(KeyError):
        block.row_norms("l3")


@pytest.mark.slow
def test_counts_are_whole_numbers():
    def sides(x, y, parameters, out):
        out[0 if x[0] < 0.0 else 1] = 1.0
        out[2] = -1.75 * y

    rows = make_rows(200, seed=2)
    problem, table = make_problem(rows, REPLACE, loss("logistic")), rows.table()
    query = ContributionSum(
        problem, RowFunction.contribution(sides), 3, 1.0, norm="linf", grid_bits=0
    )
    below = sum((block.rows()[:, 0] < 0.0).sum() for block in table.blocks)
    found = LocalEngine(table).answer(query)
    assert found.tolist() == [below, 200 - below, -int(rows.y.sum())]
    assert query.sensitivity(REPLACE) == Sensitivity("linf", 2.0, REPLACE, grid_bits=0)
    halves = ContributionSum(
        problem, RowFunction.contribution(sides), 3, 1.75, norm="linf", grid_bits=1
    )
    assert LocalEngine(table).answer(halves)[2] == -3 * int(rows.y.sum())  # towards zero
    check_query(lambda p: ContributionSum(p, RowFunction.contribution(sides), 3, 1.5, grid_bits=0))
    for grid_bits in (-1, 64, 1.0, True):
        with pytest.raises(InvalidInputError, match="Expected grid_bits"):
            ContributionSum(problem, RowFunction.contribution(sides), 3, 1.0, grid_bits=grid_bits)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_whole_numbers_at_the_clip_count(norm):
    """They were cut off to 0, since a bound of the norm is above it by its last bits."""

    def sides(x, y, parameters, out):
        out[0 if x[0] < 0.0 else 1] = 1.0

    rows = make_rows(200, seed=2)
    problem, engine = make_problem(rows, REPLACE, loss("logistic")), LocalEngine(rows.table())
    found = engine.answer(
        ContributionSum(problem, RowFunction.contribution(sides), 2, 1.0, norm=norm, grid_bits=0)
    )
    assert found.sum() == 200 and found.min() > 0


@pytest.mark.parametrize("is_l1", [True, False])
def test_whole_vectors_stay_within_a_whole_clip(is_l1):
    rng = np.random.default_rng(0)
    for clip in (1.0, 5.0, 2.0**26, 3.0 * 2.0**50):
        wide = np.rint(rng.normal(0.0, clip, (400, 3)))
        for values in (
            wide,
            wide / 1.5,
            np.array([[3.0, 4.0, 0.0], [clip, 0.0, 0.0], [clip, 1.0, 0.0]]),
        ):
            for row in values:
                total = np.zeros(3, dtype=np.int64)
                add_clipped(row[None].copy(), np.inf, clip, 1.0, is_l1, total)
                steps = [abs(int(t)) for t in total]
                norm = sum(steps) if is_l1 else sum(t * t for t in steps)
                assert norm <= (int(clip) if is_l1 else int(clip) ** 2)
                if is_l1 and all(v == int(v) for v in row) and sum(map(abs, row)) <= clip < 2**51:
                    assert total.tolist() == row.tolist()


def test_a_share_rounded_to_nearest_is_the_positive_control():
    # The same without what is taken off the share: some vectors are longer than the clip.
    rng = np.random.default_rng(0)
    longer = 0
    for _ in range(300):
        v = rng.normal(size=3)
        t = v * (1.0 / np.sqrt((v * v).sum()))
        longer += sum(Fraction(float(e)) ** 2 for e in t) > 1
    assert longer > 0


def test_weights_multiply_before_the_clip():
    rows = make_rows(40, seed=5)
    problem = make_problem(rows, ADD, loss("logistic"))
    table = rows.table()
    [block] = table.blocks
    weights = np.linspace(0.0, 2.0, 40)
    query = ContributionSum(problem, RowFunction.contribution(moments), 3, 100.0)
    each = [query.answer_block(block.take(np.array([i]))) for i in range(40)]
    pairs = np.empty(40, dtype=[("label", np.float64), ("weight", np.float64)])
    pairs["label"], pairs["weight"] = block.y, weights
    block.y = pairs
    total = query.answer_block(block)
    expected = sum(w * e for w, e in zip(weights, each, strict=True))
    np.testing.assert_allclose(total * 2.0**-query.bits, expected * 2.0**-query.bits, atol=1e-6)
    own = CoefficientSum(problem, np.zeros(5), RowFunction.coefficient(hinge), 0.3)
    assert own.answer_block(block).any()


def test_the_bounds_are_those_of_the_relation():
    one = Problem(loss("logistic"), 0.0, 2, 1.0, 1.0, ADD)
    for query in (
        CoefficientSum(one, np.zeros(2), RowFunction.coefficient(hinge), 0.25),
        ContributionSum(one, RowFunction.contribution(moments), 3, 0.25),
    ):
        assert query.sensitivity(ADD).bound == 0.25
        assert query.sensitivity(REPLACE).bound == 0.5


def test_the_statement_names_no_part_and_the_answer_is_charged():
    rows = make_rows(200, seed=1)
    problem = make_problem(rows, ADD, loss("logistic"))
    accountant = load_registry().load("accountant", "zcdp").from_budget(1.0, 1e-6)
    engine = LocalEngine(rows.table())
    session = TableSession(engine, accountant, ADD, SeededNoise(1), problem=problem)
    before = session.accountant.remaining
    answers = [
        session.release(
            CoefficientSum(problem, np.zeros(5), RowFunction.coefficient(hinge), 0.5), Gaussian(9.0)
        ),
        session.release(
            ContributionSum(problem, RowFunction.contribution(moments), 3, 1.0), Gaussian(9.0)
        ),
    ]
    assert [answer.shape for answer in answers] == [(5,), (3,)]
    assert session.accountant.remaining < before
    assert {part for part in session.trusted_parts if not part.startswith("dpcore.")} == set()


def test_a_place_that_no_array_has_is_refused_when_it_is_asked():
    """Such a place reads as NaN and is not written to: the histogram would lack a bin unseen."""
    one = Problem(loss("logistic"), 0.0, 2, 1.0, 1.0, ADD)

    def places(x, y, parameters, out):
        """It never writes to out[99]."""
        out[int(x[1])] = parameters[1]
        for k in range(12):
            out[k] += 1.0
        out[2] = 1.0

    def third(z, y, parameters):
        return parameters[2]

    made = RowFunction.contribution(places)
    ContributionSum(one, made, 3, 1.0, (1.0, 2.0))
    with pytest.raises(InvalidInputError, match=r"out\[2\], and out has 2 .* width as more"):
        ContributionSum(one, made, 2, 1.0, (1.0, 2.0))
    with pytest.raises(InvalidInputError, match=r"parameters\[1\], and .* as many parameters"):
        ContributionSum(one, made, 3, 1.0, (1.0,))
    narrow = Problem(loss("logistic"), 0.0, 1, 1.0, 1.0, ADD)
    with pytest.raises(InvalidInputError, match=r"x\[1\], and x has 1 .* x\[len\(x\) - 1\]"):
        ContributionSum(narrow, made, 3, 1.0, (1.0, 2.0))
    with pytest.raises(InvalidInputError, match=r"parameters\[2\], and parameters has 2"):
        CoefficientSum(one, np.zeros(2), RowFunction.coefficient(third), 1.0, (1.0, 2.0))

    def of_the_last(x, y, parameters, out):
        out[-1] = x[0]

    with pytest.raises(InvalidInputError, match=r"out\[-1\], .* out\[len\(out\) - 1\], the last"):
        ContributionSum(one, RowFunction.contribution(of_the_last), 3, 1.0)


def test_what_does_not_fit_is_refused():
    several = Problem(loss("softmax"), 0.0, 2, 1.0, 1.0, ADD, n_margins=3)
    one = Problem(loss("logistic"), 0.0, 2, 1.0, 1.0, ADD)
    with pytest.raises(InvalidInputError, match="function of one margin"):
        CoefficientSum(several, np.zeros((3, 2)), RowFunction.coefficient(hinge), 1.0)
    with pytest.raises(InvalidInputError, match=r"Expected coefficient\(function\), not function"):
        CoefficientSum(one, np.zeros(2), hinge, 1.0)
    with pytest.raises(InvalidInputError, match=r"Expected contribution\(function\)"):
        ContributionSum(one, RowFunction.coefficient(hinge), 3, 1.0)
    with pytest.raises(InvalidInputError, match="to be finite"):
        ContributionSum(one, RowFunction.contribution(moments), 3, 1.0, parameters=(math.nan,))
    with pytest.raises(InvalidInputError, match="to be l1, l2 or linf"):
        ContributionSum(one, RowFunction.contribution(moments), 3, 1.0, norm="l3")
    for width in (0, 2**21, 1.5, True):
        with pytest.raises(InvalidInputError, match="Expected width"):
            ContributionSum(one, RowFunction.contribution(moments), width, 1.0)
    with pytest.raises(InvalidInputError, match="clip"):
        ContributionSum(one, RowFunction.contribution(moments), 3, math.nan)


def below_zero(x, y, parameters, out):
    out[0] = 1.0 if 1.0 / x[0] < 0.0 else 0.0


def half(x, y, parameters, out):
    out[0] = 1.0 if x[0] >= 0.5 else 0.0


def answer_of(X, function):
    problem = Problem(loss("logistic"), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=ADD)
    table = Table.from_matrix(X, np.ones(X.shape[0]), row_norm=1.0, raw_norm_bound=1.0)
    return LocalEngine(table).answer(
        ContributionSum(problem, RowFunction.contribution(function), 1, 1.0)
    )


def test_the_sign_of_a_zero_does_not_depend_on_the_rows_beside_it():
    """A block with a row off the grid was stored anew, and lost the signs of all of its zeros."""
    X = np.full((1000, 2), -0.0)
    with_other = np.vstack([X, [[0.1, 0.1]]])
    assert answer_of(X, below_zero) == answer_of(with_other, below_zero) == 0


def test_duplicates_are_added_in_one_order():
    """SciPy sorts all rows where one is not sorted, and not stably: sums took other bits."""
    sparse = pytest.importorskip("scipy.sparse")
    for seed in range(20):
        values = np.random.default_rng(seed).random(30) * 0.01
        values = np.append(values, 0.5 - sum(values))

        def rows(n, is_odd_there, values=values):
            data = np.concatenate([np.tile(values, n), [0.25, 0.25]][: 1 + is_odd_there])
            columns = np.concatenate([np.zeros(31 * n, int), [1, 0]][: 1 + is_odd_there])
            ends = [*range(0, 31 * n + 1, 31), 31 * n + 2][: n + 1 + is_odd_there]
            return sparse.csr_matrix((data, columns, ends), shape=(n + is_odd_there, 2))

        assert answer_of(rows(9, False), half) == answer_of(rows(9, True), half)
