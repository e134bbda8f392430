"""Users of three budgets: what those of the smaller ones do less of, on a9a in five folds.

A third of the users has a tenth of the middle budget, a third the middle one, a third three times
as much; 100 rows each, Poisson samples of one row of a hundred, 1,000 rounds, delta = 1e-8,
replace-special. Users of less than the budget for which noise is planned

* `rounds`: join fewer rounds (noise is for the middle budget),
* `clip`: clip each record's gradient at less, and
* `rate`: draw their rows less often (one of a hundred in the mean).

In the last two noise is for the largest budget: Scale and Sample of Boenisch et al. (NeurIPS 2023).
`without` leaves the smallest budget's users out.

    DPCORE_DATA_DIR=... python bench/unequal_budgets.py [--folds 5] \
        [--out bench/results/unequal_budgets.csv]
"""

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
from pathlib import Path

import numpy as np
from printed import OUT, keep, mean_and_error

from dpcore.errors import BudgetExceededError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin.commands import Run
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore_a_ddp.users.messages import User
from dpcore_lab.compare.folds import fold_numbers

DELTA, ROWS, ROUNDS, RATE = 1e-8, 100, 1000, 0.01
BUDGETS = (0.1, 1.0, 3.0)
FORMS = ("rounds", "clip", "rate", "without")


def users_of(n_rows, epsilon):
    """Return users of budgets in turn, who own the rows."""
    sizes = [ROWS] * (n_rows // ROWS) + [n_rows % ROWS] * (n_rows % ROWS > 0)
    return [
        User(f"user-{place}", size, epsilon * BUDGETS[place % 3], DELTA)
        for place, size in enumerate(sizes)
    ]


def fitted(train, users, epsilon, trust, unequal):
    params = {"rounds": ROUNDS, "most_rounds": ROUNDS, "rate": RATE, "unequal": unequal}
    settings = Settings(
        algo="a-ddp",
        epsilon=epsilon,
        delta=DELTA,
        relation="replace-special",
        trust=trust,
        users=users,
        params=params,
    )
    return Run(make_plan(settings), train).model()


def fit_form(train, form, epsilon, trust):
    """Return the model of a form."""
    users = users_of(train.y.size, epsilon)
    if form == "without":
        kept = [user for user in users if user.epsilon >= epsilon]
        owner = np.minimum(np.arange(train.y.size) // ROWS, len(users) - 1)
        mine = np.array([user.epsilon >= epsilon for user in users])[owner]
        return fitted(train.take(mine), kept, epsilon, trust, "rounds")
    return fitted(train, users, epsilon, trust, form)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.5, 2.0])
    parser.add_argument("--trust", nargs="*", default=["local", "secure-aggregation"])
    parser.add_argument("--out", type=Path, help=OUT)
    asked, kept = parser.parse_args(), []
    data = load_registry().load("dataset", "a9a")()
    relation = NeighboringRelation.REPLACE_SPECIAL
    numbers = fold_numbers("a9a", data.y.size, 5, relation, key=None)
    for trust in asked.trust:
        for epsilon in asked.epsilon:
            found = {form: [] for form in FORMS}
            for fold in range(asked.folds):
                train, test = data.take(numbers != fold), data.take(numbers == fold)
                for form, scores in found.items():
                    try:
                        model = fit_form(train, form, epsilon, trust)
                    except BudgetExceededError:  # fewer than a sum needs can join
                        scores.append(np.nan)
                        continue
                    right = (model.margins(test.X) > 0) == (test.y > 0)
                    scores.append(100 * float(right.mean()))
            for form, scores in found.items():
                mean, error = mean_and_error(scores)
                row = {"trust": trust, "epsilon": epsilon, "form": form}
                row |= {"folds": len(scores), "accuracy": f"{mean:.2f}", "error": f"{error:.2f}"}
                ahead = np.subtract(scores, found["without"])
                more, its_error = mean_and_error(ahead)
                row |= {"more than without": f"{more:.2f}", "its error": f"{its_error:.2f}"}
                kept.append(row)
                print(*row.values(), sep="  ", flush=True)
    keep(asked.out, kept)


if __name__ == "__main__":
    main()
