"""Rows in parts: each row in one, charged as the theorem has it, in any order of releases."""

import numpy as np
import pytest
from coded_rows import coded

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import Laplace, NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import (
    LaplaceDpEvent,
    LocalEngine,
    Logistic,
    PureAccountant,
    PureDpEvent,
    SeededNoise,
    Sensitivity,
    Table,
)
from dpcore_accounting.samples import PoissonSample
from dpcore_accounting.selections.exponential import Exponential
from dpcore_accuracy_first.noise_chain.mechanism import NoiseReduction
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_lab.replay.recording import CountingEngine
from dpcore_tables.statistics import CategoricalColumn, Histogram, NumericColumn, NumericSums
from dpcore_tables.statistics.part_session import WholeSession
from dpcore_tables.statistics.parted_filter import InPart, PartedFilter
from dpcore_tables.statistics.split_table import split_table

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
LEVELS = CategoricalColumn((2, 3, 4), ("a", "b", "c"))
ROWS, Y = coded()
COUNT = RowCount("l1")


def table():
    return Table.from_matrix(ROWS, Y, row_norm=1.5, raw_norm_bound=3.0)


def problem(relation, n):
    return Problem(Logistic(), 0.0, 266, 1.5, 3.0, relation, n=n)


def opened(relation=ADD, epsilon=1.0, names=("a", "b", "c", "rest")):
    """Return the session over all rows and those over their parts, by name."""
    accountant = PureAccountant.from_budget(epsilon, 0.0)
    n = 300 if relation.size_is_public else None
    whole = WholeSession(
        CountingEngine(table()), accountant, relation, SeededNoise(1), problem(relation, n)
    )
    tables = split_table(table(), LEVELS.codes, 4)
    sessions = {
        name: whole.part("x", name, CountingEngine(part), problem(relation, None))
        for name, part in zip(names, tables, strict=True)
    }
    return whole, sessions


def costs(epsilon):
    """Return a mechanism whose release of a count costs that."""
    return Laplace(1 / epsilon)


def assert_parts_of(parts, all_rows):
    """Raise AssertionError unless every row is in one part: exact sums of the parts add up."""
    for query in (
        RowCount(),
        Histogram(LEVELS),
        NumericSums((NumericColumn(0, 0.0, 1.0), NumericColumn(1, 0.0, 1.0)), True),
    ):
        total = sum(LocalEngine(part).answer(query) for part in parts)
        assert total.tolist() == LocalEngine(all_rows).answer(query).tolist(), "A row leaks."


class Tells(RowCount):
    """A count that fails where there is a row: is the part empty?"""

    def answer_block(self, block):
        if block.n_rows:
            raise ValueError("It is not.")
        return super().answer_block(block)


def test_an_answer_of_a_part_that_ends_in_an_error_ends_all_of_them():
    whole, sessions = opened()
    with pytest.raises(ValueError):
        sessions["a"].release(Tells("l1"), costs(0.1))
    for session in (whole, sessions["a"], sessions["b"]):
        with pytest.raises(InvalidInputError, match="ended in an error or an interrupt"):
            session.release(COUNT, costs(0.1))
        with pytest.raises(InvalidInputError, match="no guarantee to state"):
            session.require_whole()
    assert len(whole.ledger) == 1 and whole.accountant.spent > 0


def test_every_row_is_in_one_part():
    parts = split_table(table(), LEVELS.codes, 4)
    assert_parts_of(parts, table())
    for level, part in enumerate(parts):
        counts = LocalEngine(part).answer(Histogram(LEVELS))
        assert part.n_rows > 20 and counts.sum() == (part.n_rows if level < 3 else 0)
        assert counts[:3].tolist() == [part.n_rows if level == j else 0 for j in range(3)]


def test_a_part_that_leaks_a_row_into_another_is_found():
    def leaking(table, code, n_parts):
        parts = split_table(table, code, n_parts)
        parts[1] = parts[1].with_blocks(
            [*parts[1].blocks, parts[0].blocks[0].take(np.arange(1, dtype=np.int64))]
        )
        return parts

    with pytest.raises(AssertionError, match="A row leaks"):
        assert_parts_of(leaking(table(), LEVELS.codes, 4), table())


def test_a_table_without_rows_has_parts_without_rows():
    empty = table().without_rows()
    assert [part.n_rows for part in split_table(empty, LEVELS.codes, 4)] == [0] * 4


