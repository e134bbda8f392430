"""``list``, ``info`` and ``account``, and what they import."""

import json
import subprocess
import sys

import pytest

from dpcore.plugin.parts import load_registry
from dpcore.registry.catalogue import KINDS, plural

HEAVY = {"numba", "numpy", "scipy", "pyarrow"}


def test_light_commands_import_nothing_heavy():
    # One process for all: what the first one loaded would be seen after each that follows.
    light = [
        *(["list"], ["list", "--json"], ["info"], ["--help"]),
        *([command, "--help"] for command in ("train", "compare", "plot", "plan")),
    ]
    code = (
        "import sys\nfrom dpcore.cli import app\n"
        f"for arguments in {light!r}:\n"
        "    try:\n        app(arguments)\n    except SystemExit:\n        pass\n"
        "    print('loaded:', *arguments, '|', *{name.split('.')[0] for name in sys.modules})\n"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line for line in done.stdout.splitlines() if line.startswith("loaded:")]
    loaded = {line.partition(" |")[0]: {*line.partition("| ")[2].split()} for line in told}
    assert [*loaded] == [" ".join(["loaded:", *arguments]) for arguments in light]
    assert all("typer" in modules for modules in loaded.values())
    assert {
        command: modules & HEAVY for command, modules in loaded.items() if modules & HEAVY
    } == {}


def test_list_shows_every_kind_and_its_source(run):
    shown = run("list").stdout
    for text in [*map(plural, KINDS), "permute-and-flip", "dpcore-stub 0.3; Nobody 2001"]:
        assert text in shown


def test_list_json_of_one_kind(run):
    listed = json.loads(run("list", "optimizers", "--json").stdout)
    assert set(listed) == {"optimizers", "failed"}
    stub = next(entry for entry in listed["optimizers"] if entry["name"] == "stub")
    assert stub == {
        "name": "stub",
        "summary": "Counts the rows with noise.",
        "reference": "Nobody 2001",
        "distribution": "dpcore-stub",
        "version": "0.3",
    }


def test_list_markdown_is_a_table(run):
    lines = run("list", "optimizers", "--markdown").stdout.splitlines()
    assert lines[0].startswith("| optimizer |")
    assert any(line.startswith("| `stub` | Counts the rows with noise. |") for line in lines)


def test_list_refuses_an_unknown_kind(run):
    result = run("list", "optimisers")
    assert result.exit_code == 2
    assert "Did you mean optimizers?" in result.stderr


def test_info_of_an_optimizer(run):
    facts = json.loads(run("info", "stub", "--json").stdout)
    assert facts["parameters"][0] == {
        "name": "counts",
        "type": "a whole number",
        "default": 2,
        "unit": "releases",
        "help": "how often to count",
        "rule": "",
        "range": "",
    }
    assert [p["name"] for p in facts["parameters"]] == ["counts", "noise", "mode", "smooth"]
    count = facts["slots"]["count"]
    assert (count["names"], count["takes"]) == (["gaussian", "laplace"], ["l2", "l1"])
    assert "geometric" in count["others"] and "exponential" not in count["others"]
    assert facts["neighboring_relations"] == ["add-or-remove-one", "replace-one"]
    assert facts["as_published"] is True
    shown = run("info", "stub").stdout
    for text in (
        "chosen from public facts",
        "plain or fancy",
        "Proposition 1.6",
        "guesses",
        "any other mechanism that needs l2 or l1 (",
    ):
        assert text in shown


@pytest.mark.parametrize("name", ["zcdp", "gaussian", "logistic", "adult", "local", "ridge"])
def test_info_of_other_kinds(run, name):
    facts = json.loads(run("info", name, "--json").stdout)
    assert facts["name"] == name
    assert run("info", name).exit_code == 0


def test_info_tells_the_rules_of_defaults(run):
    shown = run("info", "dp-agd").stdout
    for text in ("by default: the more", "45 (u / 39)^0.64", "row_norm times 0.125 (u / 39)^0.36"):
        assert text in shown
    assert "by default: 8 / row_norm" in shown and "; default 0.85\n" in shown


@pytest.mark.parametrize("name", ["nonprivate", "majority", "sgd-users"])
def test_info_of_what_is_not_private_claims_no_privacy(run, name):
    shown = run("info", name).stdout
    assert "  privacy: none: NOT PRIVATE" in shown and "differential privacy" not in shown


def test_info_tells_what_a_preset_sets(run):
    shown = run("info", "stub").stdout
    sets = ("counts=3", "count=laplace", "accountant_conversion=bun-steinke")
    assert "\n    ".join(["  paper", *sets]) in shown
    assert "--as-published" in shown and "--as-published" not in run("info", "psgd").stdout


