"""All figures of the papers, one script after the other, with the minutes that each took.

DPCORE_DATA_DIR=... python bench/figures/all.py --results FOLDER [--quick | --reduced]
python bench/figures/all.py             # draws what is kept in bench/results/figures
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from committed import made_in
from panels import asked

HERE = Path(__file__).parent
SCRIPTS = (
    "dp_agd",
    "dp_agd_effects",
    "rsgd_ar",
    "rsgd_ar_time",
    "a_ddp",
    "a_ddp_composition",
    "accuracy_first",
)


def main() -> None:
    how = asked(__doc__)
    if how.results is not None:
        print(f"fits of commit {made_in(how.results)['commit']}")
    began = time.perf_counter()
    for script in SCRIPTS:
        started = time.perf_counter()
        subprocess.run([sys.executable, HERE / f"{script}.py", *sys.argv[1:]], check=True)
        print(f"\n{script}: {(time.perf_counter() - started) / 60:.1f} minutes", flush=True)
    print(f"all: {(time.perf_counter() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
