"""The page of secure sums: its example runs, and its values are those of the code."""

import re
from pathlib import Path

import pytest

from dpcore_a_ddp.secure_sums.parameters import SumParameters

PAGE = Path(__file__).parents[2] / "SECURE_SUMS.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the page of a checkout")


def test_the_example_prints_what_it_says(capsys):
    pytest.importorskip("cryptography", reason="needs the extra dpcore-a-ddp[secure]")
    (code,) = re.findall(r"<!-- secure sums -->\n```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(compile(code, "SECURE_SUMS.md", "exec"), {})
    assert capsys.readouterr().out.strip() == code.rpartition("# ")[2].strip()


@pytest.mark.parametrize("users", [100, 1000, 10_000])
def test_its_table_has_the_parameters_of_the_code(users):
    usual = SumParameters.usual(users, users // 10, -(-2 * users // 3))
    shown = re.search(rf"^ +{users:,} .*$", PAGE.read_text(), re.M).group().split()
    assert shown[1:3] == [f"{usual.neighbours:,}", f"{usual.honest:,}"]
    assert float(shown[3]) == pytest.approx(usual.alpha, abs=0.005)


def test_the_attacks_that_it_names_are_tests():
    attacks = Path(__file__).parent / "test_attacks.py"
    assert f"secure_sums/{attacks.name}`" in PAGE.read_text()
    assert attacks.read_text().count("\ndef test_") >= 8
