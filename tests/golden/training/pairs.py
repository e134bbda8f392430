"""Few combinations of levels with every pair in one that is accepted, where there is one."""

import itertools


def pairs_of(row):
    """Return the pairs of a row's levels, each with its place."""
    return frozenset(itertools.combinations(enumerate(row), 2))


def covering(factors, accepted):
    """Return accepted rows that hold together every pair that any accepted row has, and by each
    other pair a row that is refused.

    Parameters
    ----------
    factors : the levels of each place; what comes out depends on them and their order alone.
    accepted : whether a row is accepted; it is asked again of the same ones.
    """
    never = _never(factors, accepted)
    rows = [row for row in itertools.product(*factors) if not pairs_of(row) & never.keys()]
    chosen, left = [], frozenset().union(*map(pairs_of, rows))
    while left:
        best = max(rows, key=lambda row: len(pairs_of(row) & left))
        rows.remove(best)
        if not pairs_of(best) & left:
            raise ValueError(f"Accepted alone, and never together with others: {sorted(left)}")
        if accepted(best):
            chosen.append(best)
            left -= pairs_of(best)
    return chosen, never


def _never(factors, accepted):
    """Return the pairs that no accepted row has, each with one of its rows."""
    never, covered = {}, set()
    for pair in sorted(frozenset().union(*map(pairs_of, itertools.product(*factors)))):
        rows = _rows_with(pair, factors)
        possible = (row for row in rows if not pairs_of(row) & never.keys())
        row = None if pair in covered else next(filter(accepted, possible), None)
        if row is not None:
            covered |= pairs_of(row)
        elif pair not in covered:
            never[pair] = min(rows, key=lambda row: len(pairs_of(row) & never.keys()))
    return never


def _rows_with(pair, factors):
    chosen = dict(pair)
    levels = [[chosen[place]] if place in chosen else of for place, of in enumerate(factors)]
    return [*itertools.product(*levels)]
