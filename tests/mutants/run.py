"""Run the tests of a room on each of its mutants.

    python tests/mutants/run.py --folder FOLDER [--room ROOM] [--name TEXT] [--jobs N] [--again]

The folder holds copies of the checkout with an environment each (uv makes it), and the journal. A
mutant whose fate is in the journal is not run again, unless with ``--again``, or where it survived
without a reason in the list: there may be a test by now. A mutant died if a test fails that passes
without it, or if the tests do not end. Fast tests come before slow ones, and of these the files
first that name the function. Nothing of the checkout is altered. The exit status is 1 where a
mutant survives without a reason in the list, or one that has a reason dies.
"""

import argparse
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from mutant_list import ROOT, Mutant, mutants, mutated, rooms

_PARTS = {"fast": "not slow", "slow": "slow"}
_KEPT = {".venv", ".hypothesis", "__pycache__", ".pytest_cache", "uv.lock"}
"""What a copy has beside the files of the checkout."""
_NO_TESTS, _FAILED, _BROKEN = 5, 1, 2
"""Exit states of pytest: none was selected, one failed, a file could not be imported."""


@dataclass
class Outcome:
    """What became of a mutant, or of the tests of a room without one: these are kept by room, part
    and the copy's digest."""

    key: str
    name: str
    outcome: str  # died, survived, error; of tests without a mutant: passed, error
    by: str = ""  # the test that failed
    said: str = ""  # what that test said first
    seconds: float = 0.0
    cpu: float = 0.0


class Journal:
    """The outcomes so far, a line each; the last line of a key counts."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {found.key: found for found in (Outcome(**json.loads(x)) for x in lines)}

    def add(self, found: Outcome) -> None:
        with self._lock:
            self.known[found.key] = found
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
            print(f"{found.outcome:8} {found.cpu:6.1f} s  {found.name}  {found.by}", flush=True)


class Copy:
    """A copy of the checkout with an environment of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
        for path in [*folder.rglob("*")] if folder.exists() else []:
            inside = path.relative_to(folder)
            if path.is_file() and str(inside) not in names and not _KEPT & {*inside.parts}:
                path.unlink()
        self.digest = hashlib.sha256()
        for name in sorted(names):
            target = folder / name
            self.digest.update(hashlib.sha256((ROOT / name).read_bytes()).digest())
            if not (target.exists() and target.read_bytes() == (ROOT / name).read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)
        if (ROOT / "uv.lock").exists():
            shutil.copy2(ROOT / "uv.lock", folder)
        environment = {key: v for key, v in os.environ.items() if key != "VIRTUAL_ENV"}
        subprocess.run(
            ["uv", "sync", "--all-packages", "--quiet"], cwd=folder, env=environment, check=True
        )

    @contextmanager
    def with_wrong(self, mutant: Mutant) -> Iterator[None]:
        """Have the mutant in the copy meanwhile, and leave compiled code of the right file."""
        found = mutated(mutant, self._folder)
        path = found.path
        right, cache = path.read_bytes(), path.parent / "__pycache__"
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as aside:
            of_right = [*cache.glob(f"{path.stem}.*")]
            for file in of_right:
                shutil.move(file, aside)
            times = path.stat()
            path.write_text(found.text)
            try:
                yield
            finally:
                path.write_bytes(right)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                for file in cache.glob(f"{path.stem}.*"):
                    file.unlink()
                for file in of_right:
                    shutil.move(Path(aside, file.name), file)

    def files(self, room: str, mutant: Mutant | None = None) -> list[str]:
        """Return a room's files of tests, those first that name the function most often."""
        words = [] if mutant is None else mutant.function.split(".")
        listed = {}
        for path in (self._folder / name for name in rooms()[room]):
            for file in path.rglob("test_*.py") if path.is_dir() else [path]:
                text = file.read_text()
                listed[str(file.relative_to(self._folder))] = sum(map(text.count, words))
        return sorted(listed, key=lambda name: (-listed[name], name))

    def tests(self, files: list[str], part: str, timeout: float) -> Outcome:
        """Run tests until the first fails: ``died`` then, else ``survived``, or ``error``."""
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", _PARTS[part]]
        command = [self._folder / ".venv/bin/pytest", *options, *files]
        with tempfile.TemporaryFile("w+") as output:
            began = time.monotonic()
            process = subprocess.Popen(
                command, cwd=self._folder, stdout=output, stderr=output, start_new_session=True
            )
            status, cpu = _waited(process, timeout)
            output.seek(0)
            text = output.read()
        found = Outcome("", "", "error", seconds=time.monotonic() - began, cpu=cpu)
        if status in (0, _NO_TESTS):
            found.outcome = "survived"
        elif status is None or status < 0:
            found.outcome, found.by = "died", f"by signal {-status}" if status else "by time-out"
        elif status in (_FAILED, _BROKEN):
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
            said = re.search(r"^E +(\S.*)", text, re.MULTILINE)
            found.outcome, found.by = "died", failed[1] if failed else "while it was imported"
            found.said = said[1][:200] if said else ""
        else:
            found.by = " ".join(text.split())[-300:]
        return found


