"""What users who keep their rows can learn together: accuracy and objective against epsilon, and
the time of a round.

    python bench/a_ddp.py [--quick] [--out results.csv] [--figure] [--no-speed]
    python bench/a_ddp.py --read results.csv --figure
    python bench/a_ddp.py --special --no-speed

The setting of the paper (Cheng et al. 2020, Figures 1 and 2): a9a and bank, 100 rows a user, one of
them a round, T = 10, clip 3, delta = 1e-8, 5 folds; replace-one. `a-ddp` stops at 1,000 rounds, and
`a-ddp, least noise` is told so: the noise is the least with which the users' filters hold 1,000
rounds. As published: noise for the clip alone, and a late stop; no guarantee. Whose trust model is
aggregated, a share of the users of 2/3 opens a sum, and a share of 1/10 may collude. Accuracy is of
the fold, the objective of the rows trained on, both computed without privacy. `--figure` draws
bench/a_ddp.svg. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from dpcore.compare.folds import fold_numbers
from dpcore.compare.references import fit_nonprivate, majority_label, objective_of
from dpcore.compare.svg import STYLE, svg_of
from dpcore.data.readers.arrays import dataset_from_arrays
from dpcore.errors import DpcoreError
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SystemNoise
from dpcore.plugin import User
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore_a_ddp.in_process import InProcessPool
from dpcore_a_ddp.round_rules import GradientRounds
from dpcore_a_ddp.sampling_composition import SamplingCompositionAccountant
from dpcore_a_ddp.user_session import UserSession

DATA, EPSILONS, FOLDS, DELTA = ("a9a", "bank"), (0.5, 2.0, 8.0, 32.0, 128.0), 5, 1e-8
LOCAL, SECURE = "local", "secure-aggregation"
FITS = {
    "a-ddp": ("a-ddp", {}, False),
    "a-ddp, least noise": ("a-ddp", {"noise": "filter", "rounds": 1000}, False),
    "sgd-adv-local": ("sgd-adv-local", {}, False),
    "sgd-pass": ("sgd-pass", {}, False),
    "sgd-maj": ("sgd-maj", {}, False),
    "a-ddp as published": ("a-ddp", {}, True),
}
SPECIAL = {
    "a-ddp, least noise": FITS["a-ddp, least noise"],
    "the same, rate .01, rdp": (
        "a-ddp",
        {"noise": "filter", "rounds": 1000, "rate": 0.01},
        False,
        "rdp",
    ),
}
"""Under replace-special, the weaker relation: a comparison of its own."""

COLOURS = dict(
    zip(FITS, ("#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "0.4"), strict=True)
)
MARKERS = dict(zip(FITS, "osD^vX", strict=True))


def fits(quick, relation, labels):
    """Yield a row of results for each fit."""
    for name in DATA:
        data = load_registry().load("dataset", name)()
        replace_one = NeighboringRelation.REPLACE_ONE
        numbers = fold_numbers(name, data.y.size, FOLDS, replace_one, key=None)
        for fold in range(1 if quick else FOLDS):
            train, test = data.take(numbers != fold), data.take(numbers == fold).table()
            table = train.table()
            w, _ = fit_nonprivate(table, Logistic(), 0.0)
            yield [name, "", "not private", "", fold, *scores(w, table, test), 0.0]
            label = majority_label(table)
            share = np.concatenate([block.y == label for block in test.blocks]).mean()
            yield [name, "", "majority", "", fold, float(share), math.log(2), 0.0]
            for trust in (LOCAL,) if labels is SPECIAL else (LOCAL, SECURE):
                for epsilon in EPSILONS[::2] if quick else EPSILONS:
                    for label, how in labels.items():
                        row = fit(train, (label, *how), trust, epsilon, relation)
                        if row is not None:
                            w, seconds = row
                            found = scores(w, table, test)
                            yield [name, trust, label, epsilon, fold, *found, seconds]


def fit(train, how, trust, epsilon, relation):
    label, algo, params, published, *accountant = how
    if (published or accountant) and trust == SECURE:
        return None
    settings = Settings(
        algo=algo,
        epsilon=epsilon,
        delta=DELTA,
        relation=relation,
        accountant=accountant[0] if accountant else None,
        params=params,
        trust=trust,
        as_published=published,
    )
    started = time.process_time()
    try:
        model = fit_dataset(make_plan(settings), train)
    except DpcoreError as error:
        print(f"{label}, {trust}, epsilon {epsilon:g}: {error}", flush=True)
        return None
    return model.w, time.process_time() - started


def scores(w, train, test):
    right = [(block.margins(w) > 0) == (block.y > 0) for block in test.blocks]
    return float(np.concatenate(right).mean()), objective_of(train, Logistic(), 0.0, w)


def means_of(rows):
    """Return mean accuracy, mean objective and the accuracy's standard error, over the folds."""
    groups = defaultdict(list)
    for name, trust, label, epsilon, _, accuracy, objective, _ in rows:
        groups[name, trust, label, epsilon].append((float(accuracy), float(objective)))
    return {
        key: (*np.mean(found, axis=0), float(np.std(found, axis=0)[0] / math.sqrt(len(found))))
        for key, found in groups.items()
    }


