"""Options of steps: declared once as data beside a name, and those of the step's dataclass."""

import dataclasses
import inspect
import subprocess
import sys
from collections import defaultdict
from typing import Annotated, Any

import pytest
from click import NoSuchOption

from dpcore import BalancedWeights, Evaluation, Intervals, PrivateBounds
from dpcore.cli import errors, step_options
from dpcore.cli.fit_options import with_fit_options
from dpcore.cli.step_options import steps_asked
from dpcore.cli.train import train_command
from dpcore.errors import InvalidInputError, RegistryError
from dpcore.plugin.commands import Option
from dpcore.plugin.parts import PrivacyStatement, load_registry
from dpcore.plugin.steps import StepOption

STEPS = load_registry("step")
OWN = [
    entry for entry in STEPS.entries("step") if entry.distribution in PrivacyStatement.DISTRIBUTIONS
]
USUAL = {option.parameter: option.default for entry in OWN for option in entry.data["options"]}


@pytest.mark.parametrize("entry", OWN, ids=lambda entry: entry.name)
def test_options_are_those_of_the_dataclass(entry):
    step = STEPS.load("step", entry.name)
    usual = {field.name: field.default for field in dataclasses.fields(step)}
    for option in entry.data["options"]:
        if option.field:
            assert usual[option.field] in (option.default, dataclasses.MISSING)


def test_a_declaration_of_another_default_is_found():
    # The broken twin of the test above.
    option = StepOption("largest-weight", "float", 9.0, field="largest")
    usual = {field.name: field.default for field in dataclasses.fields(BalancedWeights)}
    assert usual[option.field] not in (option.default, dataclasses.MISSING)


def test_train_has_every_option_of_a_step():
    asked = {name: p.default for name, p in inspect.signature(train_command).parameters.items()}
    assert {name: asked[name] for name in USUAL} == USUAL


def test_a_command_that_fits_has_the_options_of_a_fit_beside_its_own():
    asked = []

    def command(
        fit: Annotated[Any, "the options of a fit"],
        level: Annotated[float, Option(group="Data")] = 0.5,
        tries: Annotated[int, Option()] = 3,
    ) -> None:
        """Fit."""
        asked.append((fit.given["seed"], fit.given["of_steps"]["test_fraction"], level, tries))

    made = with_fit_options(command)
    usual = {name: p.default for name, p in inspect.signature(made).parameters.items()}
    names = [*usual]
    assert not {"fit", "of_steps"} & {*names} and names[0] == "tries"
    # Under a heading that it states, an option follows those of the fit.
    assert names.index("level") > names.index("rows_per_unit")
    made(**usual | {"seed": 7, "test_fraction": 0.25, "level": 0.1, "quiet": True})
    assert asked == [(7, 0.25, 0.1, 3)]


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({}, ()),
        ({"test_fraction": 0.2}, ()),
        ({"class_weight": ["a=2"]}, ()),
        ({"class_weight": ["balanced"]}, (BalancedWeights(),)),
        ({"class_weight": ["balanced"], "largest_weight": 3.0}, (BalancedWeights(3.0),)),
        ({"private_bounds": True}, (PrivateBounds(),)),
        ({"evaluate_share": 0.1, "test_fraction": 0.2}, (Evaluation(0.1, None, 0.2),)),
        ({"evaluate_epsilon": 0.1}, (Evaluation(None, 0.1),)),
        ({"intervals_share": 0.1}, (Intervals(0.1),)),
    ],
)
def test_an_option_asks_for_its_step(given, steps):
    assert steps_asked({**USUAL, **given}) == steps


def test_a_cap_of_no_weights_is_refused():
    with pytest.raises(InvalidInputError, match="largest_weight=3.0 beside class_weight='balanced"):
        steps_asked({**USUAL, "largest_weight": 3.0})


def registry_with(monkeypatch, *options):
    """Have a step of somebody else's distribution, with these options, beside the core's own."""
    first = dataclasses.replace(OWN[0], name="twin", distribution="dpcore-twin")
    twin = dataclasses.replace(first, data={"options": options})
    both = type(STEPS)([*STEPS.entries("step"), twin])
    monkeypatch.setattr(step_options, "load_registry", lambda kind=None: both)


def test_a_step_of_somebody_else_has_its_option_and_its_distribution_is_told(monkeypatch):
    registry_with(monkeypatch, StepOption("twin-share", "float", help="Twins.", field="share"))
    run = step_options.with_step_options(lambda *, of_steps: None)
    parameter = inspect.signature(run).parameters["twin_share"]
    (told,) = parameter.annotation.__metadata__
    assert parameter.default is None and told.help.startswith("Twins. (dpcore-twin ")


def test_an_option_of_two_distributions_names_both(monkeypatch):
    registry_with(monkeypatch, StepOption("intervals-share", "float"))
    said = "--intervals-share of a step is claimed by dpcore-report and by dpcore-twin; uninstall"
    with pytest.raises(RegistryError, match=said):
        step_options.with_step_options(lambda *, of_steps: None)
    with pytest.raises(RegistryError, match="claimed by dpcore itself and by dpcore"):
        step_options.with_step_options(lambda intervals_share=None, *, of_steps: None)


def registry_of_algorithms(monkeypatch, *options):
    """Have one more algorithm, of somebody else's distribution, with these options."""
    known = load_registry("optimizer")
    first = known.get("optimizer", "output-nr")
    twin = dataclasses.replace(first, name="twin", distribution="dpcore-twin")
    twin = dataclasses.replace(twin, data={**first.data, "options": options})
    both = {"optimizer": type(known)([*known.entries("optimizer"), twin]), "step": STEPS}
    both["reader"] = type(known)([])
    monkeypatch.setattr(step_options, "load_registry", both.get)