def _waited(process: subprocess.Popen, timeout: float) -> tuple[int | None, float]:
    """Return exit status, ``None`` where the time ran out, and the CPU seconds of it and its own.

    Ends all that it started and left running.
    """
    status, until = None, time.monotonic() + timeout
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            status = process.returncode = os.waitstatus_to_exitcode(code)
            break
        if time.monotonic() > until:
            os.killpg(process.pid, signal.SIGKILL)
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(code)
            break
        time.sleep(0.1)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return status, usage.ru_utime + usage.ru_stime


def _right_ones_pass(copy: Copy, room: str, part: str, journal: Journal, timeout: float) -> bool:
    """Return whether the tests of the room pass without a mutant; they are run once for a copy."""
    key = f"{room}:{part}:{copy.digest.hexdigest()[:12]}"
    if key not in journal.known or journal.known[key].outcome != "passed":
        found = copy.tests(copy.files(room), part, 4 * timeout)
        found.key, found.name = key, f"{room}, {part}, without a mutant"
        found.outcome = "passed" if found.outcome == "survived" else "error"
        journal.add(found)
    return journal.known[key].outcome == "passed"


def _judge(copy: Copy, mutant: Mutant, journal: Journal, timeout: float) -> None:
    whole = Outcome(mutant.key, str(mutant), "error")
    for part in _PARTS:
        if not _right_ones_pass(copy, mutant.room, part, journal, timeout):
            whole.outcome, whole.by = "error", "the tests fail without it"
            break
        with copy.with_wrong(mutant):
            found = copy.tests(copy.files(mutant.room, mutant), part, timeout)
        whole.seconds, whole.cpu = whole.seconds + found.seconds, whole.cpu + found.cpu
        whole.outcome, whole.by, whole.said = found.outcome, found.by, found.said
        if found.outcome != "survived":
            break
    journal.add(whole)


def _work(copy: Copy, left: queue.SimpleQueue, journal: Journal, timeout: float) -> None:
    while not left.empty():
        try:
            mutant = left.get_nowait()
        except queue.Empty:
            return
        _judge(copy, mutant, journal, timeout)


def _summary(chosen: list[Mutant], journal: Journal) -> int:
    """Print how many died in each room, and who did not; return the exit status."""
    found = {mutant: journal.known.get(mutant.key) for mutant in chosen}
    outcomes = {
        mutant: "not run" if each is None else each.outcome for mutant, each in found.items()
    }
    counts = Counter((mutant.room, outcome) for mutant, outcome in outcomes.items())
    print(f"\n{'room':16} died  of")
    for room in dict.fromkeys(mutant.room for mutant in chosen):
        of_room = sum(mutant.room == room for mutant in chosen)
        print(f"{room:16} {counts[room, 'died']:4} {of_room:3}")
    died = sum(outcome == "died" for outcome in outcomes.values())
    cpu = sum(each.cpu for each in journal.known.values())
    print(f"{'all':16} {died:4} {len(chosen):3}   {cpu:,.0f} CPU s\n")
    wrong = 0
    for mutant, outcome in outcomes.items():
        if outcome != "died":
            print(f"{outcome}: {mutant}. {mutant.survives or 'No reason is known.'}")
        wrong += (outcome, mutant.survives is None) not in (("died", True), ("survived", False))
        if outcome == "died" and mutant.survives is not None:
            print(f"died, though the list says that it survives: {mutant}")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="of copies and journal")
    parser.add_argument("--room", action="append", choices=sorted(rooms()))
    parser.add_argument("--name", default="", help="only those with this text in their line")
    parser.add_argument("--jobs", type=int, default=1, help="copies that are used side by side")
    parser.add_argument(
        "--timeout", type=float, default=900.0, help="seconds for one mutant's tests"
    )
    parser.add_argument("--again", action="store_true", help="run those in the journal too")
    asked = parser.parse_args()
    chosen = [
        mutant
        for mutant in mutants()
        if (asked.room is None or mutant.room in asked.room) and asked.name in str(mutant)
    ]
    for mutant in chosen:
        mutated(mutant)  # a stale one is an error before anything runs
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "journal.jsonl")
    left: queue.SimpleQueue = queue.SimpleQueue()
    for mutant in chosen:
        known = journal.known.get(mutant.key)
        settled = known is not None and (
            known.outcome == "died" or (known.outcome == "survived" and mutant.survives)
        )
        if asked.again or not settled:
            left.put(mutant)
    copies = [Copy(folder / f"copy-{k}") for k in range(min(asked.jobs, left.qsize()))]
    threads = [
        threading.Thread(target=_work, args=(copy, left, journal, asked.timeout)) for copy in copies
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _summary(chosen, journal)


if __name__ == "__main__":
    sys.exit(main())
