"""Externals that take no time: shell scripts, registered by a distribution that stands on the
path."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Dataset

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "age": {"kind": "numeric", "lower": 0, "upper": 100},
            "city": {"kind": "categorical", "categories": ["Bern", "Genf"]},
            "label": {"kind": "label", "classes": ["no", "yes"]},
        }
    }
)
X = np.array([[0.25, 1, 0, 1], [0.5, 0, 1, 1], [1.0, 0, 0, 1]])
"""The numbers are multiples of 2^-16; the last city is none of the two; the intercept is 1."""


def rows_of(X=X, y=(-1.0, 1.0, 1.0), schema=SCHEMA):
    return Dataset("made", np.ascontiguousarray(X), np.array(y), schema)


def arrow(values, name="prediction"):
    table = pa.table({name: values})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Return what registers externals: a command of a shell for each name, after which ``$1`` is
    the folder of the exchange; ``facts`` are those of all."""

    def register(scripts, **facts):
        folder = tmp_path / "plugin"
        info = folder / "dpcore_made_externals-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: dpcore-made-externals\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text("[dpcore.externals]\nmade = made_externals\n")
        lines = ["from dpcore_lab.externals import hookimpl", "@hookimpl"]
        lines += ["def register_externals(register):", "    pass"]
        for name, script in scripts.items():
            command = ("/bin/sh", "-c", script, "made")
            lines.append(f"    register({name!r}, {command!r}, summary='Made.', **{facts!r})")
        (folder / "made_externals.py").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(str(folder))

    yield register
    sys.modules.pop("made_externals", None)
