"""The table behind ``dpcore account``."""

import json
import subprocess
import sys

import pytest

from dpcore.budget import describe_budget
from dpcore.errors import InvalidInputError


def by_name(rows):
    return {(row["accountant"], row["conversion"]): row for row in rows}


def test_one_row_per_accountant_and_conversion():
    rows = by_name(describe_budget(1.0, 1e-5))
    assert list(rows) == [
        ("zcdp", "tight"),
        ("zcdp", "bun-steinke"),
        ("gdp", "exact"),
        ("rdp", "tight"),
        ("pure", "basic"),
    ]
    assert rows["gdp", "exact"]["noise_multiplier"] == pytest.approx(3.730631634816, rel=1e-12)
    assert rows["zcdp", "tight"]["noise_multiplier"] == pytest.approx(4.04513035829, rel=1e-9)
    assert rows["pure", "basic"]["noise_multiplier"] is None
    assert rows["rdp", "tight"]["order"] > 1
    json.dumps(list(rows.values()))


def test_without_delta_only_pure_remains():
    assert [row["accountant"] for row in describe_budget(1.0, 0.0)] == ["pure"]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 1e-6), (1.0, 1.0), (1.0, -0.1), (float("nan"), 1e-6)]
)
def test_bad_budgets_are_refused(epsilon, delta):
    with pytest.raises(InvalidInputError, match="Expected (epsilon|delta)="):
        describe_budget(epsilon, delta)


def test_no_heavy_import():
    code = (
        "import sys, dpcore.budget; dpcore.budget.describe_budget(1.0, 1e-6);"
        "print([name for name in ('numba', 'numpy', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