def test_the_largest_part_is_charged_whatever_the_order():
    whole, parts = opened()
    whole.release(COUNT, costs(0.125))
    parts["a"].release(COUNT, costs(0.25))
    parts["b"].release(COUNT, costs(0.5))
    parts["a"].release(COUNT, costs(0.125))
    assert whole.accountant.spent == 0.125 + 0.5
    assert parts["a"].accountant.spent == 0.125 + 0.375
    assert parts["c"].accountant.spent == 0.125
    whole.release(COUNT, costs(0.25))
    assert whole.accountant.spent == 0.375 + 0.5
    assert parts["c"].accountant.spent == 0.375
    parts["c"].release(COUNT, costs(0.625))
    assert whole.accountant.remaining < 1e-12
    assert [entry.part for entry in whole.ledger] == [None, "a", "b", "a", None, "c"]
    assert whole.releases == parts["a"].releases == {"count": 6}


def test_what_does_not_fit_is_refused_with_nothing_asked():
    whole, parts = opened()
    parts["a"].release(COUNT, costs(0.75))
    for session in (whole, parts["a"]):
        asked, charged = len(session._engine.answers), whole.ledger
        with pytest.raises(BudgetExceededError):
            session.release(COUNT, costs(0.375))
        assert (len(session._engine.answers), whole.ledger) == (asked, charged)
    parts["b"].release(COUNT, costs(1.0))
    with pytest.raises(BudgetExceededError):
        whole.release(COUNT, costs(2.0**-20))


def test_under_replace_one_the_two_largest_parts_are_charged():
    whole, parts = opened(REPLACE)
    parts["a"].release(COUNT, costs(0.25))
    assert whole.accountant.spent == 0.25
    parts["b"].release(COUNT, costs(0.5))
    assert whole.accountant.spent == 0.75
    parts["c"].release(COUNT, costs(0.125))
    assert whole.accountant.spent == 0.75
    whole.release(COUNT, costs(0.125))
    assert whole.accountant.spent == 0.875
    assert parts["c"].accountant.spent == 0.125 + 0.125 + 0.5
    assert parts["rest"].accountant.spent == 0.125 + 0.5
    with pytest.raises(BudgetExceededError):
        parts["a"].release(COUNT, costs(0.25))
    parts["c"].release(COUNT, costs(0.25))
    assert whole.accountant.spent == 0.125 + 0.5 + 0.375


def test_no_order_of_charges_is_cheaper_than_every_pair_of_tables_sees():
    # By hand: the sum of what a pair of tables, which differ in these parts, was shown.
    rng = np.random.default_rng(3)
    for at_once in (1, 2):
        held, seen = PartedFilter(PureAccountant.from_budget(64.0, 0.0), at_once), []
        for _ in range(40):
            part, epsilon = rng.choice([None, "a", "b", "c"]), float(rng.integers(1, 9)) / 8
            event = PureDpEvent(epsilon)
            held = held.compose(event if part is None else InPart(part, event))
            seen.append((part, epsilon))
            sums = {p: sum(e for q, e in seen if q == p) for p in (None, "a", "b", "c")}
            largest = sorted((sums[p] for p in "abc"), reverse=True)[:at_once]
            assert held.tightest().spent == sums[None] + sum(largest)


def largest_loss(held, differ, said=()):
    """Return the largest log ratio of the probabilities of a run's outcomes on two tables, exactly.

    A release with epsilon from a part, or from all rows, says a bit of these rows, turned with
    probability 1 / (1 + e^epsilon); the bits of the parts in ``differ`` are others in the other
    table. What is asked next depends on all that was ``said``; where the ``held`` filter refuses
    it, the run goes on with other questions, eight in all.
    """
    if len(said) == 8:
        return 0.0
    rng = np.random.default_rng([*said, 7, 11])
    part, epsilon = rng.choice([None, "a", "b", "c"]), float(rng.integers(1, 5)) / 4
    event = PureDpEvent(epsilon)
    try:
        held = held.compose(event if part is None else InPart(part, event))
    except BudgetExceededError:
        return largest_loss(held, differ, (*said, 2))
    sees = part is None or part in differ
    return max(
        (epsilon if says == 1 else -epsilon) * sees + largest_loss(held, differ, (*said, says))
        for says in (0, 1)
    )


def test_whatever_is_asked_next_no_outcome_loses_more_than_the_budget():
    budget = PureAccountant.from_budget(1.5, 0.0)
    losses = [largest_loss(PartedFilter(budget, 1), {part}) for part in "abc"]
    assert 1.0 < max(losses) <= 1.5
    pairs = [set(pair) for pair in ("ab", "ac", "bc")]
    assert 1.0 < max(largest_loss(PartedFilter(budget, 2), pair) for pair in pairs) <= 1.5
    # Its broken twin: under replace-one the largest part alone is charged.
    assert max(largest_loss(PartedFilter(budget, 1), pair) for pair in pairs) > 1.5


