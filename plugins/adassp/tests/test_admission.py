"""All optimizers here pass the checks of any plugin, and refuse what they have no theorem for."""

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import InvalidInputError
from dpcore_adassp.adassp import AdaSsp
from dpcore_adassp.boosted_adassp import BoostedAdaSsp
from dpcore_adassp.gram_ridge import GramRidge
from dpcore_lab.checks import parametrize_with_checks


@pytest.mark.slow
@parametrize_with_checks([AdaSsp(), BoostedAdaSsp(), GramRidge()])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)


def of_units():
    """Return rows of a unit each two, and their schema."""
    columns = {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "lower": 0, "upper": 1},
    }
    x = np.linspace(0, 1, 2000)
    rows = pd.DataFrame({"id": np.arange(2000) // 2, "x": x, "y": x / 2 + 0.2})
    return rows, {"columns": columns, "unit": "id", "rows_per_unit": 2}


@pytest.mark.parametrize("algo", ["adassp", "boosted-adassp"])
def test_units_of_several_rows_are_refused_with_what_fits(algo):
    rows, schema = of_units()
    with pytest.raises(InvalidInputError, match="units of several rows.*these run.*dp-gd") as told:
        dpcore.fit(rows, schema=schema, algo=algo, loss="ridge")
    assert not hasattr(told.value, "__notes__")  # nothing was charged


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_units_of_several_rows_cost_gram_ridge_more_noise(relation):
    rows, schema = of_units()
    words = {"algo": "gram-ridge", "loss": "ridge", "epsilon": 4.0, "relation": relation, "seed": 1}
    model = dpcore.fit(rows, schema=schema, **words)
    assert np.mean((model.predict(rows) - rows["y"]) ** 2) < 0.3 * rows["y"].var()
    alone = dpcore.fit(rows[["x", "y"]], schema={"columns": schema["columns"]}, **words)
    signals = [fitted.report["details"]["u"] for fitted in (alone, model)]
    assert signals[0] == pytest.approx(2 * signals[1], rel=0.1)
