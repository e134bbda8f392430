"""The CPU seconds of tests, in all, by room and by test, and the budget that a run has.

Other programs do not change a number of CPU seconds much, as they do one of the clock. Each process
that runs tests counts what it and its ended children took.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

_SLOWEST = 20
_SLACK = 1.25
_FEW = 1000
"""Of fewer tests nothing is printed: whoever runs some looks at these."""
BUDGET = "DPCORE_TESTS_CPU_SECONDS"
"""The environment variable with the budget: a run that takes a quarter more fails."""
NEW_PLUGIN = 10.0
"""The budget of a plugin's tests, of which a quarter more fails too where there is a budget."""
FIRST_PLUGINS = {
    f"plugins/{name}"
    for name in (
        *("a-ddp", "accuracy-first", "adassp", "baselines", "dask", "dp-agd", "rsgd-ar"),
        *("accounting", "lab", "ledger", "report", "sklearn", "tables", "tuning"),
    )
}
"""Those that were there before: the budget of all holds them."""


def cpu_seconds():
    """Return the CPU seconds of this process and its ended children."""
    return sum(os.times()[:4])


def room_of(test):
    """Return the room of a test by its identifier: a folder of tests, a plugin, or a file."""
    path = Path(test.partition("::")[0])
    return "/".join(path.parts[:2])


class CpuTimes:
    """Prints the totals and the slowest tests at the end, and holds the run to its budget."""

    def __init__(self, budget=None):
        self._budget = budget
        self._by_test, self._of_workers, self._began = Counter(), 0.0, {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self._began[item.nodeid] = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown" and item.nodeid in self._began:
            taken = cpu_seconds() - self._began.pop(item.nodeid)
            report.user_properties = [*report.user_properties, ("cpu", taken)]
        return report

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            self._by_test[report.nodeid] += dict(report.user_properties).get("cpu", 0.0)

    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu"] = cpu_seconds()
        elif self.exceeded and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self._of_workers += getattr(node, "workeroutput", {}).get("cpu", 0.0)

    @property
    def total(self):
        """The CPU seconds of the run so far, those of collecting tests and of imports too."""
        # Workers are children too, which would count twice once they have ended.
        return sum(os.times()[:2]) + self._of_workers if self._of_workers else cpu_seconds()

    @property
    def by_room(self):
        """The CPU seconds of the tests so far, by room."""
        by_room = Counter()
        for test, taken in self._by_test.items():
            by_room[room_of(test)] += taken
        return by_room

    @property
    def exceeded(self):
        """Sentences, one for each budget of which the run took a quarter more."""
        if self._budget is None:
            return []
        plugins = {
            room: taken
            for room, taken in self.by_room.items()
            if room.startswith("plugins/") and room not in FIRST_PLUGINS
        }
        found = [(f"All tests ({BUDGET})", self.total, self._budget)]
        found += [(f"A new plugin, {room},", taken, NEW_PLUGIN) for room, taken in plugins.items()]
        return [
            f"{what} took {taken:.2f}, more than a quarter above the budget of {budget:g}: "
            "make tests cheaper, or mark those that take seconds as slow."
            for what, taken, budget in found
            if taken > _SLACK * budget
        ]

    def pytest_terminal_summary(self, terminalreporter):
        exceeded = self.exceeded
        if len(self._by_test) < _FEW and not exceeded:
            return
        write = terminalreporter.write_line
        terminalreporter.section("CPU seconds")
        total, by_room = self.total, self.by_room
        write(f"{total:.0f} in all, {total - by_room.total():.0f} of them to collect and to import")
        write("; ".join(f"{room} {taken:.1f}" for room, taken in by_room.most_common()))
        for test, taken in self._by_test.most_common(_SLOWEST):
            write(f"{taken:6.1f} {test}")
        for sentence in exceeded:
            write(sentence)


def pytest_configure(config):
    """Count the tests of all folders: hooks of a conftest.py are asked about its own alone."""
    budget = os.environ.get(BUDGET)
    config.pluginmanager.register(CpuTimes(float(budget) if budget else None))
