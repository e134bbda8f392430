"""The ranking of bench: ranks averaged over epsilon first, Holm's correction, rows that are gone on
with."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
VALUES = {
    # table, epsilon: accuracies of auto, a, b
    ("t1", "1"): (0.9, 0.8, 0.7),
    ("t1", "0.1"): (0.7, 0.8, 0.6),
    ("t2", "1"): (0.9, 0.8, 0.8),
    ("t2", "0.1"): (0.9, 0.8, None),
}


@pytest.fixture
def summary(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("ranking_summary")


def rows(summary, repeats=1):
    blank = dict.fromkeys(summary.COLUMNS, "")
    return [
        blank
        | {"table": table, "use": "reporting", "task": "classes", "epsilon": epsilon}
        | {"algorithm": name, "repeat": str(repeat), "accuracy": "" if v is None else str(v)}
        for (table, epsilon), values in VALUES.items()
        for name, v in zip(("auto", "a", "b"), values, strict=True)
        for repeat in range(repeats)
    ]


def test_ranks_are_averaged_over_epsilon_for_each_table(summary):
    found = summary.ranking_of(rows(summary), "accuracy")
    assert (found.tables, found.epsilons) == (("t1", "t2"), ("0.1", "1"))
    assert found.ranks["auto"].tolist() == [1.5, 1.0]
    assert found.ranks["a"].tolist() == [1.5, 2.25]  # The second is shared at epsilon 1.
    assert found.ranks["b"].tolist() == [3.0, 2.75]  # What has no metric is the worst.
    assert found.in_order() == ["auto", "a", "b"]


def test_an_algorithm_that_was_not_run_everywhere_is_not_ranked(summary):
    fewer = [row for row in rows(summary) if (row["table"], row["algorithm"]) != ("t2", "a")]
    found = summary.ranking_of(fewer, "accuracy")
    assert found.short == {"a": 2} and set(found.ranks) == {"auto", "b"}


def test_tables_on_which_constants_were_chosen_do_not_count(summary):
    seen = [row | {"use": "development"} for row in rows(summary)]
    assert summary.ranking_of(seen, "accuracy") is None


def test_holm_is_that_of_others(summary):
    # R: p.adjust(c(.01, .04, .03, .005), "holm")
    assert summary.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_line_that_was_cut_short_is_made_again(summary, tmp_path):
    path = tmp_path / "r.csv"
    assert summary.rows_of(path) == []
    head = ",".join(summary.COLUMNS)
    line = ",".join(["wage", *[""] * (len(summary.COLUMNS) - 1)])
    path.write_text(f"{head}\n{line}\nhmda,rep")
    assert [row["table"] for row in summary.rows_of(path)] == ["wage"]
    assert path.read_text() == f"{head}\n{line}\n"
