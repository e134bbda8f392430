"""All figures of the papers, one script after the other, with the minutes that each took by the
clock, and the seconds of CPU time of its processes.

DPCORE_DATA_DIR=... python bench/figures/all.py --results FOLDER [--quick | --reduced]
python bench/figures/all.py             # draws what is kept in bench/results/figures
"""

from __future__ import annotations

import resource
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
    began = spent_so_far()
    for script in SCRIPTS:
        started = spent_so_far()
        subprocess.run([sys.executable, HERE / f"{script}.py", *sys.argv[1:]], check=True)
        print(f"\n{script}: {since(started)}", flush=True)
    print(f"all: {since(began)}")


def spent_so_far() -> tuple[float, float]:
    """Return seconds by the clock, and of the CPU time of processes that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), ended.ru_utime + ended.ru_stime


def since(before: tuple[float, float]) -> str:
    clock, cpu = (now - then for now, then in zip(spent_so_far(), before, strict=True))
    return f"{clock / 60:.1f} minutes, {cpu:.0f} CPU s"


if __name__ == "__main__":
    main()
