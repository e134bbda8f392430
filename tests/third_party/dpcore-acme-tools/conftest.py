"""The distribution as if it were installed: its folder, and what an installation says of it."""

import sys
import tomllib
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    (points,) = project["entry-points"]["dpcore"].items()
    info = tmp_path / "acme_tools-1.2.dist-info"
    info.mkdir()
    named = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(named)
    (info / "entry_points.txt").write_text("[dpcore]\n{} = {}\n".format(*points))
    monkeypatch.syspath_prepend(str(tmp_path))
    load_registry.cache_clear()
    yield
    load_registry.cache_clear()
