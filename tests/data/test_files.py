"""Names of partitions."""

import os

import pytest

from dpcore.data.files import Files
from dpcore.errors import DataError


def test_partitions_are_in_the_order_of_their_names(tmp_path, monkeypatch):
    for name in ("b.parquet", "a.pq", "c.dpcore", "notes.txt", "d.csv"):
        (tmp_path / name).touch()
    expected = [str(tmp_path / name) for name in ("a.pq", "b.parquet", "c.dpcore")]
    with pytest.raises(DataError, match="would count twice"):
        Files(str(tmp_path)).names()
    assert Files(f"{tmp_path}/*.p*").names() == expected[:2]
    monkeypatch.chdir(tmp_path)
    assert Files("c.dpcore").names() == expected[2:], "Other machines have another folder."
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet file or store"):
        Files("empty").names()


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_one_file_under_two_names_is_refused(tmp_path, link):
    (tmp_path / "a.parquet").touch()
    link(tmp_path / "a.parquet", tmp_path / "b.parquet")
    with pytest.raises(DataError, match="two names of one file"):
        Files(str(tmp_path)).names()
