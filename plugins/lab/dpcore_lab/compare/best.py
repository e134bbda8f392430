"""The best algorithms of a comparison, as far as its intervals tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dpcore.plugin.parts import exact
from dpcore_lab.compare.settings import REFERENCES, shown_name
from dpcore_lab.compare.table import RISING, Mean

__all__ = ["Best", "best_lines", "best_of"]

_CHOOSING = (
    "The best, and those that are not clearly worse: their intervals reach its mean. Choosing by "
    "this on private data is itself a release, which no budget here covers:"
)


@dataclass(frozen=True)
class Best:
    """The best algorithm, first, and those that intervals do not tell from it."""

    data: str
    epsilon: float
    algorithms: tuple[str, ...]


def best_of(means: Sequence[Mean], measure: str) -> list[Best]:
    """Return the best at each epsilon on each data set, where there are two to choose from.

    An algorithm is among them if its own interval reaches the best mean. References, and algorithms
    without a guarantee, are not chosen from.
    """
    sign = 1.0 if measure in RISING else -1.0
    groups: dict[tuple[str, float], list[tuple[float, float, str]]] = {}
    for mean in means:
        if mean.mean is None or mean.epsilon is None:
            continue
        if mean.algorithm not in REFERENCES and not mean.unsound:
            one = sign * mean.mean, mean.half_width or 0.0, mean.algorithm
            groups.setdefault((mean.data, mean.epsilon), []).append(one)
    return [Best(*key, _reaching(group)) for key, group in sorted(groups.items()) if len(group) > 1]


def _reaching(group: list[tuple[float, float, str]]) -> tuple[str, ...]:
    ordered = sorted(group, key=lambda one: -one[0])
    most = ordered[0][0]
    return tuple(name for value, width, name in ordered if value + width >= most)


def _marked(names: Sequence[str], said: Mapping[str, str | None]) -> Iterator[str]:
    for name in names:
        yield shown_name(name, guarantee=said[name])


def best_lines(means: Sequence[Mean], measure: str) -> Iterator[str]:
    """Yield what choosing is, and a line for each data set; nothing where there is no choice."""
    found = best_of(means, measure)
    said = {mean.algorithm: mean.guarantee for mean in means}
    if found:
        yield _CHOOSING
    for data in dict.fromkeys(best.data for best in found):
        chosen = (
            f"at epsilon {exact(best.epsilon)}: {', '.join(_marked(best.algorithms, said))}"
            for best in found
            if best.data == data
        )
        yield f"  {data}, {'; '.join(chosen)}."
