"""Engines by name, over rows at hand and over files that they read themselves."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from step_words import settings

from dpcore import BalancedWeights, Schema
from dpcore.cli.training import tell_training
from dpcore.errors import DataError, InvalidInputError
from dpcore.fitting.planning.engines import engine_at_hand, load_engine, opened_rows
from dpcore.fitting.planning.plan import make_plan
from dpcore.plugin.commands import DataRequest, Run
from dpcore.plugin.engines import Files, RowsElsewhere
from dpcore.plugin.parts import Dataset, LocalEngine, load_registry
from dpcore.registry.tables.optimizer_spec import fault_of_part
from dpcore.session.charges import Charges

COLUMNS = """
[columns]
x = { kind = "numeric", lower = 0, upper = 1 }
id = { kind = "drop" }
y = { kind = "label", classes = ["no", "yes"] }
"""
SCHEMA = Schema.from_toml(COLUMNS)
NUMBER = """
[columns]
x = { kind = "numeric", lower = 0, upper = 1 }
id = { kind = "label", lower = 0, upper = 300 }
y = { kind = "drop" }
"""


class ReadsFiles(LocalEngine):
    """Reads files in this process, and counts what was opened and closed."""

    reads_files = True
    opened: list = []
    closed: list = []

    @classmethod
    def open(cls, source, schema, threads):
        (name,) = source.names()
        data = Dataset.from_file(name, schema, bad_rows=source.bad_rows)
        engine = cls(data.table(), threads)
        engine.rows = RowsElsewhere("rows", data.schema, data.n_units, data.rows_dropped)
        cls.opened.append(source)
        return engine

    def close(self):
        self.closed.append(self)


@pytest.fixture(autouse=True)
def _count_anew():
    ReadsFiles.opened, ReadsFiles.closed = [], []


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    lines = (f"{x:.4f},{i},{'yes' if x > 0.4 else 'no'}" for i, x in enumerate(rng.random(300)))
    (tmp_path / "rows.csv").write_text("\n".join(["x,id,y", *lines]) + "\n")
    return tmp_path / "rows.csv"


def plan(engine=ReadsFiles, **options):
    asked = settings(**{"algo": "dp-gd", "epsilon": 1.0, "seed": 4, **options})
    return replace(make_plan(asked), engine=engine)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_files_that_an_engine_reads_give_the_model_of_rows_at_hand(rows, relation):
    request = DataRequest(str(rows), SCHEMA)
    there, here = (
        Run.train(plan(e, relation=relation), request) for e in (ReadsFiles, LocalEngine)
    )
    assert np.array_equal(there.model.w, here.model.w)
    assert there.facts.get("n_train") == here.facts.get("n_train")
    assert there.model.privacy["sentence"] == here.model.privacy["sentence"]
    assert len(ReadsFiles.opened) == len(ReadsFiles.closed) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [{"class_weight": "balanced"}, {"intervals_share": 0.5, "epsilon": 50.0}]
)
def test_a_step_asks_an_engine_of_files_what_it_asks_of_rows_at_hand(rows, asked):
    asked = {"params": {"steps": 3}, **asked}
    request = DataRequest(str(rows), SCHEMA)
    there, here = (Run.train(plan(e, **asked), request).model for e in (ReadsFiles, LocalEngine))
    assert np.array_equal(there.w, here.w)
    assert (there.class_weights, there.intervals) == (here.class_weights, here.intervals)
    assert there.privacy["releases"] == here.privacy["releases"]
    assert there.privacy["spent"] == here.privacy["spent"]


def test_a_step_of_rows_in_this_process_is_refused_elsewhere_by_its_name(rows):
    @dataclass(frozen=True)
    class Needs(BalancedWeights):
        name = "needs"
        needs = frozenset({"rows-here"})

    with pytest.raises(InvalidInputError, match="The step needs needs rows in this process"):
        Run.train(plan(also=[Needs()]), DataRequest(str(rows), SCHEMA))


def test_a_test_is_offered_where_rows_are_at_hand(rows, capsys):
    for engine, offered in ((LocalEngine, "--test-fraction 0.2"), (ReadsFiles, "--test FILE")):
        training = Run.train(plan(engine), DataRequest(str(rows), SCHEMA))
        tell_training(training, None, None, as_json=False, quiet=False)
        assert f"The model was not tested; {offered}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "loss"), [(COLUMNS, "logistic"), (NUMBER, "ridge")])
def test_rows_of_another_file_are_reported_on_as_where_rows_are_at_hand(rows, columns, loss):
    other = rows.with_name("other.csv")
    other.write_text("\n".join(rows.read_text().splitlines()[:30]) + "\n")
    request = DataRequest(str(rows), Schema.from_toml(columns), test=other)
    there, here = (Run.train(plan(e, loss=loss), request) for e in (ReadsFiles, LocalEngine))
    there.model.save(str(rows.with_name("model.json")))
    told = rows.with_name("model.json").read_text()
    assert not any(metric in told for metric in there.diagnostics)
    known = {k: v for k, v in here.diagnostics.items() if not k.startswith("train")}
    assert there.diagnostics == known and len(known) < len(here.diagnostics)


def test_a_file_to_test_on_that_cannot_be_read_is_refused_before_anything_is_charged(rows):
    request = DataRequest(str(rows), SCHEMA, test=rows.with_name("none.csv"))
    charges = Charges()
    with pytest.raises(DataError, match="no such file"):
        Run.train(plan(), request, charges=charges)
    assert len(ReadsFiles.closed) == 1 and charges.bound is None


def test_an_engine_is_closed_whatever_ends_the_fit(rows):
    def ends(session):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run.train(plan(), DataRequest(str(rows), SCHEMA), on_release=ends)
    assert len(ReadsFiles.closed) == 1


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"test_fraction": 0.5}, "has no --test-fraction"),
        ({"schema": None, "schema_from_data": True}, "has no --schema-from-data"),
        ({"data": "adult", "schema": None}, "the data set adult"),
        ({"unit": "id", "rows_per_unit": 2}, "rows may be in several files"),
    ],
)
def test_what_an_engine_of_files_has_not_is_refused_before_it_opens_one(rows, asked, reason):
    request = replace(DataRequest(str(rows), SCHEMA), **asked)
    with pytest.raises(InvalidInputError, match=reason):
        Run.train(plan(), request)
    assert not ReadsFiles.opened


def test_bounds_that_are_private_are_refused():
    waiting = Schema.from_toml(COLUMNS.replace(", lower = 0, upper = 1", ""), private_bounds=True)
    with pytest.raises(InvalidInputError, match="bounds of column 'x' are private"):
        with opened_rows(plan(), Files("rows.csv"), waiting):
            pass


@pytest.mark.parametrize(
    ("labels", "asked", "reason"),
    [
        ('"so",', {"multiclass": "ovr"}, "has no fit for each class: take --loss softmax"),
    ],
)
def test_counts_and_several_fits_are_refused_uncharged(rows, labels, asked, reason):
    schema = Schema.from_toml(COLUMNS.replace("classes = [", f"classes = [{labels}"))
    released = []
    with pytest.raises(InvalidInputError, match=reason):
        Run.train(plan(**asked), DataRequest(str(rows), schema), on_release=released.append)
    assert not released and len(ReadsFiles.closed) == 1


def test_rows_at_hand_are_not_sent_to_an_engine_of_files(rows):
    table = Dataset.from_file(rows, SCHEMA).table()
    with pytest.raises(InvalidInputError, match="ReadsFiles reads rows"):
        engine_at_hand(ReadsFiles, table, SCHEMA, 1)
    assert type(engine_at_hand(LocalEngine, table, SCHEMA, 1)) is LocalEngine


def test_an_address_is_after_the_name():
    registry = load_registry()
    assert load_engine("local", registry) is LocalEngine
    with pytest.raises(InvalidInputError, match="takes no address"):
        load_engine("local:tcp://host:8786", registry)


def test_an_engine_is_told_its_address(rows):
    asked = plan()
    asked = replace(asked, settings=replace(asked.settings, engine="x:tcp://host:8786"))
    Run.train(asked, DataRequest(str(rows), SCHEMA))
    assert ReadsFiles.opened[0].address == "tcp://host:8786"


def test_an_engine_states_how_it_is_opened():
    class Closed:
        def answer(self, query): ...

    assert "open" in fault_of_part("engine", Closed)
    assert fault_of_part("engine", ReadsFiles) == ""
