"""An optimizer that is not what it must be: refused when loaded, or told by type and place."""

import json
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcore.cli.list import find_failures
from dpcore.errors import BudgetExceededError, OptimizerError, RegistryError
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.model.details import bounded
from dpcore.plugin import Solution
from dpcore.plugin.parts import Logistic, Registration, Registry
from dpcore.registry.catalogue import load_registry
from dpcore.registry.slots import Slot

SECRET = "the first row is 41, Bern"
GOOD = {
    "slots": {"gradient": Slot(("gaussian",), closed="it is a test")},
    "__annotations__": {"use": "dict"},
    "use": None,
    "relations": ("add-or-remove-one",),
    "needs": ("classification",),
    "minimize": lambda self, problem, session: Solution(None, "Done."),
}
STATED = ("slots", "relations", "needs", "minimize")
ENTRY = Registration(
    "optimizer", "broken", "broken_plugin:Broken", "Breaks.", "", "broken-dist", "1.2"
)


def make(**attributes):
    return dataclass(frozen=True)(type("Broken", (), {**GOOD, **attributes}))


def registry_of(monkeypatch, target):
    module = type(sys)("broken_plugin")
    module.Broken = target
    monkeypatch.setitem(sys.modules, "broken_plugin", module)
    return Registry([ENTRY])


def with_preset(**values):
    presets = {"paper": values, "also": {"clip": 2.0, "gradient": "gaussian", "accountant": "gdp"}}
    annotations = {"use": "dict", "clip": "float"}
    return make(__annotations__=annotations, clip=1.0, presets=presets)


def without(name):
    return dataclass(frozen=True)(
        type("Broken", (), {key: value for key, value in GOOD.items() if key != name})
    )


@pytest.mark.parametrize(
    ("target", "text"),
    [
        *[(without(name), f"has no '{name}'") for name in STATED],
        (make(__annotations__={}), "has no field 'use', which its slots ask for"),
        (type("Broken", (), GOOD), "is not a dataclass"),
        (dataclass(type("Broken", (), GOOD)), "not frozen, so that"),
        (dataclass(type("Broken", (), GOOD)), "Write @dataclass(frozen=True)"),
        (make()(), "is not a dataclass"),
        (len, "is not a dataclass"),
        (make(minimize=3), "cannot be called"),
        (
            make(minimize=lambda self, problem: None),
            "called as minimize(self, problem, session)",
        ),
        (
            make(accountnat="gdp"),
            "'accountnat', which nobody reads. Did you mean 'accountant'",
        ),
        (make(target=("slack",)), "states 'target', which nobody reads. Did you mean 'targets'"),
        (make(shedule=lambda self, problem, m: {}), "Did you mean 'schedule'?"),
        (make(accountant=("gdp",)), "has accountant=('gdp',), which is not a text"),
        (make(private="no"), "has private='no', which is not true or false"),
        (make(private=0), "has private=0, which is not true or false"),
        (make(schedule={}), "has a schedule that cannot be called"),
        (make(schedule=lambda self, problem: {}), "as schedule(self, problem, noise_multiplier)"),
        (make(departures="none"), "has departures='none', which is not a tuple of texts"),
        (make(targets=("target_acuracy",)), "'target_acuracy', which is no field of it. Known:"),
        (make(targets=("slack",)), "states 'slack', which is no field of it"),
        (make(checked_with={"clip": 1.0}), "states 'clip', which is no field of it"),
        (make(relations="replace-one"), "not a tuple of words"),
        (make(relations=()), "at least one relation is needed"),
        (make(relations=("replace-on",)), "unknown relation 'replace-on'. Did you mean replace-on"),
        (make(needs=("lipschitz",)), "unknown need 'lipschitz'. Did you mean lipschitz-loss"),
        (make(slots=("gradient",)), "which is not a dict of text to Slot"),
        (make(slots={"gradient": ("gaussian",)}), "which is not a dict of text to Slot"),
        (make(slots={3: Slot(("gaussian",), takes=("l2",))}), "which is not a dict of text to"),
        (make(presets="paper"), "which is not a dict of preset to"),
        (make(presets={"paper": "clip"}), "which is not a dict of preset to"),
        (with_preset(clpi=3.0), "sets 'clpi', which is neither a parameter nor a slot. Did you"),
        (with_preset(use={}), "sets 'use', which is neither a parameter nor a slot"),
        (with_preset(clip="wide"), "to what it cannot be. Expected clip='wide' to be a finite num"),
        (with_preset(clip=None), "to what it cannot be. Expected clip=None to be a finite number"),
        (with_preset(gradient="gausian"), "which that slot cannot hold. Did you mean gaussian?"),
        (with_preset(gradient=("gaussian",)), "which that slot cannot hold"),
        (with_preset(accountant=3), "sets 'accountant' to 3, which is no name"),
    ],
)
def test_a_class_that_is_no_optimizer_is_told_when_loading(monkeypatch, target, text):
    registry = registry_of(monkeypatch, target)
    with pytest.raises(RegistryError, match="of broken-dist 1.2 cannot be used") as caught:
        registry.load("optimizer", "broken")
    assert text in str(caught.value) and "\n" not in str(caught.value)
    assert [failure.name for failure in find_failures(registry)] == ["broken"]


