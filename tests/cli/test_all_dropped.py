"""A file of which every row is dropped ends in a model, as one without rows does."""

import json

import pytest

SCHEMA = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
paid = { kind = "label", classes = ["no", "yes"] }
"""
FILES = {
    "all of them malformed": "age,paid\nx,no\n7,perhaps\n,yes\n1,no,3\n",
    "none at all": "age,paid\n",
    "one": "age,paid\nx,no\n30,no\n",
}


@pytest.fixture
def outcome(run, tmp_path, monkeypatch):
    """All that a fit gives of a file: its exit status, its model, and what it says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)

    def of(text, *options):
        (tmp_path / "rows.csv").write_text(text)
        rows = "--data", "rows.csv", "--schema", "s.toml", "--bad-rows", "drop"
        done = run("train", *rows, "--epsilon", "0.01", "--out", "m.json", *options)
        assert done.exit_code == 0, done.stderr
        model = json.loads((tmp_path / "m.json").read_text())
        return model["coefficients"], model["privacy"], done.stdout, done.stderr

    return of


def test_rows_that_are_all_dropped_are_no_rows_and_nothing_tells_of_them(outcome):
    """A refusal, or a warning of its own, would tell for certain whether a file has a row that
    satisfies its schema: a table of none and a table of one row are neighbours."""
    malformed, none, one = (outcome(text, "--seed", "3") for text in FILES.values())
    assert malformed == none
    assert "were left out, and were not counted" in none[3]
    # The control: a row is in the sums, and moves what a seeded run releases.
    assert one[0] != none[0] and one[1] == none[1] and one[3] == none[3]


@pytest.mark.parametrize("rows", FILES)
def test_each_ends_in_a_model_with_the_same_guarantee(outcome, rows):
    assert "(0.01, 1e-08)-differentially private" in outcome(FILES[rows])[1]["sentence"]
