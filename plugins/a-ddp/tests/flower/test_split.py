"""One table shared out to users: every row in one user's hands, whole and once."""

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_a_ddp.flower.member import Member
from dpcore_a_ddp.flower.split import IDENTITY, count_rows, share_out
from dpcore_a_ddp.flower.sum_member import read_identity


def test_the_parts_are_the_rows_in_their_order(table, own_files):
    schema = Schema.read(table / "schema.toml")
    whole = Dataset.from_file(table / "rows.csv", schema)
    members = [Member.read(file) for file in own_files]
    parts = [Dataset.from_file(member.data, Schema.read(member.schema)) for member in members]
    assert np.array_equal(np.concatenate([part.X for part in parts]), whole.X)
    assert np.array_equal(np.concatenate([part.y for part in parts]), whole.y)
    assert count_rows(table / "rows.csv", schema) == whole.X.shape[0]
    assert all(file.parent.stat().st_mode & 0o077 == 0 for file in own_files)


def test_a_folder_that_is_there_is_kept_or_refused(table, own_files, users):
    args = (table / "rows.csv", table / "schema.toml", users, table / "users", "replace-one", "gdp")
    (own_files[0].parent / "ledger.jsonl").write_text("kept")
    assert share_out(*args, 5) == own_files
    assert (own_files[0].parent / "ledger.jsonl").read_text() == "kept"
    with pytest.raises(DataError, match="is there and differs"):
        share_out(*args, 6)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv.gz", "rows.dpcore"])
def test_other_files_are_refused(table, users, name):
    (table / name).write_bytes((table / "rows.csv").read_bytes())
    with pytest.raises(InvalidInputError, match="one row a line"):
        share_out(
            table / name, table / "schema.toml", users, table / "users", "replace-one", "gdp", None
        )


def test_a_user_makes_its_own_keys_once(tmp_path, capsys):
    pytest.importorskip("cryptography", reason="needs the extra dpcore-a-ddp[secure]")
    from dpcore_a_ddp.flower.keys import main

    folder, told = tmp_path / "anna", []
    for _ in range(2):
        assert main([str(folder)]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert read_identity(folder / IDENTITY).public.hex() in told[0]
    assert str(folder / "node.pub") in told[0]
    for name in (IDENTITY, "node.key"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
        assert (folder / name).read_text().strip() not in told[0]
    public = (folder / "node.pub").read_bytes()
    (folder / "node.pub").unlink()
    assert main([str(folder)]) == 0 and capsys.readouterr().out == told[0]
    assert (folder / "node.pub").read_bytes() == public  # of the same private key
    for name in (IDENTITY, "node.key"):
        (folder / name).chmod(0o640)
        assert main([str(folder)]) == 2
        assert f"{name}, which is a secret: chmod 600" in capsys.readouterr().err
        (folder / name).chmod(0o600)
    (folder / IDENTITY).write_text("0123")
    assert main([str(folder)]) == 2
    assert "64 hex digits" in capsys.readouterr().err
