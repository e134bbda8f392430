"""The table of the facts that a loss states of itself, and its one reader.

Sensitivities rest on these facts, and none on the type of a loss: whoever's loss states a fact is
treated as the core's own, and the checks of a loss look at what can be checked cheaply.
"""

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.privacy.immutable import by_identity, fault_of_unfrozen
from dpcore.registry.tables.class_metadata import Method, Shape, fact, fault_of, near_name

__all__ = ["LossFacts"]

_TEXT = Shape("a text", lambda value: type(value) is str)
_FLAG = Shape("True or False", lambda value: type(value) is bool)
_BOUND = Shape("a number > 0, or inf", lambda value: _is_number(value) and value > 0)
_NONNEGATIVE = Shape("a number >= 0", lambda value: _is_number(value) and 0 <= value < math.inf)
_FILLS = Method(("z", "y", "out"))


def _is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class LossFacts:
    """The facts of a loss. Those with a default count only where the loss's own class states them,
    and not a base of it: a subclass may be another function.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic, LossFacts
    >>> LossFacts.of(Logistic()).lipschitz
    1.0
    """

    name: str = fact(_TEXT, "the name that it is registered by")
    classification: bool = fact(
        _FLAG, "labels are -1.0 and +1.0, or class indices; otherwise real numbers"
    )
    lipschitz: float = fact(_BOUND, "bound of the size of `dvalue`")
    smoothness: float = fact(_BOUND, "Lipschitz constant of `dvalue` in z; `inf` for a corner")
    value: Callable[..., None] = fact(_FILLS, "fills `out` with the losses, each >= 0")
    dvalue: Callable[..., None] = fact(_FILLS, "fills `out` with their slopes in z")
    log_link: bool = fact(
        _FLAG,
        "predictions are means exp(z), in half widths of the target's bounds, the lower one 0",
        False,
    )
    multiclass: bool = fact(
        _FLAG,
        "z, and `out` of `dvalue`, have a row for each class; labels are places 0.0, 1.0, ...",
        False,
    )
    convex: bool = fact(_FLAG, "`value` is convex in z", False)
    nonincreasing: bool = fact(
        _FLAG, "`value` never grows with y z: slopes have the sign of -y", False
    )
    quadratic: bool = fact(_FLAG, "`value` is (z - y)^2 / 2", False)
    radial_slope: float | None = fact(
        _NONNEGATIVE,
        "bound of -z `dvalue` over all z and labels, rounded up; none: `value` at 0",
        None,
    )
    self_concordance: float | None = fact(
        _NONNEGATIVE, "bound of third over second derivative of `value` in z; none: unknown", None
    )
    thread_safe: bool = fact(_FLAG, "nothing is kept between calls, which may overlap", False)
    largest_weight: float = fact(
        _BOUND, "the most that a row's loss is multiplied by; errors grow with it", 1.0
    )
    weighs_rows: bool = fact(
        _FLAG, "labels are pairs of label and weight (`dpcore.data.weighted_labels`)", False
    )
    exposure: bool = fact(
        _FLAG,
        "weights of rows are exposures, up to B: the loss is of e times label and mean, and its "
        "constants grow max(1, B) times at most",
        False,
    )
    precise_dvalue: Callable[..., None] | None = fact(
        _FILLS, "`dvalue` to within 2^-46, the last bits perhaps not those of other calls", None
    )
    line_totals: Callable[..., Any] | None = fact(
        Method(("line", "y", "step", "count", "clip", "scale")),
        "clipped totals of evenly spaced margins at once, as `Loss` says",
        None,
    )

    @classmethod
    def of(cls, loss: Any) -> "LossFacts":
        """Return the facts that a loss states.

        Raises InvalidInputError, with the name that is meant, for a fact that is misspelt, missing
        or of another type.
        """
        kind = type(loss)
        facts = cls(**{name: getattr(loss, name) for name in _names_that_count(kind)})
        for name, (shape, default) in _SHAPES.items():
            # Of a property the class does not know what it gives.
            stated = getattr(facts, name)
            if stated is not default and not shape.holds(stated):
                raise InvalidInputError(f"The loss {kind.__name__} {shape.fault(name, stated)}")
        return facts


_SHAPES = {
    field.name: (field.metadata["kind"], field.default)
    for field in fields(LossFacts)
    if isinstance(field.metadata["kind"], Shape)
}


@by_identity
def _names_that_count(kind: type) -> tuple[str, ...]:
    """Return the facts to be read of a loss of this class: those it has to state, and its own."""
    if fault := fault_of_unfrozen(kind) or fault_of(LossFacts, kind):
        raise InvalidInputError(f"The loss {kind.__name__} {fault}")
    known = fields(LossFacts)
    unstated = [field.name for field in known if field.name not in vars(kind)]
    for name, value in vars(kind).items():
        # A fact of its own that a base states too is misspelt as easily.
        if type(value) is bool and (meant := near_name(name, unstated)):
            raise InvalidInputError(
                f"The loss {kind.__name__} states {name!r}, which nobody reads. "
                f"Did you mean {meant!r}?"
            )
    return tuple(f.name for f in known if f.default is MISSING or f.name in vars(kind))
