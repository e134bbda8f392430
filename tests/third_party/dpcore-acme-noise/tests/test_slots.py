"""Somebody else's mechanisms in the slots of dpcore's optimizers, from the command line."""

import json
import re

import pytest
from typer.testing import CliRunner

from acme_noise.discrete_laplace import DiscreteLaplace
from acme_noise.normal import Normal
from dpcore.cli import app
from dpcore_lab.checks import check_mechanism

NORMAL, LAPLACE = "acme-normal", "acme-discrete-laplace"
REPLACE = ("--relation", "replace-one")
SHORT = ("--set", "steps=5")
RUNS = [
    ("dp-gd", f"noise={NORMAL}", SHORT),
    ("dp-agd", f"gradient={LAPLACE}", ("--accountant", "pure", "--delta", "0")),
    ("dp-agd", f"gradient={NORMAL}", ("--use", "selection=permute-and-flip", *SHORT)),
    ("sgd-ma", f"noise={NORMAL}", SHORT),
    ("sgd-adv", f"noise={NORMAL}", SHORT),
    ("outpert", f"noise={NORMAL}", ("--l2", "0.01")),
    ("rsgd-ar", f"noise={NORMAL}", REPLACE),
    ("bolt-on", f"noise={LAPLACE}", (*REPLACE, "--accountant", "pure", "--delta", "0")),
]


@pytest.fixture
def train(installed, tmp_path, monkeypatch):
    """Return a function that trains on a small file and returns the report."""
    rows = [f"{i % 10},{'yes' if i % 3 else 'no'}" for i in range(400)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y", *rows, ""]))
    (tmp_path / "schema.toml").write_text(
        'rows = 400\n[columns]\nx = { kind = "numeric", lower = 0, upper = 9 }\n'
        'y = { kind = "label", classes = ["no", "yes"] }\n'
    )
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        data = ("--data", "rows.csv", "--schema", "schema.toml")
        result = CliRunner().invoke(app, ["train", *data, "--json", *arguments])
        assert result.exit_code == code, result.stderr
        return json.loads(result.stdout) if code == 0 else result.stderr

    return invoke


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [Normal, DiscreteLaplace])
def test_they_bear_out_what_they_state(mechanism):
    check_mechanism(mechanism)


def test_a_report_has_the_theorem_that_the_class_states(train):
    train(*("--algo", "dp-gd", "--use", f"noise={NORMAL}", *SHORT, "--out", "model.json"))
    shown = CliRunner().invoke(app, ["report", "model.json", "--format", "text"]).stdout
    theorem = "normal noise is 1/(2 m^2)-zCDP (Bun & Steinke 2016, Prop. 1.6) (by acme-noise 1.0"
    assert theorem in " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.parametrize(("algo", "use", "more"), RUNS)
def test_a_slot_of_a_built_in_optimizer_is_filled(train, algo, use, more):
    report = train("--algo", algo, "--use", use, *more)
    target = {
        NORMAL: "acme_noise.normal:Normal",
        LAPLACE: "acme_noise.discrete_laplace:DiscreteLaplace",
    }[use.partition("=")[2]]
    assert report["parts_not_from_dpcore"] == [target]
    assert target in report["sentence"]
    assert 0 < report["spent"] <= report["budget"]


@pytest.mark.parametrize(
    ("algo", "more"), [("dp-gd", ("--set", "calibrate_share=0")), ("sgd-ma", ())]
)
def test_noise_of_the_same_distribution_and_cost_releases_the_same_bits(train, algo, more):
    # The last release of dp-gd, which calibrates log odds, is of its own noise alone.
    seeded = ("--algo", algo, *SHORT, *more, "--seed", "5")
    own, other = (train(*seeded, "--use", f"noise={name}") for name in ("gaussian", NORMAL))
    for key in ("coef_norm", "spent", "releases", "details"):
        assert own[key] == other[key]


@pytest.mark.parametrize(
    ("algo", "use", "told"),
    [
        ("dp-gd", f"noise={LAPLACE}", "its noise is scaled to l1.*needs l2.*acme-normal"),
        ("objpert", f"noise={NORMAL}", "no other: the density of b is in the proof"),
        ("privgene", f"selection={NORMAL}", "its noise is scaled to l2"),
        ("sgd-ma", "noise=acme-norml", "no mechanism of that name.*Did you mean acme-normal"),
        ("sgd-ma", "noise=gamma", "no accountant that is installed bounds Poisson samples"),
    ],
)
def test_what_a_slot_cannot_hold_is_refused_with_what_would_do(train, algo, use, told):
    refused = train("--algo", algo, "--use", use, code=2)
    assert re.search(told, refused), refused
