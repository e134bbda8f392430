"""The tutorials run as they are written: each block in turn, in one empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))
NEED_DATA = {"adult.md"}

_BLOCK = re.compile(r"```(sh|python)\n(.*?)```", re.DOTALL)


def marked(page):
    marks = [pytest.mark.slow]
    if page.name in NEED_DATA:
        no_data = not os.environ.get("DPCORE_DATA_DIR")
        marks += [pytest.mark.data, pytest.mark.skipif(no_data, reason="needs DPCORE_DATA_DIR")]
    return pytest.param(page, marks=marks, id=page.name)


def run_sh(text, folder):
    """Run a block of commands with this environment's dpcore."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def run_page(text, folder):
    names = {"__name__": "tutorial"}
    for language, block in _BLOCK.findall(text):
        if language == "sh":
            run_sh(block, folder)
        else:
            exec(compile(block, "tutorial", "exec"), names)


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_a_tutorial_runs_from_its_first_block_to_its_last(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    run_page(page.read_text(), tmp_path)


def test_blocks_of_other_kinds_are_none_that_nobody_runs():
    kinds = [kind for page in PAGES for kind in re.findall(r"(?m)^```(\w+)$", page.read_text())]
    assert set(kinds) == {"sh", "python"}


@pytest.mark.parametrize("wrong", ["```sh\ndpcore trian\n```", "```python\nassert False\n```"])
def test_a_block_that_fails_is_noticed(wrong, tmp_path):
    with pytest.raises(AssertionError):
        run_page(wrong, tmp_path)
