"""The curves of a model: what a number adds to the margin at each of its knots.

A number with knots has its own feature t in [0, 1] and a hat for each knot, 1 there and 0 at the
others. So at knot k the column adds w_line t_k + w_k, and between two knots it is linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.columns import transforms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.plugin.columns import FeatureColumn
    from dpcore.plugin.parts import Model

__all__ = ["CurveOfColumn", "choice_in_words", "curves_of"]


@dataclass(frozen=True, slots=True)
class CurveOfColumn:
    """The curve of a column.

    Parameters
    ----------
    of_class : the class whose margin it is, of three classes and more; else ``None``.
    column : its name. ``knots`` : in the unit of its cells.
    added : to the margin at each knot; of a number to predict, in the unit of the label,
        or, by a log link, to the logarithm of its mean.
    """

    of_class: Any
    column: str
    knots: tuple[float, ...]
    added: tuple[float, ...]


def curves_of(model: Model) -> Iterator[CurveOfColumn]:
    """Yield the curve of each number with knots beside its bounds, of each class in turn."""
    schema = model.schema
    half = schema.label.scale[1] if schema.label.is_real and not model.log_link else 1.0
    names = (None,) if model.w.ndim == 1 else model.classes or ()
    for name, w in zip(names, half * np.atleast_2d(model.coef), strict=True):
        at = 0
        for column in schema.features if schema.width is None else ():
            width = sum(part.width for part in column.parts)
            if (hat := _hat(column)) is not None:
                own = w[at : at + width]
                line, hats = own[0], own[-len(hat.knots) :]
                t = np.linspace(0.0, 1.0, len(hat.knots))
                added = tuple((line * t + hats).tolist())
                yield CurveOfColumn(name, column.name, _in_cells(column, hat), added)
            at += width


def choice_in_words(model: Model) -> str:
    """Return a sentence that says which numbers with knots the run made curves, and why; none of a
    model without them, or whose algorithm takes all features as they are."""
    schema = model.schema
    known = schema.features if schema.width is None else ()
    names = [column.name for column in known if _hat(column) is not None]
    details = getattr(model, "details", None) or {}
    if not names or "curves" not in details:
        return ""
    what = "curves" if details["curves"] else "lines without curves"
    return (
        f"The algorithm's public rule made {what} of {', '.join(names)}: the signal-to-noise ratio "
        f"with all curves is u = {details['u_with_hats']:.0f}."
    )


def _hat(column: FeatureColumn) -> transforms.Hat | None:
    """Return the hats beside a column's number, ``None`` where it has none."""
    chains = column.encoding.chains
    last = chains[-1][-1]
    return (
        last
        if isinstance(chains[0][-1], transforms.Affine) and isinstance(last, transforms.Hat)
        else None
    )


def _in_cells(column: FeatureColumn, hat: transforms.Hat) -> tuple[float, ...]:
    """Return the knots in the unit of a column's cells."""
    if any(isinstance(transform, transforms.Log) for transform in column.encoding.chains[0]):
        lower, upper = column.bounds or (1.0, 2.0)
        share = np.linspace(0.0, 1.0, len(hat.knots))
        return tuple((lower * (upper / lower) ** share).tolist())
    return hat.knots
