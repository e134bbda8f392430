"""What does a ledger cost, and does it survive?

Prints medians, in milliseconds by the clock, of a reservation (a synchronous commit) and of a
default fit of adult with a ledger and without, alternating; and the outcome of kills: each a
process that spends, killed at a random time, after which the ledger has to open, to be whole, and
to count every run that a draw was seen of.

    DPCORE_DATA_DIR=... python bench/ledger.py [--fits 10] [--kills 200]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dpcore.accountants.gdp import GdpAccountant
from dpcore.data.datasets import adult
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.fitting.table_ledger import LedgerRequest
from dpcore.ledger import TableLedger, Terms
from dpcore.ledger.cost import Run
from dpcore.ledger.verify import verified

STATED = {"analyst": "", "algorithm": "bench", "epsilon": 0.01, "delta": 1e-9}
SPEND = """
import sys
from dpcore.accountants.gdp import GdpAccountant
from dpcore.ledger import TableLedger
from dpcore.ledger.cost import Run
from dpcore.privacy.events import GaussianDpEvent
from dpcore.session.ledger import LedgerEntry

stated = {"analyst": "", "algorithm": "bench", "epsilon": 0.01, "delta": 1e-9}
run = Run(GdpAccountant.from_budget(0.01, 1e-9), "add-or-remove-one", None)
ledger, event = TableLedger(sys.argv[1]), GaussianDpEvent(1000.0)
print("ready", flush=True)
while True:
    reservation = ledger.reserve(run, stated)
    for k in range(3):
        reservation.log.charge(LedgerEntry(k, "gradient", "gaussian", event, 1e-6))
        print("drawn", reservation.reference["run"], flush=True)
    reservation.close("finished")
"""


def reservations(folder: Path, count: int) -> None:
    """Print the median time of a reservation."""
    ledger = TableLedger.create(folder / "commits.ledger", Terms.of(1000.0, 1e-6))
    run = Run(GdpAccountant.from_budget(0.01, 1e-9), "add-or-remove-one", None)
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        ledger.reserve(run, STATED)
        seconds.append(time.perf_counter() - began)
    first, last = seconds[: count // 4], seconds[-count // 4 :]
    print(
        f"reservation, median of {count}: {statistics.median(seconds) * 1e3:.2f} ms "
        f"(first quarter {statistics.median(first) * 1e3:.2f}, last "
        f"{statistics.median(last) * 1e3:.2f})"
    )


def fits(folder: Path, count: int) -> None:
    """Print the medians of fits with and without a ledger, alternating."""
    plan, data = make_plan(Settings(epsilon=0.1)), adult.load()
    ledger = TableLedger.create(folder / "fits.ledger", Terms.of(100.0, 1e-6))
    table, request = data.table(), LedgerRequest(ledger.path)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for repeat in range(count + 1):
        for under in (False, True):
            began = time.perf_counter()
            fit_dataset(plan, data, table=table, table_ledger=request if under else None)
            if repeat:
                seconds[under].append(time.perf_counter() - began)
    without, beside = (statistics.median(seconds[under]) * 1e3 for under in (False, True))
    print(
        f"default fit of adult, median of {count}: {without:.0f} ms, under a ledger {beside:.0f} ms"
        f" ({beside - without:+.1f} ms, {beside / without:.3f})"
    )


def kills(folder: Path, count: int) -> None:
    """Print how many kills a ledger came out of whole."""
    ledger, coin = TableLedger.create(folder / "k.ledger", Terms.of(1000.0, 1e-6)), random.Random()
    seen = 0
    for _ in range(count):
        process = subprocess.Popen(
            [sys.executable, "-c", SPEND, ledger.path], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(coin.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        told = process.communicate()[0].splitlines()
        runs = {int(line.split()[1]) for line in told if line.count(" ") == 1}
        verified(ledger.path)
        known = ledger.state().runs
        assert runs <= known.keys() and all(known[number].ticks for number in runs)
        seen += len(runs)
    state = ledger.state()
    left = sum(run.outcome == "open" for run in state.runs.values())
    print(
        f"{count} kills: whole after each; {seen} runs seen to draw, all charged; {left} of "
        f"{len(state.runs)} runs left open, counted whole"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--kills", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reservations(folder, 200)
        fits(folder, asked.fits)
        kills(folder, asked.kills)


if __name__ == "__main__":
    main()