def print_tables(means, labels):
    for name in DATA:
        plain = means[name, "", "not private", ""]
        majority = means[name, "", "majority", ""]
        print(
            f"\n{name}: not private {plain[0]:.1%}, objective {plain[1]:.3f}; "
            f"majority class {majority[0]:.1%}, objective of no model {math.log(2):.3f}"
        )
        for trust in (LOCAL, SECURE):
            epsilons = sorted({float(k[3]) for k in means if k[:2] == (name, trust)})
            print(f"  {trust:30s}" + "".join(f"{'eps ' + format(e, 'g'):>16s}" for e in epsilons))
            for label in labels:
                cells = [means.get((name, trust, label, str(e))) for e in epsilons]
                if any(cells):
                    texts = [f"{c[0]:.1%} {c[1]:.3f}" if c else "-" for c in cells]
                    print(f"  {label:30s}" + "".join(f"{text:>16s}" for text in texts))


def draw(means, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({**STYLE, "font.size": 8, "lines.markeredgewidth": 0})
    panels = [(name, trust) for name in DATA for trust in (LOCAL, SECURE)]
    figure, axes = plt.subplots(2, 4, figsize=(12, 5.6), sharex=True, sharey="row")
    for column, (name, trust) in enumerate(panels):
        for row, measure in enumerate(("accuracy", "objective")):
            axis = axes[row, column]
            for label in FITS:
                found = sorted(
                    (float(k[3]), v[row]) for k, v in means.items() if k[:3] == (name, trust, label)
                )
                if found:
                    unsound = label.endswith("published")
                    axis.plot(
                        *zip(*found, strict=True),
                        color=COLOURS[label],
                        marker=MARKERS[label],
                        ms=4,
                        lw=1.1,
                        ls="--" if unsound else "-",
                        label=f"{label} (not private)" if unsound else label,
                    )
            for label, ls in (("not private", "-"), ("majority", ":")):
                value = means[name, "", label, ""][row]
                shown = "majority class; below, w = 0" if label == "majority" else label
                axis.axhline(value, color="black", lw=0.8, ls=ls, label=shown)
            axis.set_xscale("log")
            axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
            axis.minorticks_off()
            axis.tick_params(left=column == 0, bottom=row == 1)
            axis.grid(axis="y", alpha=0.25, lw=0.5)
            if row == 1:
                axis.set_xlabel("epsilon, delta = 1e-8, replace-one")
            if row == 0:
                axis.set_title(f"{name}, {trust}")
            if column == 0:
                axis.set_ylabel(measure)
    axes[0, 0].set_ylim(bottom=0.4)
    axes[1, 0].set_ylim(top=0.9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    path.write_bytes(svg_of(figure))


def speed(quick):
    """Print the CPU time of a round: 100 sparse rows of 124 features each, all of them at once and
    one session after the other."""
    users, size, width, ones = (1000 if quick else 10_000), 100, 124, 14
    rng = np.random.default_rng(1)
    from scipy.sparse import csr_matrix

    columns = np.sort(np.argsort(rng.random((1000, width - 1)), axis=1)[:, :ones], axis=1)
    n = users * size
    indices = np.tile(columns, (n // 1000, 1)).ravel()
    X = csr_matrix((np.ones(n * ones), indices, np.arange(0, n * ones + 1, ones)), (n, width - 1))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    data = dataset_from_arrays(X, y, row_norm=4.0)
    owners = [User(f"u{i}", size, 2.0, DELTA) for i in range(users)]
    make_filter = SamplingCompositionAccountant.from_budget
    facts = {"n_features": width, "row_norm": data.row_norm, "raw_norm_bound": data.raw_norm_bound}
    rules = GradientRounds(
        loss="logistic", relation="replace-one", clip=3.0, noise_multiplier=30.0, **facts
    )
    pool = InProcessPool(owners, data, Logistic(), make_filter)
    pool.begin(rules, 100)
    w = np.zeros(width)
    together = best(lambda i: pool.round(i, w), 12)
    wall = best(lambda i: pool.round(12 + i, w), 12, time.perf_counter)
    few = 50
    sessions = [
        UserSession(
            owners[i],
            data.take(np.arange(n) // size == i),
            Logistic(),
            rules,
            make_filter(2.0, DELTA),
            SystemNoise(),
        )
        for i in range(few)
    ]
    alone = best(lambda i: [user.answer(i, w) for user in sessions], 4) / few * users
    print(
        f"a round of {users:,} users x {size} rows x {width} features: {1e3 * together:.1f} ms of "
        f"CPU time, {1e3 * wall:.1f} ms on the clock; session by session {alone:.2f} s of CPU "
        f"time, {alone / together:.0f} times as much"
    )


def best(call, times, clock=time.process_time):
    found = []
    for i in range(times):
        started = clock()
        call(i)
        found.append(clock() - started)
    return min(found[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one fold, three epsilons")
    parser.add_argument("--out", type=Path, help="CSV file of the fits")
    parser.add_argument("--read", type=Path, help="CSV file of an earlier run, not run again")
    parser.add_argument("--figure", action="store_true", help="draw bench/a_ddp.svg")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--special", action="store_true", help="replace-special, with rdp too")
    asked = parser.parse_args()
    labels = SPECIAL if asked.special else FITS
    if asked.read:
        with asked.read.open(newline="") as file:
            rows = list(csv.reader(file))
    else:
        if not asked.no_speed:
            speed(asked.quick)
        relation = "replace-special" if asked.special else "replace-one"
        rows = [list(map(str, row)) for row in fits(asked.quick, relation, labels)]
    if asked.out:
        with asked.out.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    means = means_of(rows)
    print_tables(means, labels)
    if asked.figure:
        draw(means, Path(__file__).with_name("a_ddp.svg"))


if __name__ == "__main__":
    main()
