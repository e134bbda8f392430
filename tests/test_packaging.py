"""A third party's distribution, from its wheel: built, installed beside dpcore's own, and used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = Path(__file__).parent / "third_party" / "dpcore-example"
PROJECTS = (ROOT, *sorted((ROOT / "plugins").glob("*/")), EXAMPLE)

pytestmark = pytest.mark.slow


def run(*command, **options):
    # Neither this process's packages nor its working directory are to be found by the other.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_DISABLE_JIT")}
    return subprocess.run(
        [str(part) for part in command],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def succeed(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Uv:
    """The commands of uv, where it is installed: several times as fast as pip."""

    def __init__(self, environment):
        self._uv = os.environ.get("UV") or shutil.which("uv")
        self._python = environment / "bin" / "python"
        succeed(self._uv, "venv", "--quiet", "--python", sys.executable, environment)

    def install(self, *what, test=succeed):
        return test(self._uv, "pip", "install", "--quiet", "--python", self._python, *what)

    def build(self, project, wheels):
        succeed(self._uv, "build", "--quiet", "--wheel", "--out-dir", wheels, project)


class Pip:
    def __init__(self, environment):
        self._python = environment / "bin" / "python"
        succeed(sys.executable, "-m", "venv", environment)

    def install(self, *what, test=succeed):
        return test(self._python, "-m", "pip", "install", "--quiet", *what)

    def build(self, project, wheels):
        command = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, project)
        succeed(self._python, *command)


@pytest.fixture(scope="module")
def dpcore(tmp_path_factory):
    """The command of an environment that holds the wheels of all projects and their needs."""
    folder = tmp_path_factory.mktemp("packaging")
    has_uv = os.environ.get("UV") or shutil.which("uv")
    tool = (Uv if has_uv else Pip)(folder / "env")
    # Building needs hatchling: whether it can be had tells whether there is an index.
    if tool.install("hatchling", test=run).returncode != 0:
        pytest.skip("no package index can be reached")
    for project in PROJECTS:
        tool.build(project, folder / "wheels")
    tool.install(*sorted((folder / "wheels").glob("*.whl")))

    def command(*arguments):
        return succeed(folder / "env" / "bin" / "dpcore", *arguments, cwd=folder)

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
    # 80 of 81 equal shares; the last is for counting rows, and a public figure is at hand.
    assert report["spent"] == pytest.approx(report["budget"] * 80 / 81, rel=1e-6)
    # The rule is planted: a model that ignores the rows has the accuracy of the majority, .76.
    assert report["diagnostics"]["test_accuracy"] > 0.78
    privacy = json.loads(out.read_text())["privacy"]
    assert privacy["sentence"].startswith(
        f"This model is (0.5, 1e-07)-differentially private under {relation} of a row, as "
        "enforced by the zcdp filter (tight conversion). In words: "
    )
    # It goes through the door with our parts only, so nobody else's code need be trusted.
    assert privacy["parts_not_from_dpcore"] == []


def test_it_passes_the_admission_test(dpcore):
    lines = dpcore("check", "noisy-gd").splitlines()
    assert len(lines) >= 7 and all(line.startswith("ok ") for line in lines)
