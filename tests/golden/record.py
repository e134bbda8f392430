"""Golden records: what users and their files see, as it was when it was last looked at.

    uv run --all-packages python tests/golden/record.py                     what differs
    uv run --all-packages python tests/golden/record.py bits commands/help  of some of them
    uv run --all-packages python tests/golden/record.py --write             and the records anew

Each kind is a module whose ``records()``, called in an empty folder, returns values by name, beside
a file of them. All of it goes through what outlives a move between modules: the command line,
``dpcore``, its pages for plugins, the estimators, and files.
"""

import argparse
import importlib
import platform
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden import store
from golden.command import empty_folder
from golden.comparing import differences

HERE = Path(__file__).parent
FAST = (
    "commands/help",
    "commands/refusals",
    "pages/imports",
    "models/said",
    "ledgers/entries",
    "bits/sources",
)
SLOW = ("bits/steps", "bits/tuned", "bits/fits", "training/reports", "comparisons/kept")
"""Kinds that the fast tests leave out."""
OF_X86 = ("bits/sources", "bits/steps", "bits/tuned", "bits/fits", "comparisons/kept")
"""Kinds with released bits, or values of them, stated for x86-64: no other was looked at."""


def is_stated_here(kind):
    """Return whether this processor has to come to the records of a kind."""
    return kind not in OF_X86 or platform.machine().lower() in ("x86_64", "amd64")


def file_of(kind):
    """Return the path of the records of a kind."""
    return HERE / f"{kind}.json"


def module_of(kind):
    """Return the module that computes them."""
    return importlib.import_module(f"golden.{kind.replace('/', '.')}")


def found(kind):
    """Return the records of a kind as they come out now, in an empty folder."""
    with empty_folder():
        return module_of(kind).records()


def main(words=None):
    """Print what differs; return whether anything does, and is not written."""
    asked = _parser().parse_args(words)
    if asked.find_combinations:
        with empty_folder():
            module_of("training/reports").find_combinations()
    differ = [_differs(kind, asked.write) for kind in _kinds_of(asked.kinds)]
    return any(differ) and not asked.write


def _differs(kind, write):
    records = found(kind)
    lines = differences(kind, store.read(file_of(kind)), records)
    print("\n".join(lines or [f"{kind}: {len(records)} records, as they were"]), flush=True)
    if write:
        store.write(file_of(kind), records)
    return bool(lines)


def _kinds_of(names):
    """Return the kinds of these names, or in the folders of these names, all by default."""
    kinds = [kind for kind in (*FAST, *SLOW) if is_stated_here(kind)]
    for name in names:
        if not any(f"{kind}/".startswith(f"{name}/") for kind in kinds):
            _parser().error(f"there are no records {name!r}; there are {', '.join(kinds)}")
    return [k for k in kinds if not names or any(f"{k}/".startswith(f"{n}/") for n in names)]


def _parser():
    parser = argparse.ArgumentParser(description="Compare golden records, or write them anew.")
    told = "kinds of records, such as bits/steps, or a folder of some; all by default"
    parser.add_argument("kinds", nargs="*", help=told)
    parser.add_argument("--write", action="store_true", help="write the records anew")
    told = "look for the combinations of training/reports anew, which takes minutes"
    parser.add_argument("--find-combinations", action="store_true", help=told)
    return parser


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # What a run warns of is in no record.
    sys.exit(main())
