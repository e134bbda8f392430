"""A table whose numbers are curves in one run and lines in another is one table to its ledger."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore import Intervals, Schema, fit
from dpcore.plugin import InvalidInputError
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.runs import digest_of_schema

AGE = {"kind": "numeric", "lower": 0, "upper": 8}


def schema_of(**keys):
    columns = {"age": AGE | keys, "y": {"kind": "label", "classes": [0, 1]}}
    return Schema.from_dict({"columns": columns})


@pytest.mark.slow
def test_runs_with_curves_and_without_are_of_one_table(tmp_path):
    path = str(tmp_path / "table.ledger")
    TableLedger.create(path, Terms.of(20.0, 1e-5)).close()
    age = np.random.default_rng(1).uniform(0, 8, 4000)
    rows = pd.DataFrame({"age": age, "y": (np.abs(age - 4) < 2).astype(int)})
    given = {"epsilon": 5.0, "delta": 1e-6, "ledger": path}
    assert fit(rows, schema=schema_of(), **given).schema == schema_of(knots=8)
    lines = fit(rows, schema=schema_of(), params={"curves": "none"}, **given)
    assert lines.schema == schema_of()
    fit(rows, schema=schema_of(knots=5), **given)
    with pytest.raises(InvalidInputError, match="another schema"):
        fit(rows, schema=schema_of(upper=9), **given)


def test_private_bounds_with_curves_between_and_without_are_of_one_table(tmp_path):
    path = str(tmp_path / "table.ledger")
    TableLedger.create(path, Terms.of(20.0, 1e-5)).close()
    age = np.random.default_rng(1).uniform(0, 8, 4000)
    rows = pd.DataFrame({"age": age, "y": (np.abs(age - 4) < 2).astype(int)})
    given = {"epsilon": 5.0, "delta": 1e-6, "ledger": path}
    schema = schema_of(lower="private")
    assert fit(rows, schema=schema, **given).schema.features[0].knots == 8
    lines = fit(rows, schema=schema, params={"curves": "none"}, **given)
    assert lines.schema.n_features == 2
    assert digest_of_schema(schema_of(lower="private", knots=8)) == digest_of_schema(schema)
    with pytest.raises(InvalidInputError, match="another schema"):
        fit(rows, schema=schema_of(), **given)


def test_a_norm_that_grew_with_the_hats_is_the_tables():
    lines = replace(schema_of(), norm=1.375)
    curves = replace(schema_of(knots=8), norm=math.sqrt(1.375**2 + 1))
    assert digest_of_schema(curves) == digest_of_schema(lines)
    assert digest_of_schema(replace(lines, norm=1.25)) != digest_of_schema(lines)


@pytest.mark.parametrize(
    ("keys", "norm", "words"),
    [
        ({}, None, {"also": [Intervals(share=0.3)]}),
        ({"upper": 1}, None, {}),
        ({}, 0.5, {}),
    ],
)
def test_curves_that_cannot_be_had_are_refused_before_a_charge(tmp_path, keys, norm, words):
    path = str(tmp_path / "table.ledger")
    ledger = TableLedger.create(path, Terms.of(20.0, 1e-5))
    rows = pd.DataFrame({"age": np.linspace(0, 8, 60), "y": np.arange(60) % 2})
    given = {"schema": replace(schema_of(**keys), norm=norm), "epsilon": 5.0, "ledger": path}
    with pytest.raises(InvalidInputError, match="There are no curves where"):
        fit(rows, params={"curves": "all"}, **given, **words)
    assert not ledger.state().runs
    fit(rows, **given, **words)  # the same run without curves is charged
    assert len(ledger.state().runs) == 1