def test_a_target_of_an_algorithm_is_an_option_beside_those_of_its_group(monkeypatch):
    shared = StepOption("slack", "float", help="How far.", shared=True)
    registry_of_algorithms(monkeypatch, shared, StepOption("target-auc", "float", help="Area."))
    run = step_options.with_step_options(lambda *, of_steps: asked.update(of_steps), ("optimizer",))
    names = [*inspect.signature(run).parameters]
    assert names.count("slack") == 1 and names.index("slack") < names.index("target_auc")
    asked = {}
    run(**{name: None for name in names} | {"target_auc": 0.9, "release_last": False})
    assert step_options.targets_asked(asked)["target_auc"] == 0.9
    assert {v for k, v in step_options.targets_asked(asked).items() if k != "target_auc"} == {None}


def test_what_an_algorithm_states_as_a_default_is_nothing_to_the_others(monkeypatch):
    registry_of_algorithms(monkeypatch, StepOption("target-auc", "float", 0.9))
    asked = defaultdict(lambda: None)
    for given, told in ((0.9, None), (0.8, 0.8)):
        asked["target_auc"] = given
        assert step_options.targets_asked(asked)["target_auc"] == told


def test_an_option_that_is_shared_can_be_left_out():
    # Whoever came first in the order of names would have set it for the runs of all others.
    for kind, default in (("float", 0.2), ("flag", True), ("int", 0)):
        with pytest.raises(InvalidInputError, match="to be none, as it is shared"):
            StepOption("test-fraction", kind, default, shared=True)


@pytest.mark.parametrize(
    "option",
    [
        StepOption("slack", "text", shared=True),
        StepOption("test-fraction", "float", shared=True),
    ],
    ids=["of another type", "that steps share"],
)
@pytest.mark.parametrize("kinds", [("optimizer",), ("step", "optimizer")])
def test_an_option_of_an_algorithm_that_is_another_one_is_refused(option, kinds, monkeypatch):
    registry_of_algorithms(monkeypatch, option)
    with pytest.raises(RegistryError, match=f"--{option.name} of an algorithm is claimed by"):
        step_options.with_step_options(lambda *, of_steps: None, kinds)


def test_a_target_of_two_distributions_that_do_not_share_it_is_refused(monkeypatch):
    registry_of_algorithms(monkeypatch, StepOption("slack", "float"))
    said = "--slack of an algorithm is claimed by dpcore-accuracy-first and by dpcore-twin"
    with pytest.raises(RegistryError, match=said):
        step_options.with_step_options(lambda *, of_steps: None, ("optimizer",))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"type": "str"}, "type='str' to be one of flag, float, int, text, texts"),
        ({"name": "twin_share"}, "name='twin_share' to be in kebab case"),
        ({"default": "a"}, "default='a' to be of the type"),
        ({"type": "flag"}, "default=None to be of the type"),
    ],
)
def test_a_declaration_that_no_command_could_have_is_refused_with_its_plugin(given, told):
    with pytest.raises(InvalidInputError, match=told):
        StepOption(**{"name": "twin-share", "type": "float", **given})


@dataclasses.dataclass(frozen=True)
class Twin:
    column: str
    share: float = 0.1
    name: str = "other"


@pytest.mark.parametrize(
    ("option", "value", "error", "told"),
    [
        (StepOption("twin-share", "float", field="share"), 0.2, InvalidInputError, "'column'"),
        (StepOption("twin-share", "float", field="shar"), 0.2, InvalidInputError, "'shar'"),
        (StepOption("twin-of", "text", field="column"), "a", RegistryError, "its name is 'other'"),
    ],
)
def test_a_step_that_is_not_as_it_is_registered_is_told_by_its_package(
    option, value, error, told, monkeypatch
):
    registry_with(monkeypatch, option)
    monkeypatch.setattr(type(STEPS), "load", lambda self, kind, name: Twin)
    with pytest.raises(error, match=f"step twin of dpcore-twin .*{told}"):
        steps_asked({**USUAL, option.parameter: value})


@pytest.mark.parametrize("option", ["evaluate-share", "evaluate-epsilon", "intervals-share"])
def test_an_option_of_a_package_that_is_not_installed_says_what_to_install(option, monkeypatch):
    rest = [entry for entry in OWN if entry.distribution == "dpcore"]
    monkeypatch.setattr(step_options, "load_registry", lambda kind=None: type(STEPS)(rest))
    parameters = inspect.signature(step_options.with_step_options(asked)).parameters
    assert option.replace("-", "_") not in parameters
    assert parameters["test_fraction"].default is None  # for exact metrics, all the same
    monkeypatch.setattr("dpcore.moved.importlib.util.find_spec", lambda name: None)
    told = errors._mistake(NoSuchOption(f"--{option}", possibilities=["--share"]))
    # The first sentence is click's, which newer ones write with quotes.
    assert told.startswith("No such option") and f"--{option}" in told
    assert told.endswith(
        ". It is in dpcore-report: pip install . plugins/* in a checkout of dpcore, or its wheel."
    )


def asked(*, of_steps):
    pass


def test_an_option_of_no_package_is_told_with_those_that_are_near():
    error = NoSuchOption("--shar", possibilities=["--share"])
    assert errors._mistake(error) == error.format_message()


@pytest.mark.slow
def test_help_imports_no_step():
    code = (
        "import sys; from dpcore.cli.step_options import with_step_options\n"
        "with_step_options(lambda *, of_steps: None)\n"
        "print([m for m in ('numpy', 'dpcore_report.evaluation.step') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
