"""A third party's distribution, from its wheel, beside dpcore's own: as ``.ci/run`` installs them.

Its wheels are built once, and installed by pip alone: ``DPCORE_INSTALLED`` names that environment.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

INSTALLED = os.environ.get("DPCORE_INSTALLED")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED, reason="DPCORE_INSTALLED does not name an environment"),
]


@pytest.fixture
def dpcore(tmp_path):
    """The command of the environment that holds the wheels of all projects and their needs."""
    # Neither this process's packages nor its working directory are to be found by the other.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_DISABLE_JIT")}

    def command(*arguments):
        done = subprocess.run(
            [str(part) for part in (Path(INSTALLED) / "bin" / "dpcore", *arguments)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return command


def test_it_is_listed_with_its_distribution_and_version(dpcore):
    listed = json.loads(dpcore("list", "--json", "--strict"))
    assert listed["failed"] == []
    optimizers = {entry["name"]: entry for entry in listed["optimizers"]}
    assert optimizers["dp-agd"]["distribution"] == "dpcore-dp-agd"
    example = optimizers["noisy-gd"]
    assert (example["distribution"], example["version"]) == ("dpcore-example", "0.3.1")


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_it_trains_and_states_its_privacy(dpcore, tmp_path, relation):
    out = tmp_path / "model.json"
    report = json.loads(
        dpcore(
            *("train", "--algo", "noisy-gd", "--epsilon", "0.5", "--delta", "1e-7"),
            *("--relation", relation, "--set", "steps=80", "--test-fraction", "0.2"),
            *("--out", out, "--json"),
        )
    )
    assert report["private"] is True and report["why_not_private"] == []
    assert (report["epsilon"], report["delta"]) == (0.5, 1e-7)
    assert report["neighboring_relation"] == relation
    assert report["releases"] == {"gradient": 80}
    # 80 of 81 equal shares; the last is for counting rows, and a public value is at hand.
    assert report["spent"] == pytest.approx(report["budget"] * 80 / 81, rel=1e-6)
    # The rule is planted: a model that ignores the rows has the accuracy of the majority, .76.
    assert report["diagnostics"]["test_accuracy"] > 0.78
    privacy = json.loads(out.read_text())["privacy"]
    assert privacy["sentence"].startswith(
        f"This model is (0.5, 1e-07)-differentially private under {relation} of a row, as "
        "enforced by the zcdp filter (tight conversion). In words: "
    )
    # Our parts alone answer and draw, so nobody else's code need be trusted.
    assert privacy["parts_not_from_dpcore"] == []
    assert "code" not in privacy  # All files of ours are those of the manifest.


def test_it_passes_the_admission_test(dpcore):
    # It ends with another status, which raises, if one fails.
    lines = dpcore("check", "noisy-gd").splitlines()
    assert sum(line.startswith("ok ") for line in lines) >= 7
    assert not any(line.startswith("FAILED") for line in lines)


def test_a_command_of_a_distribution_of_its_own_runs(dpcore):
    assert "Many fits (acme-tools 1.2):\n  acme-sweep  Fit at" in dpcore("--help")
    asked = ("acme-sweep", "census-sim", "--epsilons", "0.5,1", "--json")
    assert [fit["epsilon"] for fit in json.loads(dpcore(*asked))["fits"]] == [0.5, 1.0]
    dpcore("ledger", "init", "acme-lines://table.lines", "--epsilon", "3")
    assert "1 entries, none altered" in dpcore("ledger", "verify", "acme-lines://table.lines")


def test_a_step_of_a_distribution_of_its_own_runs():
    code = (
        "import numpy as np; from class_counts import ClassCounts; from dpcore import fit\n"
        "X, y = np.random.default_rng(0).random((500, 2)), np.arange(500) % 2\n"
        "model = fit(X, y, classes=(0, 1), bounds=(0, 1), also=[ClassCounts()])\n"
        "print(model.privacy['steps'], model.privacy['parts_not_from_dpcore'])"
    )
    python = [str(Path(INSTALLED) / "bin" / "python"), "-c", code]
    done = subprocess.run(python, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'class-counts': {'share': 0.05}} ['class_counts.step:ClassCounts']\n"


def test_train_prints_what_a_step_of_a_distribution_of_its_own_found(dpcore):
    asked = "train", "--algo", "dp-gd", "--class-counts-share", "0.1"
    assert "\nclass-counts: About " in dpcore(*asked)
    found = json.loads(dpcore(*asked, "--json"))["sections"]["class-counts"]
    assert found["data"]["counts"].keys() and found["version"] == 1


def test_rows_are_read_and_encoded_by_distributions_of_their_own(dpcore, tmp_path):
    rows = [{"code": f"{3000 + i}", "ill": ["no", "yes"][i % 2]} for i in range(200)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    schema = tmp_path / "schema.toml"
    schema.write_text(
        '[columns]\ncode = { kind = "postal-code" }\n'
        'ill = { kind = "label", classes = ["no", "yes"] }\n'
    )
    data = "--data", tmp_path / "rows.jsonl", "--schema", schema
    dpcore("train", *data, "--algo", "dp-gd", "--out", tmp_path / "model.json", "--quiet")
    privacy = json.loads((tmp_path / "model.json").read_text())["privacy"]
    named = ["jsonl_rows.reader:open_jsonl", "postal.kinds:Postal"]
    assert privacy["parts_not_from_dpcore"] == named
    dpcore("convert", tmp_path / "rows.jsonl", tmp_path / "rows.coded", "--schema", schema)
    assert 'kind = "postal-code"' in dpcore("schema", tmp_path / "rows.coded")
