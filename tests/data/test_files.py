"""Names of partitions."""

import pytest

from dpcore.data.files import Files
from dpcore.errors import DataError


def test_partitions_are_in_the_order_of_their_names(tmp_path, monkeypatch):
    for name in ("b.parquet", "a.pq", "c.dpcore", "notes.txt", "d.csv"):
        (tmp_path / name).touch()
    expected = [str(tmp_path / name) for name in ("a.pq", "b.parquet", "c.dpcore")]
    assert Files(str(tmp_path)).names() == expected
    assert Files(f"{tmp_path}/*.p*").names() == expected[:2]
    monkeypatch.chdir(tmp_path)
    assert Files("c.dpcore").names() == expected[2:], "Other machines have another folder."
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet file or store"):
        Files("empty").names()
