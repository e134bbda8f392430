"""Every released bit of small seeded fits is what it was.

Digests are of fits that no solver of SciPy or LAPACK has a part in. Where a change alters them on
purpose, its message names them, and ``python tests/bits/test_bits.py`` writes them anew.
"""

import json
from pathlib import Path

import pytest

if __name__ != "__main__":
    from bits.cases import digests
else:
    from cases import digests

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.json"


@pytest.mark.slow
def test_every_released_bit_is_what_it_was():
    known, found = json.loads(DIGESTS.read_text()), digests(solved=False)
    changed = {name for name in known | found if known.get(name) != found.get(name)}
    assert not changed, f"{len(changed)} of {len(known)} cases"


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps(digests(solved=False), indent=0) + "\n")
