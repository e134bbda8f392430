"""Code is ours by the distribution that owns its file: neither by a name nor by a place."""

import json
import re
import sys
import tomllib
from functools import partial
from importlib import import_module, invalidate_caches, metadata
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import Evaluation, Intervals, fit
from dpcore.cli import app
from dpcore.plugin.parts import load_registry
from dpcore.privacy import first_party
from dpcore.privacy.first_party import DISTRIBUTIONS, is_ours

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def asked_anew():
    """Nothing that was found out of another installation is remembered."""
    yield
    for remembered in (first_party._owns, first_party._files):
        remembered.cache_clear()


@pytest.mark.skipif(not (ROOT / "plugins").is_dir(), reason="needs a checkout")
def test_every_distribution_of_this_repository_is_named():
    folders = [ROOT, *sorted(ROOT.glob("plugins/*/"))]
    projects = [tomllib.loads((f / "pyproject.toml").read_text())["project"] for f in folders]
    assert {project["name"] for project in projects} == set(DISTRIBUTIONS)
    assert len({project["version"] for project in projects}) == 1
    for folder, project in zip(folders, projects, strict=True):
        assert (folder / DISTRIBUTIONS[project["name"]] / "__init__.py").is_file()
    assert {"dpcore", *projects[0]["optional-dependencies"]["all"]} == set(DISTRIBUTIONS)


def needs_of(distribution):
    """Return a distribution of ours with those of ours that it brings."""
    found = {distribution}
    for line in metadata.requires(distribution) or ():
        name = re.split(r"[^\w-]", line)[0]
        if name in DISTRIBUTIONS and name not in found and "extra ==" not in line:
            found |= needs_of(name)
    return found


def test_an_algorithm_brings_the_accountant_that_it_runs_under():
    # Elsewhere a run by default would end in the name of an accountant that is not there.
    registry = load_registry()
    for entry in registry.entries("optimizer"):
        accountant = getattr(registry.load("optimizer", entry.name), "accountant", None)
        if entry.distribution in DISTRIBUTIONS and isinstance(accountant, str):
            owner = registry.get("accountant", accountant).distribution
            assert owner in needs_of(entry.distribution) | {"dpcore"}, entry.name


@pytest.mark.parametrize("package", DISTRIBUTIONS.values())
def test_each_package_of_ours_is_ours(package):
    import_module(package)
    assert is_ours(package)