def test_a_class_that_is_an_optimizer(monkeypatch):
    registry = registry_of(monkeypatch, make())
    assert find_failures(registry) == ()
    assert isinstance(registry.load("optimizer", "broken"), type)


def test_a_method_of_its_own_is_not_taken_for_a_fact(monkeypatch):
    own = make(with_noise=lambda self: 3, schedule=None, schedules=lambda self: 4)
    assert find_failures(registry_of(monkeypatch, own)) == ()


@pytest.mark.parametrize("kind", ["mechanism", "accountant", "loss", "engine"])
def test_a_part_of_every_kind_is_checked_when_it_is_loaded(monkeypatch, kind):
    registry_of(monkeypatch, dict)
    registry = Registry([replace(ENTRY, kind=kind)])
    with pytest.raises(RegistryError, match=rf"broken_plugin:Broken has no '.*{kind.title()} asks"):
        registry.load(kind, "broken")
    assert [failure.name for failure in find_failures(registry)] == ["broken"]


@pytest.mark.parametrize("kind", ["mechanism", "accountant", "loss", "engine"])
def test_the_parts_of_ours_are_what_they_must_be(kind):
    registry = load_registry()
    assert [registry.load(kind, name) for name in registry.names(kind)]


def test_a_misspelt_fact_of_a_loss_is_told(monkeypatch):
    module = type(sys)("broken_plugin")
    module.Broken = type("Broken", (Logistic,), {"convx": True})
    monkeypatch.setitem(sys.modules, "broken_plugin", module)
    # Logistic states it itself, so that the name below is nobody's; a class of its own is told.
    assert Registry([replace(ENTRY, kind="loss")]).load("loss", "broken") is module.Broken
    facts = {name: value for name, value in vars(Logistic).items() if name != "convex"}
    module.Broken = type("Broken", (), {**facts, "convx": True})
    with pytest.raises(RegistryError, match="states 'convx'.* Did you mean 'convex'"):
        Registry([replace(ENTRY, kind="loss")]).load("loss", "broken")


def test_presets_that_are_in_order(monkeypatch):
    registry = registry_of(monkeypatch, with_preset(clip=3, accountant_conversion="exact"))
    assert find_failures(registry) == ()


def fails(error):
    def minimize(self, problem, session):
        raise error

    return minimize


@pytest.mark.parametrize("error", [ZeroDivisionError(SECRET), SystemExit(SECRET), KeyError(SECRET)])
def test_a_failure_is_told_by_type_and_place_only(error):
    optimizer = make(minimize=fails(error))()
    with pytest.raises(OptimizerError) as caught:
        run_optimizer(optimizer, ENTRY, None, None)
    line = fails.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        f"broken (broken-dist 1.2) failed: {type(error).__name__} "
        f"in registry/test_loading.py:{line}."
    )
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_over_rows_that_are_no_secret_text_and_cause_are_told():
    def minimize(self, problem, session):
        try:
            {}["step"]
        except KeyError as error:
            raise ValueError(SECRET) from error

    with pytest.raises(OptimizerError, match=SECRET) as caught:
        run_optimizer(make(minimize=minimize)(), ENTRY, None, None, secret_rows=False)
    line = minimize.__code__.co_firstlineno + 4
    told = f"ValueError in registry/test_loading.py:{line}: {SECRET} (from "
    told += f"KeyError in registry/test_loading.py:{line - 2}: 'step')."
    assert told in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_the_projects_own_errors_pass():
    with pytest.raises(BudgetExceededError, match="as it is"):
        run_optimizer(make(minimize=fails(BudgetExceededError("as it is")))(), ENTRY, None, None)


@pytest.mark.parametrize(("returned", "text"), [(None, "a NoneType"), ([SECRET], "a list")])
def test_what_is_no_solution_is_told(returned, text):
    optimizer = make(minimize=lambda self, problem, session: returned)()
    with pytest.raises(OptimizerError, match=text) as caught:
        run_optimizer(optimizer, ENTRY, None, None)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("details", "text"),
    [
        (3, "they are no dict"),
        ({"rows": np.zeros(1_000)}, "they hold more than 1,000 values"),
        ({str(k): k for k in range(500)}, "they hold more than 1,000 values"),
        ({"a": [[[] for _ in range(50)] for _ in range(50)]}, "they hold more than 1,000 values"),
        ({SECRET: SECRET * 1_000}, "a text is longer than 1,000 characters"),
        ({"a": [10**30]}, "a whole number has more than 64 bits"),
        ({"a": {"b": np.array([None])}}, "a ndarray is none of what they may hold"),
        ({"a": Solution}, "a type is none of what they may hold"),
    ],
)
def test_details_that_do_not_fit_cost_no_model(details, text):
    optimizer = make(minimize=lambda self, problem, session: Solution(0, "Done.", details))()
    solution = run_optimizer(optimizer, ENTRY, None, None)
    assert (solution.w, solution.status, [*solution.details]) == (0, "Done.", ["left_out"])
    assert text in solution.details["left_out"] and SECRET not in solution.details["left_out"]


