"""A step of a distribution of its own: charged within the budget, named, kept and shown."""

import subprocess
import sys
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

import class_counts
import numpy as np
import pytest
from class_counts import ClassCounts

from dpcore import OneVsRest, PrivateBounds, fit, load_model
from dpcore.errors import InvalidInputError
from dpcore.plugin.steps import Outcome, Section

DRAW = np.random.default_rng(3)
X = DRAW.uniform(0, 1, (3000, 2))
Y = np.where(X[:, 0] > 0.3, "yes", "no")
PUBLIC = {"classes": ("no", "yes"), "bounds": (0, 1), "algo": "dp-gd", "params": {"steps": "5"}}


def fitted(*steps, **options):
    return fit(X, Y, **{"epsilon": 2.0, "delta": 1e-6, **PUBLIC, **options}, also=steps)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_it_is_charged_named_and_kept(tmp_path, relation):
    model = fitted(ClassCounts(Fraction(1, 5)), relation=relation)
    counts, deviation = model.sections["class-counts"]["data"].values()
    assert model.sections["class-counts"]["part"] == "class_counts.step:ClassCounts"
    # Six deviations: a false alarm of 2e-9 for each count.
    assert abs(counts["yes"] - (Y == "yes").sum()) < 6 * deviation
    privacy = model.privacy
    assert privacy["steps"] == {"class-counts": {"share": 0.2}} and privacy["private"]
    assert privacy["parts_not_from_dpcore"] == ["class_counts.step:ClassCounts"]
    assert "The step class-counts had 0.2 of the same budget" in privacy["sentence"]
    assert privacy["spent"] <= privacy["budget"]
    assert model.ledger[-1]["kind"] == "histogram"
    assert model.ledger[-1]["cost"] == pytest.approx(0.2 * privacy["budget"], rel=1e-3)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.sections == model.sections
    assert again.sections["class-counts"]["part"] == "class_counts.step:ClassCounts"
    assert ClassCounts.of(again).data["counts"] == counts


def test_a_private_model_has_the_noise_of_its_share_at_both_relations():
    few, many = (fitted(ClassCounts(Fraction(1, k))) for k in (100, 5))
    of = [model.sections["class-counts"]["data"]["deviation"] for model in (few, many)]
    assert of[0] == pytest.approx(of[1] * 20**0.5, rel=1e-3)


def test_one_fit_for_each_class_has_it_too():
    Y3 = np.array(["a", "b", "c"])[DRAW.integers(0, 3, len(X))]
    own = {**PUBLIC, "classes": ("a", "b", "c"), "loss": OneVsRest()}
    model = fit(X, Y3, epsilon=4.0, delta=1e-6, **own, also=[ClassCounts(Fraction(1, 5))])
    assert sum(model.sections["class-counts"]["data"]["counts"].values()) == pytest.approx(3000, 99)
    assert model.privacy["fits"] == 3 and model.privacy["spent"] <= model.privacy["budget"]


def test_private_bounds_come_before_it():
    model = fitted(PrivateBounds(), ClassCounts(Fraction(1, 5)), bounds=None, row_norm=None)
    assert list(model.privacy["releases"])[0] == "bounds"
    assert {"private_bounds", "steps"} <= model.privacy.keys()


@dataclass(frozen=True)
class Named(ClassCounts):
    name: str = "intervals"


@dataclass
class Thawed:
    def check(self, view):
        raise AssertionError


@pytest.mark.parametrize(
    ("steps", "options", "said"),
    [
        ([ClassCounts], {}, "also=.* of steps, .* and not ClassCounts"),
        ([Thawed()], {}, "a frozen dataclass with check"),
        (["class-counts"], {}, "also=.* of steps, .* and not str"),
        ([ClassCounts(), ClassCounts()], {}, "one step class-counts, and there are two"),
        ([Named()], {}, "and not 'intervals'"),
        ([Named(name="Über alles")], {}, "to declare its name, a name of small letters"),
        (
            [ClassCounts(Fraction(3, 5)), Named(share=Fraction(1, 2), name="b")],
            {},
            "The class-counts would take 0.6 of the budget and the b 0.5: expected",
        ),
        ([ClassCounts(0)], {}, "share of a release to be above 0"),
        ([ClassCounts(float("nan"))], {}, "share of a release to be above 0"),
        ([ClassCounts()], {"accountant": "single", "algo": "objpert", "params": {}}, "one rel"),
        ([ClassCounts()], {"algo": "sgd-ma", "accountant": "rdp", "params": {}}, ""),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_charged(steps, options, said):
    if not said:  # An accountant of samples holds it: the control.
        assert fitted(*steps, **options).sections
        return
    with pytest.raises(InvalidInputError, match=said) as caught:
        fitted(*steps, **options)
    assert not any("Charged" in note for note in getattr(caught.value, "__notes__", ()))


@pytest.mark.slow
def test_it_is_shown_and_sends_nothing_to_a_terminal(tmp_path):
    @dataclass(frozen=True)
    class Odd(ClassCounts):
        name: str = "odd"

        def check(self, facts):
            section = Section({"of": np.ones(2)}, ("a\x1b[31mb\nc",))
            return replace(super().check(facts), follow=lambda view, *_: Outcome(section))

    path = tmp_path / "model.json"
    fitted(ClassCounts(), Odd()).save(path)
    assert load_model(path).sections["odd"]["data"] == {"of": [1, 1]}
    command = [str(Path(sys.executable).with_name("dpcore")), "info", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "  class-counts: About " in shown and "  odd: a" in shown and "\x1b" not in shown


def test_its_option_is_that_of_its_dataclass():
    def register(name, target, *, summary, options):
        found.append((name, target, options))

    found = []
    class_counts.register_steps(register)
    ((name, target, (option,)),) = found
    assert name == ClassCounts.name and target.endswith(f":{ClassCounts.__name__}")
    assert option.field in {field.name for field in fields(ClassCounts)}
    assert option.asks(0.2) and not option.asks(option.default)