def install(folder, monkeypatch, name, package, version, record=None, direct_url=None):
    """Install a distribution of one module, as pip leaves it; ``record`` : in place of its own."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    (folder / package).mkdir(parents=True)
    info.mkdir()
    (folder / package / "__init__.py").write_text("")
    (folder / package / "odd.py").write_text("class Odd:\n    pass\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(record or f"{package}/__init__.py,,\n{package}/odd.py,,\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))
    for loaded in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.syspath_prepend(str(folder))
    invalidate_caches()
    monkeypatch.setitem(sys.modules, f"{package}.odd", import_module(f"{package}.odd"))
    monkeypatch.setitem(sys.modules, package, sys.modules[package])
    first_party._owns.cache_clear()
    first_party._files.cache_clear()
    assert Path(sys.modules[f"{package}.odd"].__file__).is_relative_to(folder)


CORE = metadata.version("dpcore")


@pytest.fixture
def core_alone(monkeypatch):
    """The command line where no plugin is installed, not even ours."""
    points = [p for p in metadata.entry_points(group="dpcore") if p.dist.name == "dpcore"]
    alone = metadata.EntryPoints(points)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda: alone)
    load_registry.cache_clear()
    yield lambda *arguments: CliRunner().invoke(app, arguments)
    load_registry.cache_clear()


def test_the_core_alone_lists_its_parts_and_says_where_an_algorithm_is(core_alone):
    listed = json.loads(core_alone("list", "--json").stdout)
    assert listed["failed"] == [] and "optimizers" in listed and not listed["optimizers"]
    for arguments in (["train"], ["train", "--algo", "auto"]):
        told = core_alone(*arguments)
        assert told.exit_code == 2 and told.stdout == ""
        (line,) = told.stderr.splitlines()
        assert "is in dpcore-baselines: pip install dpcore-baselines" in line


def test_the_core_alone_says_where_a_command_is(core_alone):
    told = core_alone("compare", "--algos", "auto")
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr == (
        "dpcore: There is no command 'compare'. It is in dpcore-lab: pip install dpcore-lab.\n"
    )
    assert "No such command 'compares'" in core_alone("compares").stderr
    told = core_alone("info", "dp-gd").stderr
    assert told.endswith("as 'dp-gd'. It is in dpcore-baselines: pip install dpcore-baselines.\n")


def test_the_name_of_a_package_makes_nothing_ours(tmp_path, monkeypatch):
    # A prefix did: whoever called a package dpcore_evil was looked into as if it were of ours.
    install(tmp_path, monkeypatch, "dpcore-evil", "dpcore_evil", CORE)
    assert not is_ours("dpcore_evil.odd")
    assert "dpcore_evil".startswith("dpcore")  # which is what was asked


def test_a_distribution_of_ours_is_known_by_its_record(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "dpcore-baselines", "dpcore_baselines", CORE)
    assert is_ours("dpcore_baselines.odd")


@pytest.mark.parametrize(
    "altered",
    [
        {"version": f"{CORE}.post1"},  # Not the core's.
        {"record": "dpcore_baselines/__init__.py,,\n"},  # Somebody else put the file there.
        {"direct_url": {"url": "file:///elsewhere", "dir_info": {"editable": True}}},
        {"name": "dpcore-baseline"},
    ],
    ids=["version", "record", "editable-elsewhere", "name"],
)
def test_a_package_under_the_name_of_ours_is_not_ours(tmp_path, monkeypatch, altered):
    told = {"name": "dpcore-baselines", "version": CORE, **altered}
    install(tmp_path, monkeypatch, package="dpcore_baselines", **told)
    assert not is_ours("dpcore_baselines.odd")


def test_an_editable_installation_owns_its_package_alone(tmp_path, monkeypatch):
    url = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    install(tmp_path, monkeypatch, "dpcore-baselines", "dpcore_baselines", CORE, "x.pth,,\n", url)
    assert not is_ours("dpcore_baselines.odd")  # It is outside this workspace.
    monkeypatch.setattr(first_party, "_editable_root", lambda installed: tmp_path)
    first_party._owns.cache_clear()
    assert is_ours("dpcore_baselines.odd") and not is_ours("dpcore.errors")


def test_a_module_without_a_file_is_nobodys(monkeypatch):
    monkeypatch.setitem(sys.modules, "dpcore.planted", type(sys)("dpcore.planted"))
    assert not is_ours("dpcore.planted") and not is_ours("dpcore.never_imported")
    assert is_ours("dpcore.errors") and not is_ours("numpy") and not is_ours("builtins")


def test_a_module_with_the_spec_of_another_is_not_ours(monkeypatch):
    forged = ModuleType("dpcore_a_ddp.forged")
    forged.__spec__ = import_module("dpcore_a_ddp.kernels").__spec__
    monkeypatch.setitem(sys.modules, "dpcore_a_ddp.forged", forged)
    assert is_ours("dpcore_a_ddp.kernels") and not is_ours("dpcore_a_ddp.forged")


@pytest.mark.slow
def test_steps_of_another_version_are_named_and_make_what_they_make(monkeypatch):
    draw = np.random.default_rng(5).uniform(0, 1, (400, 1))
    asked = {"classes": (0, 1), "bounds": (0, 1), "epsilon": 8.0, "seed": 1}
    fitted = partial(fit, draw, np.where(draw[:, 0] > 0.4, 1, 0), **asked)
    also, owns = [Intervals(0.3), Evaluation(0.2, test_fraction=0.5)], first_party._owns
    usual = fitted(also=also)
    monkeypatch.setattr(
        first_party, "_owns", lambda name, origin: name != "dpcore-report" and owns(name, origin)
    )
    model = fitted(also=also)
    assert model.privacy["parts_not_from_dpcore"] == [
        "dpcore_report.evaluation.held_out_counts:HeldOutCounts",
        "dpcore_report.evaluation.score_counts:ScoreCounts",
        "dpcore_report.evaluation.step:Evaluation",
        "dpcore_report.intervals.inference:Inference",
        "dpcore_report.intervals.row_products:RowProducts",
        "dpcore_report.intervals.step:Intervals",
    ]
    assert usual.privacy["parts_not_from_dpcore"] == [] and "steps" not in model.privacy
    assert (model.w == usual.w).all() and model.ledger == usual.ledger
    assert (model.evaluation, model.intervals) == (usual.evaluation, usual.intervals)
    assert model.sections == {} and model.intervals is not None
