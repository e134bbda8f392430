"""Code is ours where its files are those of the manifest: neither by a name nor by a record."""

import hashlib
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
from dpcore.privacy.first_party import DISTRIBUTIONS, code_in_words, is_ours
from dpcore.privacy.manifest import digests, folders, manifest_of, read
from dpcore.privacy.statement import PrivacyStatement, foreign_parts

ROOT = Path(__file__).parents[2]


def forget():
    first_party._VERDICTS.clear()
    first_party._is_known.cache_clear()


@pytest.fixture(autouse=True)
def asked_anew():
    """Nothing that was found out of another installation is remembered."""
    yield
    forget()


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


CORE = metadata.version("dpcore")


def install(folder, monkeypatch, package, version=CORE, **files):
    """Install a package under the name and version of one of ours, as pip leaves it, with its own
    record of files, and files of other text than the usual ones."""
    name = package.replace("_", "-")
    info = folder / f"{package}-{version}.dist-info"
    (folder / package).mkdir(parents=True)
    info.mkdir()
    written = {"__init__": "", "odd": "class Odd:\n    pass\n", "beside": "", **files}
    for module, text in written.items():
        (folder / package / f"{module}.py").write_text(text)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{package}/{each}.py,,\n" for each in written))
    for loaded in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.syspath_prepend(str(folder))
    invalidate_caches()
    monkeypatch.setitem(sys.modules, f"{package}.odd", import_module(f"{package}.odd"))
    monkeypatch.setitem(sys.modules, package, sys.modules[package])
    forget()
    assert Path(sys.modules[f"{package}.odd"].__file__).is_relative_to(folder)


@pytest.fixture
def manifest(tmp_path, monkeypatch):
    """The manifest of a core that was built beside a package of three files."""
    package = tmp_path / "built" / "dpcore_baselines"
    package.mkdir(parents=True)
    for name, text in {"__init__": "", "odd": "class Odd:\n    pass\n", "beside": ""}.items():
        (package / f"{name}.py").write_text(text)
    found = {"dpcore-baselines": {"version": CORE, "files": digests(package)}}
    monkeypatch.setattr(first_party, "_MANIFEST", found)
    monkeypatch.setattr(first_party, "_OWNERS", {"dpcore_baselines": "dpcore-baselines"})
    monkeypatch.setattr(first_party, "_IS_CHECKOUT", False)
    forget()


@pytest.fixture
def core_alone(monkeypatch):
    """The command line where no plugin is installed, not even ours."""
    import_module("dpcore.cli.train")  # with all its options, which other tests use
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
        assert "is in dpcore-baselines: pip install . plugins/* in a checkout" in line


def test_the_core_alone_says_where_a_command_is(core_alone):
    told = core_alone("compare", "--algos", "auto")
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr == (
        "dpcore: There is no command 'compare'. It is in dpcore-lab: pip install . "
        "plugins/* in a checkout of dpcore, or its wheel.\n"
    )
    assert "No such command 'compares'" in core_alone("compares").stderr
    told = core_alone("info", "dp-gd").stderr
    assert "as 'dp-gd'. It is in dpcore-baselines: pip install . plugins/* in" in told


def test_the_name_of_a_package_makes_nothing_ours(tmp_path, monkeypatch):
    # A prefix did: whoever called a package dpcore_evil was looked into as if it were of ours.
    install(tmp_path, monkeypatch, "dpcore_evil")
    assert not is_ours("dpcore_evil.odd")
    assert "dpcore_evil".startswith("dpcore")  # which is what was asked


def test_a_package_of_ours_is_known_by_its_files(tmp_path, monkeypatch, manifest):
    install(tmp_path, monkeypatch, "dpcore_baselines")
    assert is_ours("dpcore_baselines.odd") and is_ours("dpcore_baselines")
    assert code_in_words([]) is None


@pytest.mark.parametrize(
    "files",
    [{"odd": "class Odd:\n    bound = 1\n"}, {"beside": "odd = 1\n"}, {"more": ""}],
    ids=["its own file", "another of its package", "one more"],
)
def test_a_package_under_name_version_and_record_of_ours_is_not_ours(
    tmp_path, monkeypatch, manifest, files
):
    # It was: name, version and record are what a foreign wheel says of itself.
    install(tmp_path, monkeypatch, "dpcore_baselines", **files)
    assert not is_ours("dpcore_baselines.odd")
    told = f"dpcore-baselines {CORE} has other files than this dpcore knows"
    assert code_in_words(["dpcore_baselines.odd:Odd", "acme:Odd"]) == told


