"""Every released bit of small seeded fits is what it was, and model files stay readable.

Digests are of fits that no solver of SciPy or LAPACK has a part in. Where a change alters them on
purpose, its message names them, and ``python tests/bits/test_bits.py`` writes them anew.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dpcore import load_model

if __name__ != "__main__":
    from bits.cases import digests
    from processors import other_processors, output_of
else:
    from cases import digests

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.json"


@pytest.mark.slow
def test_every_released_bit_is_what_it_was():
    known, found = json.loads(DIGESTS.read_text()), digests(solved=False)
    changed = {name for name in known | found if known.get(name) != found.get(name)}
    assert not changed, f"{len(changed)} of {len(known)} cases"


@pytest.mark.slow
def test_no_released_bit_depends_on_the_processor(tmp_path):
    """By BLAS's order of adding 4 of 228 digests did, and NumPy's own exp changed 2."""
    file, seen = tmp_path / "digests.json", [json.loads(DIGESTS.read_text())]
    for name, environment in other_processors().items():
        output_of([HERE / "cases.py", file, "few"], environment)
        found = {k: v for k, v in json.loads(file.read_text()).items() if "nonprivate" not in k}
        algorithms = {k.split(" ")[0].split(":")[0] for k in found}
        assert len(found) > 150 and algorithms >= {"adassp", "cov-nr", "dp-agd", "sgd-ma"}
        for others in seen:
            assert [k for k in found.keys() & others if found[k] != others[k]] == [], name
        seen.append(found)


def test_a_model_file_of_the_first_format_is_readable_for_ever():
    model = load_model(HERE / "model-1.json")
    assert model.feature_names == ("x1", "x2", "x3", "x4", "x5", "x6")
    scores = model.decision_function(np.eye(6))
    want = model.coef + model.intercept
    np.testing.assert_allclose(scores, want, rtol=0, atol=1e-3)
    assert model.privacy["sentence"].startswith("NOT PRIVATE: ")


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps(digests(solved=False), indent=0) + "\n")
