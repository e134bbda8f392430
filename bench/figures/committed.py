"""Tables of results as CSV files that name the commit and the command that made them.

Two lines that begin with "#" come before the heads: the commit of the checkout, with "and changes"
where tracked files differ from it, and the command. More such lines may follow. A folder of fits,
all of one commit, has the first two in its `made.txt`.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

__all__ = [
    "command_of",
    "commit_of",
    "is_in_history",
    "made_in",
    "read",
    "read_or_make",
    "write",
]

ROOT = Path(__file__).parents[2]
Row = dict[str, str]


def commit_of(root: Path = ROOT) -> str:
    """Return the checkout's commit, and whether files that git tracks differ from it."""

    def said(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    changed = said("status", "--porcelain", "--untracked-files=no")
    return said("rev-parse", "HEAD") + (" and changes" if changed else "")


def command_of() -> str:
    """Return the command of this process, with paths from the checkout; of a folder elsewhere the
    name alone."""
    script = Path(sys.argv[0]).resolve()
    name = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    given = [a.removeprefix(f"{ROOT}/") for a in sys.argv[1:]]
    given = [Path(a).name if Path(a).is_absolute() else a for a in given]
    return " ".join(["python", str(name), *given])


def made_in(folder: Path) -> dict[str, str]:
    """Return commit and command of a folder's fits, which are this process's where it has none."""
    path = folder / "made.txt"
    if not path.exists():
        path.write_text(f"# commit: {commit_of()}\n# command: {command_of()}\n")
    return read(path)[0]


def is_in_history(commit: str, root: Path = ROOT) -> bool:
    """Return whether a commit is an ancestor of the checkout's, or that one."""
    command = ["git", "-C", str(root), "merge-base", "--is-ancestor", commit, "HEAD"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def write(path: Path, rows: Iterable[Row], said: Mapping[str, str] | None = None) -> None:
    """Write one row or more, after what is said of them: commit and command of this process unless
    others are given."""
    kept = list(rows)
    said = said or {"commit": commit_of(), "command": command_of()}
    with path.open("w", newline="") as out:
        out.writelines(f"# {name}: {value}\n" for name, value in said.items())
        table = csv.DictWriter(out, list(kept[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(kept)


def read(path: Path) -> tuple[dict[str, str], list[Row]]:
    """Return what the first lines say (``commit``, ``command``), and the rows."""
    lines = path.read_text().splitlines()
    said = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return said, list(csv.DictReader(line for line in lines if not line.startswith("# ")))


def read_or_make(path: Path, make: Callable[[], Iterable[Row]]) -> Sequence[Row]:
    """Return the rows of a file, which is made if it is not there."""
    if not path.exists():
        write(path, make())
    return read(path)[1]
