"""Words of ``dpcore.fit`` that belong together, as one frozen value each.

A word of ``fit`` takes the plain value, or one of these with what is said beside it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Algorithm",
    "Budget",
    "Ledger",
    "OneVsRest",
    "Rows",
    "Threads",
    "Unit",
    "Users",
    "Weights",
]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and its variant: ``fit(X, y, algo=Algorithm(NAME, use={...}))``.

    Parameters
    ----------
    name : an optimizer's name; ``None`` for the default.
    use : slot name to the registered name that fills it.
    preset : a named set of parameters.
    as_published : whether the authors' code runs as it is: marked not private.

    Examples
    --------
    >>> from dpcore import Algorithm
    >>> Algorithm(use={"noise": "laplace"}).as_published
    False
    """

    name: str | None = None
    use: Mapping[str, str] | None = None
    preset: str | None = None
    as_published: bool = False


@dataclass(frozen=True)
class Budget:
    """A budget that is more than an epsilon: ``fit(X, y, epsilon=Budget(rho=0.1))``.

    Parameters
    ----------
    epsilon : the budget; ``None`` where rho or mu is, and for 1.
    rho, mu : the budget as rho-zCDP or mu-GDP: the filter enforces exactly that, and the epsilon
        that follows at ``delta`` is stated beside it.
    epsilon_max : where epsilon is an output, the worst case that is agreed to; ``None`` for 5.
    targets : what such an algorithm is asked for, as ``{"target_excess_risk": 0.05}``.
    conversion : the accountant's rule from (epsilon, delta) to its unit; ``None`` for its own.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Budget, fit
    >>> X, y = np.array([[0.0], [1.0]] * 50), np.array([0, 1] * 50)
    >>> fit(X, y, classes=(0, 1), bounds=(0, 1), epsilon=Budget(rho=0.1)).privacy["budget"]
    0.1
    """

    epsilon: float | None = None
    rho: float | None = None
    mu: float | None = None
    epsilon_max: float | None = None
    targets: Mapping[str, Any] | None = None
    conversion: str | None = None


@dataclass(frozen=True)
class Ledger:
    """The ledger of a table and the run in it: ``fit(X, y, ledger=Ledger(path, analyst="ana"))``.

    Parameters
    ----------
    path : the file, or address, of ``dpcore ledger init``; ``None`` for the schema's, or that of
        ``DPCORE_LEDGER``.
    analyst : who runs it, for the table of runs.
    same_table : whether a schema that the ledger does not know is of the same rows, which is
        recorded.
    part : ``"column=level"`` of a schema's column of listed categories or bins: its rows alone are
        used. In a ledger, runs over parts by one column cost what the most expensive one does.

    Examples
    --------
    >>> from dpcore import Ledger
    >>> Ledger(analyst="ana", part="ward=surgery").path is None
    True
    """

    path: str | os.PathLike[str] | None = None
    analyst: str = ""
    same_table: bool = False
    part: str | None = None


@dataclass(frozen=True)
class OneVsRest:
    """One fit of each class against the rest, within one budget: ``fit(X, y, loss=OneVsRest())``.

    It is for algorithms and losses of two classes. Of two classes it is a single fit.

    Parameters
    ----------
    loss : a loss of two classes; ``None`` for ``logistic``.

    Examples
    --------
    >>> from dpcore import OneVsRest
    >>> OneVsRest("huber-svm").loss
    'huber-svm'
    """

    loss: str | None = None


@dataclass(frozen=True)
class Rows:
    """Public values for the number of rows: ``fit(X, y, n0=Rows(1000, capacity=5000))``.

    Parameters
    ----------
    n0 : about how many rows there are.
    capacity : more rows than there may be, from which the grid of the sums follows.

    Examples
    --------
    >>> from dpcore import Rows
    >>> Rows(1000, capacity=5000).n0
    1000
    """

    n0: int | None = None
    capacity: int | None = None


@dataclass(frozen=True)
class Threads:
    """An engine and its number of threads, which leaves the model the same: ``engine=Threads(2)``.

    Parameters
    ----------
    count : how many may sum over the rows; ``None`` for all processors.
    engine : what sums over the rows, by name, or ``NAME:ADDRESS``.

    Examples
    --------
    >>> from dpcore import Threads
    >>> Threads(2).engine
    'local'
    """

    count: int | None = None
    engine: str = "local"


@dataclass(frozen=True)
class Unit:
    """The unit that is protected: ``fit(frame, schema=..., unit=Unit("person", rows=4))``.

    Parameters
    ----------
    column : of a frame or file, which says whose a row is: the guarantee is for all rows of one
        value of it. ``None`` for the schema's.
    rows : at most how many rows of each are used; ``None`` for the schema's value.

    Examples
    --------
    >>> from dpcore import Unit
    >>> Unit("person", rows=4).rows
    4
    """

    column: str | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Users:
    """Users who keep their rows: ``fit(X, y, algo=NAME, users=Users("users.csv"))``.

    Parameters
    ----------
    users : the path of a file of users and their budgets, or ``User`` objects, who
        own the rows in their order; ``None`` for users of one budget.
    trust : what their server sees; ``None`` for ``local``.

    Examples
    --------
    >>> from dpcore import Users
    >>> Users("users.csv", trust="secure-aggregation").trust
    'secure-aggregation'
    """

    users: Any = None
    trust: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """A weight for each row: ``fit(X, y, sample_weight=Weights(values, bound=5))``.

    Parameters
    ----------
    values : a number >= 0 for each row in memory, or the name of a column of a file or a frame
        that has it; as private as the row. It multiplies the row's loss, and so its gradient before
        that is clipped.
    bound : a public number that larger ones are held to.

    Examples
    --------
    >>> from dpcore import Weights
    >>> Weights([1.0, 0.5], bound=5.0).bound
    5.0
    """

    values: Any
    bound: float | None
