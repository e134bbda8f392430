"""Data sets whose files the user brings: found by name, refused with where they are had."""

import numpy as np
import pytest

from dpcore.errors import DataError
from dpcore.plugin.parts import load_registry
from dpcore_tables.datasets.beside import FILES

COLUMNS = {"ipums-br": 52, "ipums-us": 52, "buzz-twitter": 77}
ONES = {5: 1, 7: 1, 13: 1, 18: 1, 50: 1}  # codes that begin at 1


@pytest.fixture
def load():
    return lambda name: load_registry().load("dataset", name)()


@pytest.mark.parametrize("name", FILES)
def test_a_file_in_the_folder_is_the_data_set(name, load, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (20, COLUMNS[name] + 1))
    if name != "buzz-twitter":
        cells[:, list(ONES)] = 1
    separator = "," if name == "buzz-twitter" else " "
    text = "".join(f"{separator.join(map(str, row))}\n" for row in cells)
    (tmp_path / FILES[name].name).write_text(text)
    monkeypatch.setenv("DPCORE_DATA_DIR", str(tmp_path))
    dataset = load(name)
    assert dataset.y.shape == (20,) and dataset.name == name


@pytest.mark.parametrize("name", FILES)
def test_without_the_file_a_line_says_what_and_where_from(name, load, tmp_path, monkeypatch):
    monkeypatch.setenv("DPCORE_DATA_DIR", str(tmp_path))
    file = FILES[name]
    with pytest.raises(DataError) as refused:
        load(name)
    told = str(refused.value)
    assert all(part in told for part in (name, file.name, file.source, file.holds))
    assert "DPCORE_DATA_DIR" in told and "https://" in told
