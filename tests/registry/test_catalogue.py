"""The registry: four bad plugins are told apart from the good, which go on working."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dpcore.errors import RegistryError, near_names
from dpcore.plugin.parts import Registration, Registry
from dpcore.registry.catalogue import KINDS, core_registry, load_registry
from dpcore.registry.installed import group_of
from dpcore.registry.kinds import hook_of

BAD = Path(__file__).parents[1] / "bad_plugins"


def entry(
    name, kind="mechanism", distribution="dpcore", target="dpcore.mechanisms.laplace:Laplace"
):
    return Registration(kind, name, target, "A summary.", "", distribution, "1.0")


@pytest.fixture
def registry(monkeypatch):
    """The built-in parts together with the four bad plugins."""
    folders = [str(folder) for folder in BAD.iterdir()]
    for folder in folders:
        monkeypatch.syspath_prepend(folder)
    bad = [p for d in metadata.distributions(path=folders) for p in d.entry_points]
    ours = "dpcore.registry.builtins"
    good = [p for p in metadata.entry_points(group="dpcore") if p.value == ours]
    return Registry.of([*bad, *good])


def test_each_bad_plugin_is_listed_with_its_distribution_and_reason(registry):
    reasons = {f.name: (f.distribution, f.reason) for f in registry.failures}
    assert reasons["import-error"][0] == "bad-import-error"
    assert "a_module_that_nobody_has" in reasons["import-error"][1]
    told = reasons["misspelt-hook"][1]
    assert "no hook 'register_optimisers'. Did you mean register_optimizers" in told
    assert all(hook_of(kind) in told.split("Known: ")[1] for kind in KINDS)
    assert reasons["raising-hook"] == ("bad-raising-hook", "RuntimeError: the hook")
    assert "bad-taken-name" in reasons["gaussian"][0] and "dpcore" in reasons["gaussian"][0]
    assert len(reasons) == 4
    assert all("\n" not in reason for _, reason in reasons.values())


def test_a_source_is_each_distribution_with_its_version(registry):
    sources = {failure.name: failure.owners for failure in registry.failures}
    assert sources["import-error"] == "bad-import-error 1.0"
    first, second = sources["gaussian"].split(" and ")
    assert first.startswith("dpcore ") and second == "bad-taken-name 1.0"


def read_source(tmp_path, monkeypatch, body):
    (tmp_path / "a_bad_plugin.py").write_text(
        f"from dpcore.registry.hookspecs import hookimpl\n\n{body}"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "a_bad_plugin", raising=False)
    registry = Registry.of([metadata.EntryPoint("bad", "a_bad_plugin", "dpcore")])
    monkeypatch.delitem(sys.modules, "a_bad_plugin", raising=False)
    return registry.failures[0].reason


def test_a_wrong_argument_of_a_hook_is_told_in_full(tmp_path, monkeypatch):
    body = "@hookimpl\ndef register_losses(registry):\n    pass\n"
    reason = read_source(tmp_path, monkeypatch, body)
    assert "register_losses(registry)" in reason and "can not be found" in reason
    assert "\n" not in reason


def test_a_missing_summary_is_told(tmp_path, monkeypatch):
    body = "@hookimpl\ndef register_losses(register):\n    register('ok', 'a.b:C')\n"
    reason = read_source(tmp_path, monkeypatch, body)
    assert "register('ok', ...) needs summary=..." in reason


def test_a_keyword_that_there_is_not_is_told_with_those_there_are(tmp_path, monkeypatch):
    # "_record() got an unexpected keyword argument" names nothing that an author knows.
    body = "@hookimpl\ndef register_losses(register):\n    register('ok', 'a.b:C', {}='A paper.')\n"
    reason = read_source(tmp_path, monkeypatch, body.format("paper"))
    assert reason == (
        "InvalidInputError: register('ok', ...) takes no 'paper'. Known: summary, reference."
    )
    reason = read_source(tmp_path, monkeypatch, body.format("sumary"))
    assert "takes no 'sumary'. Did you mean summary? Known: summary, reference." in reason
    reason = read_source(tmp_path, monkeypatch, body.replace(", 'a.b:C', {}='A paper.'", ""))
    assert reason == "TypeError: register() missing 1 required positional argument: 'target'"


def test_everything_else_works(registry):
    assert "laplace" in registry.names("mechanism")
    assert "zcdp" in registry.names("accountant")
    assert "its-own" in registry.names("mechanism")


def test_a_plugin_that_raises_registers_nothing(registry):
    assert "half-done" not in registry.names("optimizer")


def test_using_a_taken_name_names_both_distributions(registry):
    assert "gaussian" not in registry.names("mechanism")
    for use in (registry.load, registry.get):
        with pytest.raises(
            RegistryError, match=r"both dpcore .* and bad-taken-name 1.0; uninstall"
        ):
            use("mechanism", "gaussian")
    with pytest.raises(RegistryError, match="both"):
        registry.find("gaussian")


def test_using_a_failed_plugin_says_why(registry):
    for use in (registry.find, lambda name: registry.load("optimizer", name)):
        with pytest.raises(RegistryError, match=r"bad-import-error 1.0 failed to load: Module"):
            use("import-error")


def test_an_unknown_name_is_told_beside_the_plugins_that_may_have_meant_to_register_it(registry):
    # "Nothing is registered" was all that ``dpcore check`` said of a part whose plugin failed.
    for use in (registry.find, lambda name: registry.get("optimizer", name)):
        with pytest.raises(RegistryError) as refusal:
            use("half-done")
        told = str(refusal.value)
        assert "half-done'. bad-import-error 1.0 failed to load: ModuleNotFoundError: No" in told
        assert "bad-raising-hook 1.0 failed to load: RuntimeError: the hook." in told
        assert " Known: " in told and "uninstall" not in told


def test_a_name_of_a_package_that_is_there_and_failed_is_told_with_the_reason(registry):
    with pytest.raises(RegistryError) as refusal:
        registry.get("optimizer", "dp-agd")
    told = str(refusal.value)
    assert "failed to load: ModuleNotFoundError: No" in told and "is in dpcore-dp-agd: " in told


def test_unknown_name_gets_near_names_and_the_list():
    registry = Registry([entry("laplace"), entry("gaussian")])
    with pytest.raises(RegistryError, match=r"'gausian'. Did you mean gaussian\? Known: gaussian,"):
        registry.get("mechanism", "gausian")
    with pytest.raises(RegistryError, match="Known: none"):
        registry.get("optimizer", "gausian")


def test_a_target_is_imported_on_use_and_its_failure_is_one_error():
    registry = Registry([entry("good"), entry("gone", target="no_such_module:Thing")])
    assert registry.load("mechanism", "good").__name__ == "Laplace"
    with pytest.raises(RegistryError, match="cannot be loaded from no_such_module:Thing"):
        registry.load("mechanism", "gone")


@pytest.mark.parametrize(
    ("name", "target", "summary"),
    [
        ("Not Kebab", "a.b:C", "ok"),
        ("ok", "a.b.C", "ok"),
        ("ok", "a.b:C", ""),
        ("ok", "a:C", "a\nb"),
    ],
)
def test_a_malformed_registration_fails_its_plugin(tmp_path, monkeypatch, name, target, summary):
    (tmp_path / "malformed_plugin.py").write_text(
        "from dpcore.registry.hookspecs import hookimpl\n\n"
        "@hookimpl\ndef register_losses(register):\n"
        f"    register({name!r}, {target!r}, summary={summary!r})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "malformed_plugin", raising=False)
    point = metadata.EntryPoint("malformed", "malformed_plugin", "dpcore")
    registry = Registry.of([point])
    monkeypatch.delitem(sys.modules, "malformed_plugin", raising=False)
    assert [f.name for f in registry.failures] == ["malformed"]
    assert registry.names("loss") == ()


def test_a_target_that_says_otherwise_each_time_is_the_text_that_it_is(tmp_path, monkeypatch):
    (tmp_path / "two_plugin.py").write_text(
        "from dpcore.registry.hookspecs import hookimpl\n\n"
        "class Two(str):\n"
        "    def partition(self, sign):\n"
        "        return 'two_plugin', ':', 'Two'\n\n"
        "@hookimpl\ndef register_datasets(register):\n"
        "    register('two', Two('dpcore_tables.datasets.a9a:load'), summary='ok')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry.of([metadata.EntryPoint("two_plugin", "two_plugin", "dpcore")])
    (entry,) = registry.entries("dataset")
    said = sys.modules["two_plugin"].Two(entry.target)
    assert said.partition(":")[0] == "two_plugin" != entry.target.partition(":")[0]
    assert type(entry.target) is str and registry.load("dataset", "two").__name__ == "load"
    monkeypatch.delitem(sys.modules, "two_plugin")


def test_every_kind_has_its_hook():
    from dpcore.registry import hookspecs

    hooks = {name for name in vars(hookspecs) if name.startswith("register_")}
    assert hooks == set(map(hook_of, KINDS))


@pytest.mark.slow
def test_the_bad_plugins_installed_for_real():
    paths = [str(folder) for folder in sorted(BAD.iterdir())]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-W", "error", "-m", "dpcore", "list", "--json", "--strict"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == ""
    listed = json.loads(done.stdout)
    failed = {f["name"] for f in listed["failed"]}
    assert {"import-error", "misspelt-hook", "raising-hook", "gaussian"} <= failed
    adaptive = {"zcdp", "gdp", "rdp", "single", "pure", "basic"}
    scheduled = {"pld", "sampling-composition", "advanced-composition", "best"}
    scheduled |= {"skellam-composition", "skellam-advanced"}
    of_others = {"acme-basic"}  # where a third party's wheel is installed too
    found = {e["name"] for e in listed["accountants"]} - of_others
    assert found == adaptive | scheduled | {"none"}


PLUGIN = """from dpcore.registry.hookspecs import hookimpl


