"""Data sets whose public facts follow from their rows, and one whose facts do not."""

import dataclasses

import numpy as np

from dpcore.plugin.parts import dataset_from_arrays


def write(folder):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    np.savetxt(folder / "rows.txt", np.column_stack([rows, rows[:, 0] > 0]))


def read(folder):
    table = np.loadtxt(folder / "rows.txt")
    return table[:, :-1], np.where(table[:, -1] > 0, 1, 0)


class Loader:
    def __init__(self, folder):
        self.folder = folder


class Honest(Loader):
    def __call__(self):
        X, y = read(self.folder)
        return dataset_from_arrays(X, y, classes=(0, 1), row_norm=4.0)


class BoundsFromRows(Loader):
    """Takes the longest row for the public bound."""

    def __call__(self):
        X, y = read(self.folder)
        longest = float(np.linalg.norm(X, axis=1).max())
        return dataset_from_arrays(X, y, classes=(0, 1), row_norm=longest)


class RowsFromChance(Loader):
    """Adds noise of its own to the rows, other noise each time."""

    def __call__(self):
        X, y = read(self.folder)
        X = X + 1e-3 * np.random.default_rng().normal(size=X.shape)
        return dataset_from_arrays(X, y, classes=(0, 1), row_norm=4.0)


class CountFromRows(Loader):
    """States the exact number of rows as the public one."""

    def __call__(self):
        data = Honest(self.folder)()
        counted = dataclasses.replace(data.schema, rows=len(data.y))
        return dataclasses.replace(data, schema=counted)
