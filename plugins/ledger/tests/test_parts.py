"""Runs over parts of a table: what they cost together, against the true numbers of all pairs."""

import itertools
import random
import sqlite3
import tomllib
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import dpcore
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.cli import app
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import ApproximateDpEvent, GaussianDpEvent, GdpAccountant, PureAccountant
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_ledger import TableLedger, Terms, runs
from dpcore_ledger.cost import Run, _as_event, cost_of, times_of
from dpcore_ledger.row_parts import Part, most_seen
from dpcore_ledger.verify import verified
from dpcore_tables.store import convert

ADD, REPLACE = "add-or-remove-one", "replace-one"
STATED = {"analyst": "", "algorithm": "test", "epsilon": 1.0, "delta": 1e-8}
NORTH, SOUTH, OLD, YOUNG = (
    Part("schema", *pair)
    for pair in (
        ("region", "region=north"),
        ("region", "region=south"),
        ("age", "age=old"),
        ("age", "age=young"),
    )
)
PARTS = (None, NORTH, SOUTH, OLD, YOUNG)
PLACES = [(region, age) for region in (NORTH, SOUTH, None) for age in (OLD, YOUNG, None)]
"""The parts that a row may be in; ``None`` for a value that is none of the levels."""


def a_run(part=None, epsilon=1.0, relation=ADD) -> Run:
    return Run(ZcdpAccountant.from_budget(epsilon, 1e-8), relation, None, part)


def of_one(epsilon: float) -> int:
    return ZcdpAccountant.from_budget(epsilon, 1e-8).budget_ticks


@pytest.fixture
def ledger(tmp_path) -> TableLedger:
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))


def spent(ledger, part=None):
    return ledger.state().spent(0, part).spent_ticks


def test_parts_of_a_column_cost_the_largest_sum_and_all_rows_add(ledger):
    for part in (NORTH, SOUTH, NORTH):
        ledger.reserve(a_run(part, 0.3), STATED)
    each = of_one(0.3)
    assert (spent(ledger), spent(ledger, NORTH), spent(ledger, SOUTH)) == (2 * each, 2 * each, each)
    ledger.reserve(a_run(None, 0.3), STATED)
    assert (spent(ledger), spent(ledger, SOUTH)) == (3 * each, 2 * each)


def test_parts_of_two_columns_add_and_so_do_those_of_two_schemas(ledger):
    other = Part("another schema", "region", "region=north")
    for part in (NORTH, SOUTH, OLD, other):
        ledger.reserve(a_run(part, 0.3), STATED)
    assert spent(ledger) == 3 * of_one(0.3)


def test_a_part_that_is_used_up_leaves_the_others_what_they_have(ledger):
    with pytest.raises(BudgetExceededError, match="remains for region=north"):
        for _ in range(100):
            ledger.reserve(a_run(NORTH), STATED)
    with pytest.raises(BudgetExceededError):
        ledger.reserve(a_run(None), STATED)
    ledger.reserve(a_run(SOUTH), STATED)
    # A run on all rows is over the part that has least.
    assert ledger.state().spent(0).spent_ticks == spent(ledger, NORTH)


def test_what_a_run_over_a_part_did_not_take_comes_back(ledger):
    reservation = ledger.reserve(a_run(NORTH), STATED)
    entry = LedgerEntry(0, "gradient", "gaussian", GaussianDpEvent(50.0), 2e-4)
    reservation.log.charge(entry)
    reservation.close("finished")
    assert ledger.state().spent(0, NORTH).spent == pytest.approx(2e-4, rel=1e-9)
    assert ledger.state().spent(0, SOUTH).spent == 0
    verified(ledger.path)


def changes(relation):
    """Yield, for each pair of neighbours, how much a clipped sum of every part can change: a row
    counts at most 1, and its value may change its sign."""
    for old, new in itertools.product(PLACES, PLACES if relation == REPLACE else [()]):
        change = defaultdict(int)
        for part in (*old, *new):
            change[part] += part is not None
        yield {**change, None: 1 if relation == ADD else 2}


def true_rho(runs, relation):
    """Return the largest rho of any pair, by the formula of the normal distribution: a sum whose
    mean moves by d, with noise of deviation s, is d^2 / (2 s^2)-concentrated, tight (Bun & Steinke
    2016, Lemma 2.4). ``runs`` : pairs of part and rho at d = 1."""
    return max(
        sum(rho * change.get(part, 0) ** 2 for part, rho in runs) for change in changes(relation)
    )


def counted(runs, relation, rule=most_seen):
    steps = 1 if relation == ADD else 4
    return rule((part, rho * steps) for part, rho in runs)


