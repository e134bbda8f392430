"""A session without a budget of its own in a ledger: each release is charged before it is drawn."""

import numpy as np
import pytest

from dpcore.errors import BudgetExceededError, InvalidInputError, LedgerError, UnsupportedEventError
from dpcore.plugin.parts import ApproximateDpEvent, GaussianDpEvent
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.by_release import _cost_of
from dpcore_ledger.verify import verified
from dpcore_tables.statistics import open_session

X = np.random.default_rng(3).uniform(0, 1, (400, 2))
PUBLIC = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None}


@pytest.fixture
def ledger(tmp_path) -> TableLedger:
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))


def opened(ledger, **asked):
    y = (X[:, 0] > 0.5).astype(int)
    return open_session(X, y, **PUBLIC, ledger=ledger.path, **asked)


def spent(ledger):
    return ledger.state().spent(0).spent


def test_nothing_is_reserved_and_each_release_counts_at_once(ledger):
    with opened(ledger) as session:
        assert spent(ledger) == 0
        for made in (1, 2):
            session.count(share=0.1)
            (run,) = ledger.state().runs.values()
            assert run.outcome == "open"
            expected = sum(1 / (2 * e.event.noise_multiplier**2) for e in session.ledger)
            assert len(session.ledger) == made
            assert expected > 0 and spent(ledger) == pytest.approx(expected, rel=1e-9)
        before = spent(ledger)
        assert session.statement()["epsilon"] == 1.0
    (run,) = ledger.state().runs.values()
    assert (run.outcome, spent(ledger)) == ("closed", before)
    verified(ledger.path)


def test_the_charge_is_on_disk_when_the_rows_are_asked(ledger, monkeypatch):
    from dpcore.plugin.parts import LocalEngine

    honest, seen = LocalEngine.answer, []

    def answer(self, query):
        if self._table.n_rows:  # Not in the dry run, over none.
            seen.append(spent(TableLedger(ledger.path)))
        return honest(self, query)

    monkeypatch.setattr(LocalEngine, "answer", answer)
    with opened(ledger) as session:
        session.count(share=0.1)
        session.mean("x1", share=0.1)
    assert len(seen) >= 2 and 0 < seen[0] < seen[-1]


def asked_too_often(ledger):
    """Return how many releases two sessions, whose own budgets would hold them, had drawn until
    the ledger's was used up, and what the ledger says of them."""
    made = 0
    with opened(ledger) as first, opened(ledger) as second, pytest.raises(BudgetExceededError):
        for session in [first, second] * 50:
            session.count(share=0.2)
            made += 1
    return made, ledger.state()


def test_sessions_side_by_side_never_pass_the_cap(tmp_path):
    ledger = TableLedger.create(tmp_path / "small.ledger", Terms.of(1.0, 1e-8))
    made, state = asked_too_often(ledger)
    used = state.spent(0)
    assert 2 < made < 10
    assert used.spent_ticks <= used.budget_ticks
    verified(ledger.path)


def test_a_log_that_is_written_at_the_end_lets_them_pass_it(tmp_path, monkeypatch):
    """The broken twin: a session's releases are charged when it is closed."""
    from dpcore.plugin.parts import ChargeLog
    from dpcore_ledger import by_release

    monkeypatch.setattr(by_release._Log, "charge", ChargeLog.charge)
    ledger = TableLedger.create(tmp_path / "small.ledger", Terms.of(1.0, 1e-8))
    made, _ = asked_too_often(ledger)
    assert made >= 10


def test_a_release_that_does_not_fit_is_neither_made_nor_charged(tmp_path):
    ledger = TableLedger.create(tmp_path / "small.ledger", Terms.of(0.1, 1e-8))
    with opened(ledger) as session:
        with pytest.raises(BudgetExceededError, match="does not fit into the ledger"):
            session.count(share=0.5)
        assert (len(session.ledger), spent(ledger)) == (0, 0)
        session.count(share=0.001)
        assert spent(ledger) > 0


def test_a_session_that_others_closed_makes_no_more_releases(ledger):
    with opened(ledger) as session:
        session.count(share=0.1)
        (run,) = ledger.state().runs.values()
        before = spent(ledger)
        ledger.close_as_spent(run.number)
        with pytest.raises(LedgerError, match="no more releases"):
            session.count(share=0.1)
        assert spent(ledger) == before


def test_a_budget_that_is_given_is_reserved(ledger):
    with opened(ledger, epsilon=0.5):
        assert spent(ledger) > 0
    assert spent(ledger) == 0


def test_two_steps_of_a_release(tmp_path):
    """Under replace-one an added row's rho counts four times (Bun & Steinke 2016, Proposition 1.9);
    what has a delta of its own is refused there."""
    one, two = Terms.of(9.0, 1e-6), Terms.of(9.0, 1e-6, relation="replace-one")
    event = GaussianDpEvent(10.0)
    assert _cost_of(event, two, 2).ticks == 4 * _cost_of(event, one, 1).ticks
    assert _cost_of(ApproximateDpEvent(0.1, 1e-8), one, 1).aside_ticks > 0
    with pytest.raises(InvalidInputError, match="with an epsilon"):
        _cost_of(ApproximateDpEvent(0.1, 1e-8), two, 2)
    with pytest.raises(UnsupportedEventError, match="with an epsilon"):
        _cost_of(ApproximateDpEvent(0.1, 1e-8), Terms.of(9.0, 1e-6, accountant="gdp"), 1)


def test_the_promise_is_of_the_ledger_and_its_table(ledger):
    from dpcore_ledger.rendering import remaining, run_rows

    with opened(ledger):
        assert "Open, and counted for all that was charged" in " ".join(remaining(ledger.state()))
    with opened(ledger) as session:
        session.count(share=0.1)
    said = remaining(ledger.state())
    assert any(line.startswith("Runs like the last one that still fit:") for line in said)
    assert len(run_rows(ledger.state())) == 2
    y = (X[:, 0] > 0.5).astype(int)
    with pytest.raises(InvalidInputError, match="another schema"):
        open_session(X, y, **{**PUBLIC, "bounds": (0, 2)}, ledger=ledger.path)