def without_source(facts):
    """Return what the presets called paper set without a source, or have a source for unset."""
    values, sources = (facts[key].get("paper", {}) for key in ("presets", "preset_sources"))
    return {*values} ^ {name for name, told in sources.items() if told.strip()}


def test_info_tells_the_source_of_each_field_of_a_preset_of_a_paper(run):
    found = {}
    for name in load_registry().names("optimizer"):
        facts = json.loads(run("info", name, "--json").stdout)
        if facts["presets"] and facts["distribution"] != "dpcore-stub":
            found[name] = without_source(facts)
            shown, sources = run("info", name).stdout, facts["preset_sources"]["paper"]
            for key, value in facts["presets"]["paper"].items():
                assert f"\n    {key}={value}: {sources[key]}\n" in shown
    assert len(found) > 20 and {name: names for name, names in found.items() if names} == {}
    # The stub's preset has none.
    assert without_source(json.loads(run("info", "stub", "--json").stdout)) >= {"counts", "count"}


def test_info_offers_no_mechanism_whose_samples_no_accountant_bounds(run):
    # It offered gamma to sgd-ma, and the fit refused it.
    # Third parties' mechanisms may be installed beside it.
    for name, offered in (("sgd-ma", False), ("sgd-adv", False), ("dp-gd", True)):
        held = json.loads(run("info", name, "--json").stdout)["slots"]["noise"]
        assert ("gamma" in held["others"]) == offered
        samples = "any other mechanism that needs l2 and whose Poisson samples an accountant bounds"
        assert (samples in run("info", name).stdout) != offered


def test_info_of_one_without_parameters_tells_its_rule(run):
    shown = run("info", "auto").stdout
    assert "With delta > 0" in shown and "parameters (--set" not in shown


def test_info_of_a_data_set_shows_its_schema(run):
    shown = run("info", "adult").stdout
    assert "age: numeric in [17, 90]" in shown and "workclass: categorical, 9 categories" in shown
    assert "rows: 48842" in shown and "fnlwgt: numeric in [12285, 1484705]" in shown
    assert json.loads(run("info", "adult", "--json").stdout)["schema"]["rows"] == 48842
    # A loader that has no schema beside it.
    assert run("info", "stub-rows").exit_code == 0


def test_the_version(run):
    from dpcore import __version__

    assert run("--version").stdout == f"dpcore {__version__}\n"


def test_info_without_a_name_lists_the_names(run):
    told = run("info")
    assert told.exit_code == 0 and "dpcore info NAME" in told.stdout
    listed = json.loads(run("info", "--json").stdout)
    assert list(listed) == [*map(plural, KINDS)] and "stub" in listed["optimizers"]
    # No name is lost or broken where a line ends.
    words = set(told.stdout.replace(",", " ").split())
    assert words >= {name for names in listed.values() for name in names}
    assert max(map(len, told.stdout.splitlines())) <= 78


def test_info_of_an_unknown_name(run):
    result = run("info", "gausian")
    assert result.exit_code == 2
    assert "Did you mean gaussian?" in result.stderr


def test_account_prints_each_accountant(run):
    shown = run("account", "--epsilon", "0.4", "--delta", "1e-8")
    assert shown.stdout.count("order") == 1
    assert "rho" in shown.stdout and "mu" in shown.stdout and "noise multiplier" in shown.stdout
    rows = json.loads(run("account", "--epsilon", "0.4", "--json").stdout)["accountants"]
    of_others = {"acme-basic"}  # where a third party's wheel is installed too
    assert {row["accountant"] for row in rows} - of_others == {
        "zcdp",
        "gdp",
        "rdp",
        "pure",
        "basic",
    }


def test_account_refuses_a_bad_budget(run):
    result = run("account", "--epsilon", "nan")
    assert result.exit_code == 2 and result.stderr.startswith("dpcore: ")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (["--relation", "add-one"], "There is no relation 'add-one'"),
        (["--probability", "0.1"], "give --rounds"),
    ],
)
def test_account_ignores_nothing_that_is_asked(run, asked, text):
    result = run("account", *asked)
    assert result.exit_code == 2 and text in result.stderr


@pytest.mark.slow
def test_account_of_a_schedule_over_samples(run):
    asked = ["account", "--epsilon", "1", "--rounds", "50", "--probability", "0.1"]
    done = run(*asked, "--relation", "replace-one", "--json")
    rows = json.loads(done.stdout)["accountants"]
    others = {"sampling-composition", "advanced-composition"}
    assert {row["accountant"] for row in rows} == {"pld", *others}
    table = run(*asked).stdout
    assert "rdp" in table and "50 Gaussian releases" in table
