"""Processes that race for a ledger, and processes that are killed."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import GaussianDpEvent
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.cost import Run
from dpcore_ledger.table_ledger import _that_holds
from dpcore_ledger.verify import verified

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and modes are POSIX's")

STATED = {"analyst": "", "algorithm": "test", "epsilon": 1.0, "delta": 1e-8}
_SPEND = """
import os, sys
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore_ledger import TableLedger
from dpcore_ledger.cost import Run
from dpcore.privacy.events import GaussianDpEvent
from dpcore.session.ledger import LedgerEntry

event = GaussianDpEvent(1000.0)
run = Run(ZcdpAccountant.from_budget(0.01, 1e-8), "add-or-remove-one", None)

def spend(ledger):
    print("ready", os.getpid(), flush=True)
    stated = {"analyst": "", "algorithm": "a", "epsilon": .01, "delta": 0}
    while True:
        reservation = ledger.reserve(run, stated)
        for k in range(2):
            reservation.log.charge(LedgerEntry(k, "gradient", "gaussian", event, 5e-7))
            # Drawn: from here on somebody may know it.
            print("drawn", reservation.reference["entry"], flush=True)
        reservation.close("finished")

for path in sys.stdin:
    if (child := os.fork()) == 0:
        spend(TableLedger(path.strip()))
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


def a_run(epsilon: float = 1.0) -> Run:
    return Run(ZcdpAccountant.from_budget(epsilon, 1e-8), "add-or-remove-one", None)


def race(path: str, rounds: int, start) -> None:
    ledger = TableLedger(path)
    start.wait()
    for _ in range(rounds):
        try:
            ledger.reserve(a_run(0.2), STATED)
        except BudgetExceededError:
            return


def raced(path: str, racers: int, rounds: int) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(racers)
    processes = [context.Process(target=race, args=(path, rounds, start)) for _ in range(racers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0


@pytest.mark.slow
@pytest.mark.parametrize("racers", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_racing_processes_never_pass_the_cap_together(place, racers):
    ledger = TableLedger.create(place, Terms.of(1.0, 1e-6))
    raced(ledger.path, racers, 50)
    spent, each = ledger.state().spent(0), a_run(0.2).accountant.budget_ticks
    # All of it is used, by whole runs, and no more.
    assert spent.spent_ticks == spent.budget_ticks // each * each
    verified(ledger.path)


def test_a_decision_outside_of_the_transaction_lets_them_pass_it(place):
    """The broken twin: what remains is read first, and the charge is written after."""
    ledger = TableLedger.create(place, Terms.of(1.0, 1e-6))
    run, two = a_run(1.0), [ledger.state(), ledger.state()]
    while True:
        try:
            two = [ledger.state(), ledger.state()]
            found = [_that_holds(state, run, ledger.path) for state in two]
        except BudgetExceededError:
            break
        for budget, cost in found:
            numbers = {"ticks": str(cost.ticks), "aside_ticks": "0"}
            body = {"budget": budget, **numbers, "stated": STATED, "table": None}
            ledger.add(lambda _, body=body: ("reserved", "", body))
    spent = ledger.state().spent(0)
    assert spent.spent_ticks > spent.budget_ticks


@pytest.fixture(scope="module")
def spending():
    """A program that has imported all, and spends in a new process for each line of its input."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", _SPEND], **pipes) as running:
        yield running


@pytest.mark.slow
def test_what_a_killed_process_drew_is_charged(place, spending):
    """20 kills, 8 over a database, at random times: the ledger opens, the chain is whole, every run
    that somebody saw a draw of is in it, as spent as its releases at least, and no lock stays."""
    coin = random.Random(20)
    ledger = TableLedger.create(place, Terms.of(50.0, 1e-6))
    each = ledger.state().budgets[0].filter.cost(GaussianDpEvent(1000.0))
    for _ in range(20 if os.path.isfile(place) else 8):
        print(ledger.path, file=spending.stdin, flush=True)
        ready, child = spending.stdout.readline().split()
        assert ready == "ready"
        time.sleep(coin.uniform(0.0, 0.05))
        os.kill(int(child), signal.SIGKILL)
        told = [*iter(spending.stdout.readline, "ended\n")]
        runs = [int(line.split()[1]) for line in told if line.count(" ") == 1]
        verified(ledger.path)
        state = ledger.state()
        for number in set(runs):
            assert state.runs[number].ticks >= runs.count(number) * each
        ledger.reserve(a_run(0.01), STATED).close("finished")


def test_a_release_is_written_before_it_is_drawn():
    """``RunLog`` is charged by the session's ``charge_then_draw``, which draws last."""
    from dpcore.plugin.parts import Account, ChargeLog

    order = []

    class Told(ChargeLog):
        def charge(self, entry):
            order.append("charged")
            super().charge(entry)

    class Filter:
        def compose(self, event):
            return self

    entry = LedgerEntry(0, "a", "b", GaussianDpEvent(1.0), 0.5)
    Account(Filter(), Told()).charge_then_draw(
        entry.event, lambda: entry, lambda: order.append("drawn")
    )
    assert order == ["charged", "drawn"]