def some_runs(seed):
    coin = random.Random(seed)
    return [(coin.choice(PARTS), coin.randint(1, 9)) for _ in range(coin.randint(1, 8))]


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_no_pair_of_neighbours_sees_more_than_is_counted(relation):
    for seed in range(300):
        runs = some_runs(seed)
        assert true_rho(runs, relation) <= counted(runs, relation), seed
    # And there is none to spare: a row of one part that is replaced by one of the same.
    runs = [(NORTH, 3), (SOUTH, 2), (None, 1), (OLD, 5)]
    assert true_rho(runs, relation) == counted(runs, relation)


def largest_of_single_steps(charges):
    """The broken twin under replace-one: a replaced row is charged to one part, as one step."""
    return most_seen((part, amount // (4 if part else 1)) for part, amount in charges)


def largest_of_all_parts(charges):
    """The broken twin of two columns: their parts taken for those of one."""
    charges = [(part and Part("schema", "", part.name), amount) for part, amount in charges]
    return most_seen(charges)


@pytest.mark.parametrize(
    ("rule", "relation", "runs"),
    [
        (largest_of_single_steps, REPLACE, [(NORTH, 1), (SOUTH, 1)]),
        (largest_of_all_parts, ADD, [(NORTH, 1), (OLD, 1)]),
    ],
)
def test_other_rules_count_less_than_a_pair_sees(rule, relation, runs):
    assert counted(runs, relation, rule) < true_rho(runs, relation) <= counted(runs, relation)


OWN = [
    ZcdpAccountant.from_budget(1.0, 1e-8),
    ZcdpAccountant.with_reserve(1.0, 1e-8, 1e-9),
    GdpAccountant.from_budget(1.0, 1e-8),
    PureAccountant.from_budget(1.0, 0.0),
    PureAccountant.from_budget(3.0, 0.0),
    SingleReleaseAccountant.from_budget(0.5, 1e-8),
    RdpAccountant.from_budget(1.0, 1e-8),
]


@pytest.mark.parametrize("filter", ["zcdp", "gdp", "pure", "rdp"])
@pytest.mark.parametrize("own", OWN, ids=lambda own: own.name)
def test_two_steps_cost_twice_one_step_or_more(own, filter):
    """The proof rests on it: c2 >= 2 c1, of both numbers, however a run is charged."""
    terms = Terms.of(9.0, 1e-6, accountant=filter, relation=REPLACE)
    try:
        two = cost_of(Run(own, ADD, None, NORTH), terms)
    except InvalidInputError:
        return
    if two.times is not None:
        assert two.ticks >= 2 * own.budget_ticks and two.aside_ticks == 0
        return
    event = _as_event(own, 1)
    assert two.ticks >= 2 * Fraction(terms.filter.cost(event)) * 2**120
    if type(event) is ApproximateDpEvent:
        assert two.aside_ticks >= 2 * Fraction(event.delta) * 2**120


def test_a_run_over_a_part_is_of_rows_that_are_added_or_removed():
    own = ZcdpAccountant.from_budget(1.0, 1e-8)
    assert times_of(Run(own, ADD, None, NORTH), Terms.of(4.0, 1e-6)) == 1
    assert times_of(Run(own, ADD, None, NORTH), Terms.of(4.0, 1e-6, relation=REPLACE)) == 2
    for relation, unit in ((REPLACE, None), (ADD, "patient")):
        for its_unit in (None, "patient"):
            terms = Terms.of(4.0, 1e-6, relation=relation, unit=its_unit)
            with pytest.raises(InvalidInputError, match="over a part"):
                times_of(Run(own, relation, unit, NORTH), terms)
    with pytest.raises(InvalidInputError, match="says nothing"):
        times_of(Run(own, ADD, None, NORTH), Terms.of(4.0, 1e-6, unit="patient"))


SCHEMA = """[columns]
a = { kind = "numeric", lower = 0, upper = 10 }
region = { kind = "categorical", categories = ["north", "south"] }
y = { kind = "label", classes = ["no", "yes"] }
"""


@pytest.fixture
def rows(tmp_path):
    """Return the options of a table of 300 rows, in parts by their region."""
    cells = ((i % 10, ("north", "south", "west")[i % 3]) for i in range(300))
    lines = (f"{a},{region},{'yes' if a > 4 else 'no'}\n" for a, region in cells)
    (tmp_path / "rows.csv").write_text("a,region,y\n" + "".join(lines))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return {"X": str(tmp_path / "rows.csv"), "schema": str(tmp_path / "schema.toml")}


def test_fits_of_parts_cost_the_largest(ledger, rows):
    for name in ("north", "south"):
        model = dpcore.fit(**rows, epsilon=1.0, ledger=ledger.path, part=f"region={name}")
        told = f"The table is a part, the rows of region={name} alone: no other row was used."
        assert model.privacy["part"] == f"region={name}" and told in model.privacy["sentence"]
        assert model.report["part"] == f"region={name}"
    first, second = ledger.state().runs.values()
    assert (first.part.name, second.part.name) == ("region=north", "region=south")
    assert spent(ledger) == first.ticks == second.ticks
    dpcore.fit(**rows, epsilon=0.5, ledger=ledger.path)
    assert spent(ledger) > first.ticks
    assert len(ledger.state().tables) == 1


@pytest.fixture
def stays(tmp_path):
    """Return the address of a table whose rows have a region twice, each time another one."""
    with closing(sqlite3.connect(tmp_path / "stays.db")) as file, file:
        file.execute("CREATE TABLE stays (a REAL, came TEXT, went TEXT, y TEXT)")
        rows = [(i % 10, "north", "south", ("no", "yes")[i % 10 > 4]) for i in range(300)]
        file.executemany("INSERT INTO stays VALUES (?, ?, ?, ?)", rows)
    return f"sqlite:///{tmp_path}/stays.db"


def fit_of_query(stays, column, name, ledger, tmp_path, is_stored=False):
    rows = f"{stays}?query=select a, {column} as region, y from stays"
    schema = dpcore.Schema.from_dict(tomllib.loads(SCHEMA))
    if is_stored:
        convert(rows, str(tmp_path / f"{column}.dpcore"), schema)
        rows, schema = str(tmp_path / f"{column}.dpcore"), None
    asked = {"schema": schema, "part": f"region={name}", "ledger": ledger.path}
    dpcore.fit(rows, algo="dp-gd", accountant="zcdp", epsilon=0.8, **asked)


@pytest.mark.parametrize("is_stored", [False, True])
def test_parts_of_two_queries_add_as_a_row_may_be_in_both(stays, ledger, tmp_path, is_stored):
    asked = stays, ledger, tmp_path, is_stored
    for column, name in (("came", "north"), ("came", "south"), ("went", "south")):
        fit_of_query(asked[0], column, name, *asked[1:])
    # Each of the 300 rows is north of the first query and south of the second.
    first, second, other = (run.ticks for run in ledger.state().runs.values())
    assert spent(ledger) == max(first, second) + other


def test_parts_by_schema_alone_count_less_than_a_row_sees(stays, ledger, tmp_path, monkeypatch):
    """The broken twin: whose rows a run is over is told by the schema, whatever the query."""
    whole = runs._part_of
    monkeypatch.setattr(
        runs, "_part_of", lambda run, schema: replace(whole(run, schema), schema=schema)
    )
    for column, name in (("came", "north"), ("went", "south")):
        fit_of_query(stays, column, name, ledger, tmp_path)
    ticks = [run.ticks for run in ledger.state().runs.values()]
    assert spent(ledger) == max(ticks) < sum(ticks)


def test_what_is_no_part_is_refused_and_nothing_charged(ledger, rows):
    for options, said in (
        ({"part": "region=west"}, "no part"),
        ({"part": "region=north", "relation": REPLACE}, "add-or-remove-one"),
        ({"part": "region=north", "engine": "dask"}, "no part of rows"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            dpcore.fit(**rows, epsilon=0.5, ledger=ledger.path, **options)
    assert not ledger.state().runs


def test_the_rows_of_other_parts_are_not_asked(ledger, rows, monkeypatch):
    from dpcore.plugin.parts import LocalEngine

    honest, seen = LocalEngine.answer, set()

    def answer(self, query):
        seen.add(self._table.n_rows)
        return honest(self, query)

    monkeypatch.setattr(LocalEngine, "answer", answer)
    dpcore.fit(**rows, epsilon=1.0, ledger=ledger.path, part="region=north")
    assert max(seen) == 100


def test_a_ledger_under_replace_one_charges_two_steps_to_a_part(tmp_path, rows):
    ledger = TableLedger.create(tmp_path / "r.ledger", Terms.of(4.0, 1e-6, relation=REPLACE))
    for name in ("north", "south"):
        asked = {"algo": "dp-gd", "accountant": "zcdp", "epsilon": 0.5, "ledger": ledger.path}
        dpcore.fit(**rows, **asked, part=f"region={name}")
    one = ZcdpAccountant.from_budget(0.5, 1e-8)
    for run in ledger.state().runs.values():
        assert run.reserved[0] == 4 * one.budget_ticks
    assert spent(ledger) <= 4 * one.budget_ticks


def test_the_command_line_shows_each_part(tmp_path, ledger, rows):
    run = CliRunner().invoke
    asked = ["train", "--data", rows["X"], "--schema", rows["schema"], "--ledger", ledger.path]
    done = run(app, [*asked, "--part", "region=north", "--epsilon", "1"])
    assert done.exit_code == 0, done.output
    assert "where region=north" in done.output
    shown = run(app, ["ledger", "show", ledger.path]).output
    assert "On region=north" in shown
    again = run(app, [*asked, "--part", "region=north", "--epsilon", "2"])
    assert again.exit_code == 2
    assert "remains for region=north" in again.stderr
