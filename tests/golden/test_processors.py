"""Released bits are those of every x86-64 processor."""

import json

import pytest
from golden import record, store
from processors import other_processors, output_of

FEW = """
import json, sys
sys.path.insert(0, sys.argv[1])
from golden.bits.fits import is_of_few, records
print(json.dumps(records(chosen=is_of_few)))
"""


@pytest.mark.slow
def test_no_released_bit_depends_on_the_processor():
    """By BLAS's order of adding 4 of 228 digests did, and NumPy's own exp changed 2."""
    seen = [store.read(record.file_of("bits/fits"))]
    for name, environment in other_processors().items():
        printed = output_of(["-c", FEW, record.HERE.parent], environment)
        found = json.loads(printed)
        algorithms = {k.split(" ")[0].split(":")[0] for k in found}
        assert len(found) > 50 and algorithms >= {"adassp", "cov-nr", "dp-agd", "sgd-ma"}
        for others in seen:
            assert [k for k in found.keys() & others if found[k] != others[k]] == [], name
        seen.append(found)