class Moving:
    """A sum with sensitivities of its own."""

    kind, thread_safe = "moving", True

    def __init__(self, **bounds):
        self.bounds = bounds

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.zeros(1, dtype=np.int64)

    def sensitivity(self, relation):
        return self.bounds[relation.name](relation)


def test_a_part_under_replace_one_takes_the_larger_sensitivity():
    # A public number of rows makes a mean's sensitivity smaller than a row more does.
    query = Moving(
        REPLACE_ONE=lambda r: Sensitivity("l1", 0.5, r, change_range=0.5),
        ADD_OR_REMOVE_ONE=lambda r: Sensitivity("l1", 1.0, r, change_range=0.25),
    )
    whole, parts = opened(REPLACE)
    whole.release(query, Laplace(4.0))
    assert whole.ledger[0].event == LaplaceDpEvent(4.0)
    drawn = parts["a"]._sensitivity(query)
    assert (drawn.bound, drawn.change_range, drawn.relation) == (1.0, 0.5, REPLACE)
    with pytest.raises(InvalidInputError, match="range of the change"):
        parts["a"].release(COUNT, Exponential(4.0))


def test_sensitivities_that_cannot_be_compared_are_refused_uncharged():
    query = Moving(
        REPLACE_ONE=lambda r: Sensitivity("l1", 0.5, r),
        ADD_OR_REMOVE_ONE=lambda r: Sensitivity("l1", 0.5, r, grid_bits=3),
    )
    whole, parts = opened(REPLACE)
    with pytest.raises(InvalidInputError, match="cannot be compared"):
        parts["a"].release(query, Laplace(4.0))
    sample = PoissonSample(COUNT, 0.5)
    with pytest.raises(InvalidInputError, match="another part"):
        parts["a"].release(sample, Laplace(4.0))
    assert whole.ledger == ()


def test_parts_under_replace_special_are_refused():
    with pytest.raises(InvalidInputError, match="replace-special"):
        opened(NeighboringRelation.REPLACE_SPECIAL)


def test_parts_and_whole_answer_one_at_a_time():
    whole, parts = opened(epsilon=4.0)
    question = COUNT.sensitivity(ADD)
    exchange = parts["a"].start(NoiseReduction(COUNT, (0.5, 1.0), 0.5, 1e6, question))
    for session in (whole, parts["a"], parts["b"]):
        with pytest.raises(InvalidInputError, match="is open"):
            session.release(COUNT, costs(0.5))
    exchange.close()
    parts["b"].release(COUNT, costs(0.5))
    assert whole.ledger[0].part == "a"


def test_a_closed_session_answers_nobody():
    whole, parts = opened()
    whole.close()
    for session in (whole, parts["a"]):
        with pytest.raises(InvalidInputError, match="closed"):
            session.release(COUNT, costs(0.5))
    whole.close()


def test_a_forked_child_has_no_part():
    whole, parts = opened()
    parts["a"]._forked = whole._forked = True
    for step in (
        lambda: parts["a"].release(COUNT, costs(0.5)),
        lambda: whole.part("x", "new", LocalEngine(table()), problem(ADD, None)),
    ):
        with pytest.raises(InvalidInputError, match="forked"):
            step()
    assert whole.ledger == ()


def test_the_charge_of_a_part_stays_when_its_rows_cannot_be_asked():
    class Broken(LocalEngine):
        def answer(self, query):
            raise MemoryError

    whole, _ = opened()
    part = whole.part("x", "broken", Broken(table()), problem(ADD, None))
    with pytest.raises(MemoryError):
        part.release(COUNT, costs(0.5))
    assert whole.accountant.spent == 0.5 and [entry.part for entry in whole.ledger] == ["broken"]


def test_what_a_part_trusts_is_in_the_statement_of_the_whole():
    whole, parts = opened()
    query = Moving(ADD_OR_REMOVE_ONE=lambda r: Sensitivity("l1", 1.0, r))
    parts["b"].release(query, costs(0.5))
    assert any(name.endswith(":Moving") for name in whole.foreign_parts)


def test_a_query_of_another_table_is_refused_in_a_part_too():
    _, parts = opened(REPLACE)
    with pytest.raises(InvalidInputError, match="another table's"):
        parts["a"].release(GramMatrix(problem(REPLACE, 300)), Laplace(4.0))


def test_zcdp_charges_parts_in_its_own_unit():
    accountant = ZcdpAccountant.from_budget(1.0, 1e-6)
    held, event = PartedFilter(accountant, 1), PureDpEvent(0.125)
    for part in ("a", "b", "a"):
        held = held.compose(InPart(part, event))
    assert held.tightest() == accountant.compose(event).compose(event)
    assert held.within("b").tightest() == accountant.compose(event)
    assert held.within("c").tightest() == accountant
