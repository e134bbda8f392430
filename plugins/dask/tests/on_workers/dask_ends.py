"""Sums that end their worker, or take long, and frames; processes of a test can import them."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd


class EndsWorkers:
    """Counts rows and blocks; ends its process so many times in the middle of a pass."""

    kind = "ends"

    def __init__(self, folder, times):
        self.folder, self.times = folder, times

    def start(self):
        return np.array([100, 0], dtype=np.int64)

    def answer_block(self, block):
        for i in range(self.times):
            if self._is_first(i):
                os.kill(os.getpid(), signal.SIGKILL)
        return np.array([block.n_rows, 1], dtype=np.int64)

    def _is_first(self, i):
        try:
            Path(self.folder, f"ended-{i}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class ChangesAndEnds:
    """Counts rows; once, in the middle of a pass, changes every file and ends its process."""

    kind = "changes"

    def __init__(self, folder, mark):
        self.folder, self.mark = folder, mark

    def start(self):
        return np.array([0], dtype=np.int64)

    def answer_block(self, block):
        try:
            Path(self.mark).touch(exist_ok=False)
        except FileExistsError:
            return np.array([block.n_rows], dtype=np.int64)
        for path in Path(self.folder).glob("*.parquet"):
            path.write_bytes(path.read_bytes() + b"\n")
        os.kill(os.getpid(), signal.SIGKILL)


class Takes:
    """Counts rows, slowly; writes a file when it has begun."""

    kind = "takes"

    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds

    def start(self):
        return np.array([0], dtype=np.int64)

    def answer_block(self, block):
        if block.n_rows:
            Path(self.folder, "begun").touch()
            time.sleep(self.seconds)
        return np.array([block.n_rows], dtype=np.int64)


def read_rows(path, folder):
    return pd.read_parquet(path)


def read_other_rows_again(path, folder):
    """Return the rows of a file, in another order from the second time on."""
    rows = pd.read_parquet(path)
    try:
        Path(folder, f"read-{Path(path).stem}").touch(exist_ok=False)
    except FileExistsError:
        return pd.concat([rows.iloc[1:], rows.iloc[:1]]) if len(rows) > 1 else rows.iloc[:0]
    return rows
