"""The kind of a file goes by its content, whatever its name."""

import json

import pytest

from dpcore.errors import DataError
from dpcore_lab.pictures.content import kind_of
from dpcore_ledger import TableLedger, Terms

SHOWN = {"id": "a", "promise": "p", "budgets": [], "history": [], "runs": []}


def test_the_content_says_what_a_file_is_and_the_name_does_not(model, tmp_path):
    model.save(tmp_path / "m.json")
    (tmp_path / "m.json").rename(tmp_path / "m.ledger")
    assert kind_of(str(tmp_path / "m.ledger")) == "model"
    TableLedger.create(tmp_path / "l.json", Terms.of(1.0, 1e-6)).close()
    assert kind_of(str(tmp_path / "l.json")) == "ledger"
    (tmp_path / "l.parquet").write_text("\ufeff\n" + json.dumps(SHOWN), encoding="utf-8")
    assert kind_of(str(tmp_path / "l.parquet")) == "ledger"
    (tmp_path / "r.json").write_bytes(b"PAR1 and so on")
    assert kind_of(str(tmp_path / "r.json")) == "results"
    assert kind_of("postgresql://ann@db/tables?ledger=stays") == "ledger"


@pytest.mark.parametrize("content", [b"", b"age,label\n1,no\n", b"[1]", b"\xff\xfe\x00"])
def test_any_other_content_is_refused(tmp_path, content):
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match="its content is none of them") as refused:
        kind_of(str(path))
    assert "age" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(DataError, match="Cannot read"):
            kind_of(str(path))