def test_a_newer_package_of_ours_is_named_with_both_versions(tmp_path, monkeypatch, manifest):
    install(tmp_path, monkeypatch, "dpcore_baselines", "7.1", odd="class Odd:\n    new = 1\n")
    assert not is_ours("dpcore_baselines.odd")
    statement = PrivacyStatement(
        1.0, 0.0, "replace-one", "pure", "none", "epsilon", 1.0, 1.0, {},
        parts_not_from_dpcore=foreign_parts(["dpcore_baselines.odd:Odd"]),
    )  # fmt: skip
    told = f"dpcore-baselines is of version 7.1, and this dpcore knows {CORE}"
    assert statement.sentence().endswith(f" Code: {told}.")
    named = "are right: dpcore_baselines, dpcore_baselines.odd:Odd."
    assert named in statement.sentence()
    assert statement.to_dict()["code"] == told


def test_a_package_that_parts_of_ours_call_is_named(tmp_path, monkeypatch, manifest):
    # A query of another package called a clamp of this one, which no statement named.
    install(tmp_path, monkeypatch, "dpcore_baselines")
    assert foreign_parts(["acme:Odd"]) == ("acme:Odd",)
    (tmp_path / "dpcore_baselines" / "odd.py").write_text("class Odd:\n    bound = 1\n")
    forget()
    assert foreign_parts(["acme:Odd"]) == ("acme:Odd", "dpcore_baselines")


def test_a_library_that_python_would_import_makes_a_package_another(
    tmp_path, monkeypatch, manifest
):
    install(tmp_path, monkeypatch, "dpcore_baselines")
    (tmp_path / "dpcore_baselines" / "odd.abi3.so").write_bytes(b"")
    assert not is_ours("dpcore_baselines.odd")


def test_a_module_among_the_byte_code_of_a_package_is_not_ours(tmp_path, monkeypatch, manifest):
    # Its file has no digest: Python writes there.
    install(tmp_path, monkeypatch, "dpcore_baselines")
    beside = tmp_path / "dpcore_baselines" / "__pycache__" / "planted.py"
    beside.parent.mkdir(exist_ok=True)
    beside.write_text("class Planted:\n    pass\n")
    name = "dpcore_baselines.__pycache__.planted"
    monkeypatch.setitem(sys.modules, name, import_module(name))
    assert is_ours("dpcore_baselines.odd") and not is_ours(name)


def test_a_core_without_a_manifest_says_that_nobody_verified_it(tmp_path, monkeypatch):
    (tmp_path / "dpcore").mkdir()
    monkeypatch.setattr(first_party, "_IS_CHECKOUT", False)
    monkeypatch.setattr(first_party, "_MANIFEST", read(tmp_path / "dpcore"))
    assert code_in_words([]) == "dpcore has no manifest, so that its files were not verified"


@pytest.mark.skipif(not (ROOT / "plugins").is_dir(), reason="needs a checkout")
def test_a_checkout_has_its_own_packages_and_says_that_nobody_verified_them(tmp_path, monkeypatch):
    monkeypatch.setattr(first_party, "_IS_CHECKOUT", True)
    monkeypatch.setattr(first_party, "_FOLDERS", folders(ROOT))
    told = "dpcore ran from a source checkout, so that its files were not verified"
    assert code_in_words([]) == told
    assert is_ours("dpcore_baselines.auto")
    install(tmp_path, monkeypatch, "dpcore_baselines")
    assert not is_ours("dpcore_baselines.odd")


@pytest.mark.skipif(not (ROOT / "plugins").is_dir(), reason="needs a checkout")
def test_the_manifest_names_each_file_of_each_distribution():
    found = manifest_of(ROOT)
    assert set(found) == set(DISTRIBUTIONS)
    for name in folders(ROOT):
        assert {"__init__.py", "py.typed"} <= found[name]["files"].keys(), name
        assert found[name]["version"] == CORE
    digest = hashlib.sha256((ROOT / "dpcore" / "errors.py").read_bytes()).hexdigest()
    assert found["dpcore"]["files"]["errors.py"] == digest


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
    also, known = [Intervals(0.3), Evaluation(0.2, test_fraction=0.5)], first_party._is_known
    usual = fitted(also=also)
    monkeypatch.setattr(
        first_party, "_is_known", lambda name, file: name != "dpcore-report" and known(name, file)
    )
    first_party._VERDICTS.clear()
    model = fitted(also=also)
    assert model.privacy["parts_not_from_dpcore"] == [
        "dpcore_report",
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


def test_no_cache_counts_how_often_a_part_is_asked_about():
    """A derived answer asks once for each step of an exact solve, whose number is private."""
    held = {name: getattr(each, "cache_info", None) for name, each in vars(first_party).items()}
    assert is_ours("dpcore.losses.logistic")
    before = {name: told() for name, told in held.items() if told is not None}
    assert all(is_ours("dpcore.losses.logistic") for _ in range(9))
    assert {name: held[name]() for name in before} == before