def test_details_that_fit_are_kept():
    knot = []
    knot.append(knot)
    kept = {"steps": 3, "met": None, "text": "x", "array": np.zeros(900), "of": [(1.5, np.nan)]}
    optimizer = make(minimize=lambda self, problem, session: Solution(0, "Done.", kept))()
    assert run_optimizer(optimizer, ENTRY, None, None).details == kept
    assert "more than 1,000" in bounded({"knot": knot})["left_out"]


PLUGIN = """
from dataclasses import dataclass, replace
from dpcore.registry.hookspecs import hookimpl

@hookimpl
def register_optimizers(register):
    register("broken", "dpcore_stub:Broken", summary="Breaks.")

@hookimpl
def register_losses(register):
    register("gone", "no_such_module:Gone", summary="Gone.")

@hookimpl
def register_datasets(register):
    register("theirs", "dpcore_stub:load", summary="Says that it is generated.")

def load():
    from dpcore_tables.datasets.census_sim import load
    return load()

@dataclass(frozen=True)
class Broken:
    slots = {}
    relations = RELATIONS
    needs = ()

    def minimize(self, problem, session):
        return 1 / len("")
"""


SCHEMA = """
[columns.x]
kind = "numeric"
lower = 0
upper = 3
[columns.y]
kind = "label"
classes = ["a", "b"]
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A broken plugin, installed; call it with the relations that its optimizer declares."""

    def install(relations="('replace-one',)"):
        folder = tmp_path / "plugin"
        info = folder / "dpcore_stub-0.3.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dpcore-stub\nVersion: 0.3\n")
        (info / "entry_points.txt").write_text("[dpcore]\nstub = dpcore_stub\n")
        (folder / "dpcore_stub.py").write_text(PLUGIN.replace("RELATIONS", relations))
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.chdir(tmp_path)
        load_registry.cache_clear()
        from typer.testing import CliRunner

        from dpcore.cli import app

        return lambda *arguments: CliRunner().invoke(app, arguments)

    yield install
    load_registry.cache_clear()
    sys.modules.pop("dpcore_stub", None)


def test_the_command_line_tells_a_failure_in_one_line(broken, tmp_path):
    run = broken()
    result = run("train", "--algo", "broken", "--relation", "replace-one", "--out", "m.json")
    assert result.exit_code == 2 and not (tmp_path / "m.json").exists()
    assert result.stderr.startswith(
        "dpcore: broken (dpcore-stub 0.3) failed: ZeroDivisionError in plugin/dpcore_stub.py:"
    )
    assert len(result.stderr.splitlines()) == 1
    # The rows of census-sim are generated; those of a file are not, nor those of another's loader.
    assert "division by zero" in result.stderr
    rows, schema = tmp_path / "rows.csv", tmp_path / "schema.toml"
    rows.write_text("x,y\n1,a\n2,b\n")
    schema.write_text(SCHEMA)
    named = ("--data", str(rows), "--schema", str(schema))
    for data in (named, ("--data", "theirs")):
        told = run("train", "--algo", "broken", "--relation", "replace-one", *data).stderr
        assert "ZeroDivisionError in plugin/dpcore_stub.py:" in told and "division" not in told
    checked = run("check", "broken").stdout
    assert "FAILED  check_outputs_released: ZeroDivisionError in plugin/dpcore_stub.py:" in checked
    assert "division by zero" in checked


@pytest.mark.parametrize("command", [["train", "--algo"], ["info"], ["check"]])
def test_every_command_refuses_an_unknown_relation(broken, command):
    result = broken("('replace',)")(*command, "broken")
    assert result.exit_code == 2
    assert "unknown relation 'replace'. Did you mean replace-" in result.stderr


def test_list_strict_imports_every_target(broken):
    run = broken("3")
    assert run("list").exit_code == 0
    result = run("list", "--strict")
    assert result.exit_code == 1
    assert "broken (dpcore-stub 0.3)" in result.stdout and "no_such_module" in result.stdout
    failed = json.loads(run("list", "--strict", "--json").stdout)["failed"]
    assert {failure["name"] for failure in failed} == {"broken", "gone"}
