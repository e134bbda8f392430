"""Commands of plugins: data that the command line builds its parser from."""

import json
import sys

import pytest

from dpcore.plugin.parts import load_registry

PLUGIN = """
from dpcore.plugin import hookimpl


@hookimpl
def register_commands(register):
    register("{name}", "{module}_target:run", summary="Say {module}.", group="Others")
"""
TARGET = '''
from pathlib import Path
from typing import Annotated, Literal
from dpcore.plugin.commands import Argument, CommandGroup, Option, print_json


def _about():
    print_json("about")


def say(
    file: Annotated[Path, Argument(help="A file.", metavar="FILE")],
    many: Annotated[list[str] | None, Option("--many -m", help="Words.")] = None,
    share: Annotated[float, Option(min=0, max=1, group="Shares")] = 0.5,
    form: Annotated[Literal["a", "b"], Option(envvar="ACME_FORM")] = "a",
    loud: Annotated[bool, Option("--loud")] = False,
    about: Annotated[bool, Option("--about", instead=_about)] = False,
) -> None:
    """Say it."""
    print_json([str(file), many, share, form, loud])
    if loud:
        raise SystemExit(4)


run = CommandGroup("Say things.", (("say", say),))
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a distribution with one command."""
    made = []

    def installed(module, name):
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[dpcore]\n{module} = {module}\n")
        (tmp_path / f"{module}.py").write_text(PLUGIN.format(module=module, name=name))
        (tmp_path / f"{module}_target.py").write_text(TARGET)
        made.extend((module, f"{module}_target"))
        load_registry.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield installed
    load_registry.cache_clear()
    for module in made:
        sys.modules.pop(module, None)


def test_parameters_are_what_their_options_say(run, install, monkeypatch):
    install("acme_one", "acme-one")
    said = ("acme-one", "say", "x.csv")
    assert json.loads(run(*said).stdout) == ["x.csv", None, 0.5, "a", False]
    done = run(*said, "-m", "p", "--many", "q", "--share", 1, "--loud")
    assert json.loads(done.stdout) == ["x.csv", ["p", "q"], 1.0, "a", True]
    assert done.exit_code == 4
    monkeypatch.setenv("ACME_FORM", "b")
    assert json.loads(run(*said).stdout)[3] == "b"
    assert json.loads(run("acme-one", "say", "--about").stdout) == "about"
    for wrong in (("--share", 2), ("--form", "c"), ("--nothing",)):
        done = run(*said, *wrong)
        assert done.exit_code == 2 and done.stderr.startswith("dpcore: ") and not done.stdout
    help_text = run("acme-one", "say", "--help").stdout
    assert help_text.index("Arguments:") < help_text.index("Options:") < help_text.index("Shares:")
    assert "A command of acme_one 1.0." in run("acme-one", "--help").stdout


def test_its_file_is_not_imported_for_a_list(run, install):
    install("acme_one", "acme-one")
    assert "Others (acme_one 1.0):\n  acme-one  Say acme_one." in run("--help").stdout
    assert "acme-one" in run("list", "commands").stdout
    assert "acme_one" in sys.modules and "acme_one_target" not in sys.modules


def test_a_name_of_two_is_an_error_that_names_both(run, install):
    install("acme_one", "acme-say")
    install("acme_two", "acme-say")
    done = run("acme-say", "say", "x")
    both = "'acme-say' is registered by both acme_one 1.0 and acme_two 1.0"
    assert done.exit_code == 2 and both in done.stderr
    assert "acme_one 1.0 and acme_two 1.0" in " ".join(run("--help").stdout.split())


def test_a_plugin_takes_over_no_command_of_ours(run, install):
    install("acme_one", "list")
    assert "Gaussian" in run("list").stdout and "acme_one_target" not in sys.modules
    told = " ".join(run("--help").stdout.split())
    assert "list List the algorithms and parts" in told
    assert "Failed plugins: list" in told and "acme_one 1.0 and dpcore" in told


def test_a_trace_says_which_plugin_registered_what(run, install, monkeypatch, capfd):
    install("acme_one", "acme-one")
    run("--help")
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("DPCORE_TRACE_PLUGINS", "1")
    load_registry.cache_clear()
    load_registry("command")
    told = capfd.readouterr().err
    hook = "register_commands: acme-one = acme_one_target:run"
    assert f"dpcore: acme_one (acme_one 1.0) {hook}\n" in told


@pytest.mark.parametrize(
    "words",
    [
        "acme-one say x.csv --share 0 --share 1",
        "acme-one say x.csv --form=a --form a",
        "predict m.json --data x.csv --keep a --keep b",
        "train --epsilon 1 --epsilon 2",
        "compare --algos outpert --algos newton-dp",
    ],
)
def test_a_second_value_of_an_option_of_one_is_refused(run, install, words):
    # click takes the last without a word: a user of --keep a --keep b got b alone.
    install("acme_one", "acme-one")
    done = run(*words.split())
    told = f"dpcore: Invalid value for '{words.split()[-2]}'"
    assert done.exit_code == 2 and done.stderr.startswith(told) and not done.stdout
    assert "it is given twice, and has one value" in done.stderr
    is_text = words.split()[-2] in ("--keep", "--algos")  # A number, or one of a few, is no list.
    assert ("a list by commas" in done.stderr) == is_text


def test_flags_and_options_of_many_values_are_given_as_often_as_wanted(run, install):
    install("acme_one", "acme-one")
    done = run("acme-one", "say", "x.csv", "-m", "p", "-m", "p", "--loud", "--loud")
    assert json.loads(done.stdout) == ["x.csv", ["p", "p"], 0.5, "a", True]
