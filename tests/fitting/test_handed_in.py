"""Functions that a run is handed: named like every part that sees rows, and held to its ledger."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpcore import Weights
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.commands import (
    DataRequest,
    LedgerRequest,
    Run,
    SessionRun,
    make_plan,
    train_rows,
)
from dpcore.plugin.parts import (
    GdpAccountant,
    LocalEngine,
    PrivacyStatement,
    SeededNoise,
    TableSession,
    dataset_from_arrays,
)
from dpcore_ledger import TableLedger, Terms

HERE = __name__
X, Y = np.tile([[0.1], [0.9]], (50, 1)), np.tile([-1, 1], 50)
ROWS = dataset_from_arrays(X, Y, bounds=(0, 1))
PLAN = make_plan(Settings("dp-gd", epsilon=1.0, params={"steps": "2"}))


def plain(run):
    return run.model()


def in_two_steps(run, other=None):
    return run.model()


def nested():
    def within(run):
        return run.model()

    return within


class Maker:
    def __call__(self, run):
        return run.model()

    def make(self, run):
        return run.model()

    @classmethod
    def of_class(cls, run):
        return run.model()


class Borrowed:
    """Calls itself by the name of a class of dpcore's."""

    def __call__(self, run):
        return run.model()


def spoofed():
    """Return a function that says that it is the method of dpcore's."""

    def by(run):
        return run.model()

    by.__module__, by.__qualname__ = Run.model.__module__, Run.model.__qualname__
    return by


Borrowed.__module__, Borrowed.__qualname__ = Run.__module__, Run.__qualname__
BORROWED = "?dpcore.fitting.run:Run"

WAYS = {
    "a function": (plain, [f"{HERE}:plain"]),
    "a lambda": (lambda run: run.model(), [f"{HERE}:<lambda>"]),
    "a partial call": (partial(in_two_steps, other=1), [f"{HERE}:in_two_steps"]),
    "a partial call of ours": (partial(Run.made, by=plain), [f"{HERE}:plain"]),
    "a nested function": (nested(), [f"{HERE}:nested.<locals>.within"]),
    "a bound method": (Maker().make, [f"{HERE}:Maker", f"{HERE}:Maker.make"]),
    "a class method": (Maker.of_class, [f"{HERE}:Maker", f"{HERE}:Maker.of_class"]),
    "an object": (Maker(), [f"{HERE}:Maker"]),
    "a borrowed name": (spoofed(), [f"{BORROWED}.model"]),
    "an object of a borrowed name": (Borrowed(), [BORROWED]),
    "ours": (Run.model, []),
    "a partial call of ours alone": (partial(Run.model, lines=True), []),
}


def by_what_they_say(*handed):
    """The names that functions and objects give themselves: what was not to be believed."""
    told = (part if hasattr(part, "__qualname__") else type(part) for part in handed)
    return PrivacyStatement.foreign_parts(f"{p.__module__}:{p.__qualname__}" for p in told)


@pytest.mark.parametrize(("by", "names"), WAYS.values(), ids=WAYS)
def test_what_makes_the_model_of_a_run_is_named(by, names):
    privacy = Run(PLAN, ROWS).made(by).privacy
    assert privacy["parts_not_from_dpcore"] == names and privacy["private"]
    assert ("provided that" in privacy["sentence"]) == bool(names)
    assert all(name in privacy["sentence"] for name in names)


@pytest.mark.parametrize("way", ["a borrowed name", "an object of a borrowed name"])
def test_a_name_that_a_function_gives_itself_would_be_believed(way):
    by, names = WAYS[way]
    assert by_what_they_say(by) == () and names


@pytest.fixture
def asked(tmp_path):
    """A request for the same rows in a file."""
    lines = [f"{x},{'yes' if y > 0 else 'no'}" for x, y in zip(X[:, 0], Y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y", *lines, ""]))
    (tmp_path / "schema.toml").write_text(
        '[columns]\nx = { kind = "numeric", lower = 0, upper = 1 }\n'
        'y = { kind = "label", classes = ["no", "yes"] }\n'
    )
    return DataRequest(str(tmp_path / "rows.csv"), tmp_path / "schema.toml")


@pytest.fixture
def ledger(tmp_path):
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(9.0, 1e-6))


def charged(ledger):
    """Return the outcomes of all runs in a ledger."""
    return [run.outcome for run in ledger.state().runs.values()]


def test_every_place_that_takes_it_names_it(asked, ledger):
    request, weights = LedgerRequest(ledger.path), Weights(None, None)
    of_files = Run.train(PLAN, asked, by=plain, table_ledger=request).model
    of_arrays = train_rows(
        PLAN, X, Y, ROWS.schema, replace(request, same_table=True), plain, weights
    )
    for model in (of_files, of_arrays):
        assert model.privacy["parts_not_from_dpcore"] == [f"{HERE}:plain"]
        # So is what the ledger keeps of the run.
        run = ledger.state().runs[model.privacy["ledger"]["entry"]]
        assert run.found["parts"] == [f"{HERE}:plain"]


def test_what_is_called_after_each_release_is_named(asked):
    told = []

    def look(session):
        told.append(len(session.ledger))

    model = Run.train(PLAN, asked, look).model
    name = f"{HERE}:test_what_is_called_after_each_release_is_named.<locals>.look"
    assert model.privacy["parts_not_from_dpcore"] == [name] and told == [1, 2, 3, 4]


class Session(TableSession):
    """A session of somebody's own."""


class Source(SeededNoise):
    """Draws for itself."""


def test_what_opens_a_session_is_named():
    whole = GdpAccountant.from_budget(1.0, 1e-6)
    about = "a probe", whole, NeighboringRelation.ADD_OR_REMOVE_ONE

    def parts(*handed, **others):
        run = SessionRun(LedgerRequest(None), about, ROWS.schema)
        run.opened(handed[0], LocalEngine(ROWS.table()), handed[1], **others)
        return run.statement().parts_not_from_dpcore

    assert parts(TableSession, SeededNoise(1)) == ()
    assert parts(Session, Source(1)) == (
        f"{HERE}:Session",
        f"{HERE}:Source",
    )
    assert parts(TableSession, SeededNoise(1), on_release=plain) == (f"{HERE}:plain",)


def uncharged(run):
    return replace(run, table_ledger=None).model()


def another_run(run):
    return Run(run.plan, run.dataset, table_ledger=None).model()


def unnamed(run):
    return replace(run, parts=()).model()


def not_listed(run):
    # Without a guarantee, and so charged nothing; but the ledger lists such a run.
    return replace(run, table_ledger=None, why_not_private=("of this",)).model()


@pytest.mark.parametrize("by", [uncharged, another_run, unnamed, not_listed])
def test_a_model_that_goes_round_its_run_is_not_handed_out(by, asked, ledger):
    with pytest.raises(InvalidInputError, match="not charged to the ledger of the run, or"):
        Run.train(PLAN, asked, by=by, table_ledger=LedgerRequest(ledger.path))


def best_of_two(run):
    return max([run.model(), run.model()], key=lambda model: abs(model.w).max())


def test_several_fits_by_a_function_are_each_charged(asked, ledger):
    model = Run.train(PLAN, asked, by=best_of_two, table_ledger=LedgerRequest(ledger.path)).model
    assert charged(ledger) == ["finished", "finished"] and model.privacy["ledger"]["run"] in (1, 2)
