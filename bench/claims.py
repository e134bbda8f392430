"""Claims of pages, rerun: each carries its command, where its numbers are in the output, and a
tolerance.

    python bench/claims.py                 # all, for hours; DPCORE_DATA_DIR as for figures
    python bench/claims.py --cheap         # those that CI reruns
    python bench/claims.py --page TEXT     # of the pages whose path has TEXT

A page has `<!-- claim: COMMAND => REGULAR EXPRESSION; within TOLERANCE -->NUMBERS<!--/-->`, and
"long claim" where the command takes more than a second. Each group of the expression is a number,
and whatever is between the numbers is words. One number beside two groups is the ratio of the
larger to the smaller. A line may end wherever there is a space. TOLERANCE is a number, or a
share as in `1 %`. A FOLDER in the command is a new one. Exit code 1 if a claim does not hold.
"""

from __future__ import annotations

import argparse
import functools
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Claim", "claims_of", "fault_of", "main", "pages", "printed_by"]

ROOT = Path(__file__).parents[1]
_MARK = re.compile(r"<!-- (long )?claim: (.*?) => (.*?); within (\S+)( %)? -->(.*?)<!--/-->")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+")


@dataclass(frozen=True)
class Claim:
    """One claim of a page.

    Parameters
    ----------
    page : its path from the checkout. ``numbers`` : as the page has them.
    command : what is run. ``pattern`` : where its groups are numbers of what is printed.
    tolerance : by how much a number may differ; ``relative`` : as a share of it.
    long : CI does not rerun it.
    """

    page: str
    command: str
    pattern: str
    tolerance: float
    relative: bool
    numbers: tuple[float, ...]
    long: bool


def pages() -> list[Path]:
    """Return the pages that may have claims."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted([*found, *ROOT.glob("plugins/*/*.md"), *ROOT.glob("bench/**/*.md")])


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def claims_of(text: str, page: str) -> Iterator[Claim]:
    """Yield the claims of a page's text; ValueError for a mark that is none."""
    marks = list(_MARK.finditer(" ".join(text.split())))
    if len(marks) != len(re.findall(r"<!--\s+(?:long\s+)?claim", text)):
        raise ValueError(f"{page} has a claim that is not written as one.")
    for mark in marks:
        is_long, command, pattern, tolerance, share, shown = mark.groups()
        numbers = tuple(map(_number, _NUMBER.findall(shown)))
        within = float(tolerance) / (100 if share else 1)
        yield Claim(page, command, pattern, within, bool(share), numbers, bool(is_long))


@functools.cache
def printed_by(command: str) -> str:
    """Return what a command prints, run once, in the checkout, by this Python.

    Raises subprocess.CalledProcessError if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [folder if word == "FOLDER" else word for word in shlex.split(command)]
        first = {"dpcore": [sys.executable, "-m", "dpcore"], "python": [sys.executable]}[words[0]]
        run = subprocess.run(
            [*first, *words[1:]], cwd=ROOT, check=True, capture_output=True, text=True
        )
        return run.stdout


def fault_of(claim: Claim, run: Callable[[str], str] = printed_by) -> str | None:
    """Return what is wrong with a claim, ``None`` if it holds."""
    found = re.search(claim.pattern, run(claim.command), re.DOTALL)
    if found is None:
        return f"nothing printed is as in {claim.pattern!r}"
    printed = [_number(text) for text in found.groups()]
    if len(claim.numbers) == 1 and len(printed) == 2:
        printed = [max(printed) / min(printed)]
    if len(printed) != len(claim.numbers):
        return f"{len(claim.numbers)} numbers, and {len(printed)} printed"
    for stated, now in zip(claim.numbers, printed, strict=True):
        if not abs(stated - now) <= claim.tolerance * (abs(now) if claim.relative else 1):
            return f"stated {stated:g}, printed {now:g}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cheap", action="store_true", help="those that CI reruns")
    parser.add_argument("--page", default="", help="of pages whose path has this")
    asked, failed = parser.parse_args(arguments), 0
    for path in pages():
        page = str(path.relative_to(ROOT))
        for claim in claims_of(path.read_text(), page) if asked.page in page else ():
            if claim.long and asked.cheap:
                continue
            try:
                fault = fault_of(claim)
            except subprocess.CalledProcessError as error:
                fault = f"the command failed: {error.stderr.strip()[-200:]}"
            failed += fault is not None
            print(f"{page}: {claim.command}: {fault or 'holds'}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
