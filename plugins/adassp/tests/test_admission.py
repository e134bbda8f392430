"""Both optimizers pass the checks of any plugin, and refuse what they have no theorem for."""

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.testing import parametrize_with_checks
from dpcore_adassp.adassp import AdaSsp
from dpcore_adassp.gram_ridge import GramRidge


@pytest.mark.slow
@parametrize_with_checks([AdaSsp(), GramRidge()])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)


@pytest.mark.parametrize("algo", ["adassp", "gram-ridge"])
def test_units_of_several_rows_are_refused_with_what_fits(algo):
    columns = {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "lower": 0, "upper": 1},
    }
    rows = pd.DataFrame({"id": [1, 1, 2, 2], "x": np.linspace(0, 1, 4), "y": np.linspace(0, 1, 4)})
    schema = {"columns": columns, "unit": "id", "rows_per_unit": 2}
    with pytest.raises(InvalidInputError, match="units of several rows.*these run.*dp-gd") as told:
        dpcore.fit(rows, schema=schema, algo=algo, loss="ridge")
    assert not hasattr(told.value, "__notes__")  # nothing was charged
