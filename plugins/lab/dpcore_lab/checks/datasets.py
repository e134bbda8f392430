"""Checks of a data set: its public facts are the same whatever its rows are."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.isolation import is_apart, not_isolated, run_apart
from dpcore_lab.made_tables.altered_files import ALTERATIONS, ReadFiles, alter
from dpcore_lab.replay.canonical import canonical
from dpcore_tables.datasets import fetch
from dpcore_tables.store.reader import are_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcore.plugin.parts import Dataset

    Load = Callable[[], Dataset]

__all__ = ["check_dataset"]

_FACTS = ("n_features", "row_norm", "raw_norm_bound", "n0", "capacity", "from_data", "typed_by")


@dataclass(frozen=True)
class _Loaded:
    """The public facts of a loaded data set, and a digest of its rows.

    ``read`` : the files that may hold them. ``replaced`` : those that were read from a copy.
    ``failure`` : why it could not be loaded; empty if it was.
    """

    facts: dict[str, Any]
    digest: str
    read: tuple[str, ...] = ()
    replaced: frozenset[str] = frozenset()
    failure: str = ""


def check_dataset(load: Load) -> Tested:
    """Raise AssertionError if the public facts of a data set follow from its rows.

    ``load`` : returns the data set. It is loaded again in another process and folder, which has to
    give the same rows. Then the files that it read are put in another order and cut to a few rows
    and to one, and read in their place: bounds, categories and every other public fact have to stay
    as they were. Labels and rows are within the bounds, which a table verifies. The process apart
    writes no file.

    Of a data set that says that its schema was derived from its rows (``from_data``) no fit is
    private, and its facts are not compared.
    """
    require_assertions()
    here = _loaded(load)
    if not is_apart():
        return Tested("that it loads", not_tested=("its facts", *not_isolated()))
    apart = run_apart(partial(_loaded_apart, load))
    assert not apart.failure, f"In another process and folder it fails: {apart.failure}"
    _require_same(here.facts, apart.facts, "it is loaded in another process and folder")
    assert apart.digest == here.digest, "Loaded again, in another process, it has other rows."
    if here.facts["from_data"]:
        return Tested("that it loads again", not_tested=("its facts: they are from its rows",))
    tried, left = _check_altered(load, apart)
    loads = f"two loads, and its files' rows {', '.join(tried)}" if tried else "two loads"
    power = "a bound that is the largest value of its rows is found" if tried else ""
    ranges = (f"files {len(apart.read)}", f"orders of their rows {len(tried)}")
    return Tested(f"{loads}: every public fact the same", power, (*left, *not_isolated()), ranges)


def _check_altered(load: Load, here: _Loaded) -> tuple[list[str], list[str]]:
    """Return which alterations of the files were read, and, as clauses, what was not altered."""
    if not here.read:
        return [], ["whether its facts follow from its rows, which come from no file"]
    tried: list[str] = []
    left: list[str] = []
    replaced: set[str] = set()
    for how, places in ALTERATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            instead = {}
            for k, path in enumerate(here.read):
                own = Path(folder) / str(k)
                own.mkdir()
                if copy := alter(path, own, places):
                    instead[path] = copy
            other = run_apart(partial(_loaded_apart, load, instead))
        replaced |= other.replaced
        if other.failure:
            left.append(f"its rows {how}, which it refuses")
        elif other.replaced:
            _require_same(here.facts, other.facts, f"its files' rows are {how}")
            tried.append(how)
    kept = [Path(path).name for path in here.read if path not in replaced]
    return tried, left + [f"other rows of {name}, which could not be altered" for name in kept]


def _loaded_apart(load: Load, instead: Mapping[str, str] | None = None) -> _Loaded:
    """Load the data set in a process of its own. Files that are read in place of others have
    another SHA-256, which is not asked for then."""
    if instead:
        fetch._check = lambda path, file: None
    files = ReadFiles(instead)
    try:
        loaded = _loaded(load)
    except AssertionError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return _Loaded({}, "", files.read, frozenset(files.replaced), reason)
    return replace(loaded, read=files.read, replaced=frozenset(files.replaced))


def _loaded(load: Load) -> _Loaded:
    dataset = load()
    return _Loaded(_facts(dataset), _digest(dataset))


def _facts(dataset: Dataset) -> dict[str, Any]:
    facts = {name: getattr(dataset, name) for name in _FACTS}
    columns = {f"column {c['name']}": c for c in dataset.schema.to_dict().pop("columns")}
    return {**facts, **columns, "schema": dataset.schema.to_dict()}


def _digest(dataset: Dataset) -> str:
    """Return a digest of the rows, having checked that they are within their bounds."""
    y = dataset.y
    assert are_labels(dataset.schema.label, y).all(), (
        "Its labels are not -1 and +1, nor places of classes, nor a target scaled to [-1, 1]."
    )
    table = dataset.table()
    digest = hashlib.sha256(y.tobytes())
    w = np.arange(1, table.n_features + 1) / table.n_features
    for block in table.blocks:
        digest.update(block.margins(w).tobytes())
    return digest.hexdigest()


def _require_same(facts: dict[str, Any], others: dict[str, Any], when: str) -> None:
    changed = sorted(
        name
        for name in facts.keys() | others.keys()
        if canonical(facts.get(name)) != canonical(others.get(name))
    )
    assert not changed, (
        f"Its public facts change where {when}: {', '.join(changed)}. They follow from its rows."
    )