@hookimpl
def register_losses(register):
    register("logistic", "a.b:C", summary="S.")
    register("of-it", "a.b:C", summary="S.")
"""


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A plugin that takes a name of the core's, is installed with these groups of entry points, and
    then tells whether it was imported."""

    def install(*groups):
        info = tmp_path / "recorded-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recorded\nVersion: 1.0\n")
        points = "".join(f"[{group}]\nrecorded = recorded_plugin\n" for group in groups)
        (info / "entry_points.txt").write_text(points)
        (tmp_path / "recorded_plugin.py").write_text(PLUGIN)
        monkeypatch.syspath_prepend(str(tmp_path))
        load_registry.cache_clear()
        return lambda: "recorded_plugin" in sys.modules

    yield install
    sys.modules.pop("recorded_plugin", None)
    load_registry.cache_clear()


def test_what_the_core_has_is_found_without_a_plugin(recorded):
    is_imported = recorded("dpcore")
    assert Registry.has("loss", "logistic") and Registry.has("accountant", "zcdp")
    assert not Registry.has("dataset", "rows.csv") and not Registry.has("dataset", "/a/b")
    assert core_registry().load("accountant", "zcdp").name == "zcdp"
    assert core_registry().names("optimizer") == () and core_registry().failures == ()
    assert not is_imported()
    assert Registry.has("loss", "of-it") and not Registry.has("loss", "of-nobody")
    assert is_imported()
    with pytest.raises(RegistryError, match="registered by both dpcore .* and recorded 1.0"):
        load_registry().get("loss", "logistic")


