"""What is refused, with which words and which exit status, before anything is charged."""

import re
import shutil
import sys
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from golden import tables
from golden.command import dpcore, outcome
from golden.commands.refused_files import BROKEN
from golden.commands.refused_lines import COMMANDS, EXPRESSIONS
from golden.models.said import FILES
from golden.normal_form import normal

from dpcore.plugin.parts import load_registry

_SHORT = {
    "TRAIN": "dpcore train --data rows.csv --schema hired.toml",
    "NR": "dpcore train --data rows.csv --schema hired.toml --algo output-nr --l2 .1"
    " --relation replace-one",
    "TUNE": "dpcore tune --algo dp-gd --data rows.csv --schema hired.toml",
}
_MODELS = {"model": "intervals-missing", "classes": "several-classes", "number": "gaussian-budget"}
_MODELS |= {"hashed": "hashed", "unnamed": "unnamed-features"}
ACCEPTED = "accepted"
_BAD_PLUGINS = sorted(Path(__file__).parents[2].glob("bad_plugins/*"))
_PREPARED = (
    "dpcore convert rows.csv rows.dpcore --schema hired.toml --quiet",
    "dpcore ledger init table.ledger --epsilon 3 --delta 1e-6",
    "dpcore ledger init small.ledger --epsilon .1 --delta 1e-6",
    "dpcore ledger init units.ledger --epsilon 3 --delta 1e-6 --unit person",
)


def records():
    """Return exit status and words of each command, and error and words of each expression."""
    _prepare()
    before = _files()
    found = {line: _refused(line) for line in COMMANDS.strip().splitlines()}
    names = _names()
    for line in EXPRESSIONS.strip().splitlines():
        told = outcome(partial(eval, line, names))
        found[line] = told if isinstance(told, str) else ACCEPTED
    changed = {path.name for path, _ in before ^ _files()}
    return found | _of_bad_plugins() | {"files that were changed": sorted(changed)}


def _files():
    return {(path, path.read_bytes()) for path in Path().rglob("*") if path.is_file()}


def _prepare():
    tables.write()
    Path("units.toml").write_text(tables.schema(unit=True, rows=None))
    Path("some.csv").write_text("age,height,city\n1,0,Bern\n,0,Bern\n")
    Path("folder").mkdir()
    for name, content in BROKEN.items():
        Path(name).write_bytes(content)
    files = {file.stem: file for file in FILES}
    for name, file in _MODELS.items():
        shutil.copy(files[file], f"{name}.json")
    for line in _PREPARED:
        assert dpcore(line).status == 0, line


def _refused(line):
    first, _, rest = line.partition(" ")
    said = outcome(lambda: dpcore(f"{_SHORT.get(first, first)} {rest}"))
    if isinstance(said, str):  # an error that no user is to see
        return said
    told = f"exit {said.status}\n{said.out}{said.err}" if said.status else ACCEPTED
    # An argument has capitals in some versions of typer.
    told = re.sub(r"(?<=Missing argument ')\w+", lambda found: found[0].lower(), told)
    return normal(told).splitlines()


def _of_bad_plugins():
    """Return what fails where plugins are installed that cannot be used."""
    modules = set(sys.modules)
    load_registry.cache_clear()
    with mock.patch.object(sys, "path", [*map(str, _BAD_PLUGINS), *sys.path]):
        listed = normal(dpcore("dpcore list --strict").out).partition("\nfailed\n")[2]
        found = {
            "with tests/bad_plugins: dpcore list --strict": listed.splitlines(),
            "with tests/bad_plugins: dpcore info gaussian": _refused("dpcore info gaussian"),
        }
    load_registry.cache_clear()
    for name in {*sys.modules} - modules:
        if name.startswith("bad_"):
            del sys.modules[name]
    return found


def _names():
    import tomllib

    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import StandardScaler

    import dpcore
    import dpcore.plugin as plugin
    import dpcore.plugin.parts as parts
    import dpcore_accounting.samples as samples
    import dpcore_sklearn as sklearn
    from dpcore_tables.statistics import open_session

    frame = pd.DataFrame(tables.visits())
    X = np.column_stack([frame["age"] / 100, frame["height"], frame["income"] / 100])
    names = {name: getattr(dpcore, name) for name in dpcore.__all__}
    names |= {"frame": frame, "schema": tomllib.loads(tables.schema()), "csr": csr_matrix}
    names |= {"X": X, "y": (frame["hired"] == "yes").to_numpy(int), "nan": np.nan}
    names |= {"sklearn": sklearn, "plugin": plugin, "parts": parts, "samples": samples}
    names |= {"open_session": open_session}
    return names | {"StandardScaler": StandardScaler}