def test_a_plugin_that_names_its_kinds_is_imported_for_these_alone(recorded):
    is_imported = recorded("dpcore", "dpcore.losses", "dpcore.mechanisms")
    assert "zcdp" in load_registry("accountant").names("accountant")
    assert not is_imported() and not Registry.has("dataset", "no-such-rows")
    assert not is_imported() and Registry.has("loss", "of-it")
    assert is_imported() and "of-it" in load_registry().names("loss")


def test_plugins_register_no_kind_that_they_do_not_name():
    named = {}
    for kind in KINDS:
        for point in metadata.entry_points(group=group_of(kind)):
            named.setdefault((point.name, point.value), set()).add(kind)
    assert len(named) >= 5
    # What setuptools and pip take for the name of a group.
    assert all(re.fullmatch(r"\w+(\.\w+)*", group_of(kind)) for kind in KINDS)
    for (name, value), stated in named.items():
        registry = Registry.of([metadata.EntryPoint(name, value, "dpcore")])
        assert {kind for kind in KINDS if registry.names(kind)} == stated, name


def test_a_message_has_a_long_list_of_names_in_part_alone():
    many = [f"name-{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    near = near_names("name-aa", many, "dpcore list")
    assert near.startswith(" Did you mean name-a") and near.endswith("? dpcore list shows all.")
    assert "Known" not in near
    assert near_names("xyz", many).endswith("name-t and 6 more.")
    assert near_names("name-aa", many[:2]).endswith(" Known: name-a, name-b.")
    assert near_names("x", ()) == " Known: none."
