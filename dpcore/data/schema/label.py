"""The column to predict, and columns that are not used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.data.schema.parts import empty_keys
from dpcore.data.schema.values import Entry, Value, are_numbers, check_bounds, check_distinct
from dpcore.errors import InvalidInputError

__all__ = ["Drop", "Label", "label_from"]


@dataclass(frozen=True, slots=True)
class Label:
    """The column to predict.

    Parameters
    ----------
    negative, positive : values that mean -1 and +1. An empty ``negative`` means every other value.
    lower, upper : for a real-valued target instead, the bounds it is clamped to. They are mapped to
        [-1, 1], so that no unit of the target is too large or too small for a fit.
    missing : words for no value, beside those of the table.
    """

    kind: ClassVar[str] = "label"
    name: str
    negative: tuple[Value, ...] = ()
    positive: tuple[Value, ...] = ()
    lower: float | None = None
    upper: float | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.is_real:
            check_bounds(self.name, self.lower, self.upper)
        elif not self.positive:
            raise InvalidInputError(
                f"Label column {self.name!r} needs classes = [negative, positive], "
                "positive = [...], or lower and upper for a real-valued target."
            )
        check_distinct(self.name, "classes", self.negative + self.positive)

    @property
    def is_real(self) -> bool:
        return self.lower is not None or self.upper is not None

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for a real-valued target."""
        return 0 if self.is_real else 2

    @property
    def takes_numbers(self) -> bool:
        """Whether cells are numbers where they could be text."""
        return self.is_real or are_numbers(self.negative + self.positive)

    @property
    def scale(self) -> tuple[float, float]:
        """The middle and the half width of a real-valued target's bounds: a fit is of
        (y - middle) / half, and middle + half * margin is in the target's own unit."""
        if self.lower is None or self.upper is None:
            return 0.0, 1.0
        return self.lower / 2 + self.upper / 2, (self.upper - self.lower) / 2

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind}
        if self.is_real:
            data |= {"lower": self.lower, "upper": self.upper}
        elif not self.negative:
            data["positive"] = list(self.positive)
        else:
            sides = (self.negative, self.positive)
            data["classes"] = [v[0] if len(v) == 1 else list(v) for v in sides]
        return data | empty_keys(None, False, self.missing)


@dataclass(frozen=True, slots=True)
class Drop:
    """A column of the file that is not used, nor even converted."""

    kind: ClassVar[str] = "drop"
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}


def label_from(name: str, entry: Entry) -> Label:
    where, data, missing = entry.where, entry.data, entry.words("missing")
    given = [key for key in ("classes", "positive") if key in data]
    given += ["lower, upper"] if "lower" in data or "upper" in data else []
    if len(given) > 1:
        raise InvalidInputError(f"Expected one of {' and '.join(given)} in {where}, not both.")
    if "classes" in data:
        classes = data["classes"]
        if not isinstance(classes, (list, tuple)) or len(classes) != 2:
            raise InvalidInputError(
                f"Expected classes of {where} to be two: the negative and the positive one."
            )
        sides = [c if isinstance(c, (list, tuple)) else [c] for c in classes]
        if not all(sides):
            raise InvalidInputError(f"A class of {where} has no values.")
        negative, positive = (entry.values("classes", side) for side in sides)
        return Label(name, negative, positive, missing=missing)
    if "positive" in data:
        return Label(name, positive=entry.values("positive"), missing=missing)
    if "lower" in data or "upper" in data:
        lower, upper = entry.number("lower"), entry.number("upper")
        return Label(name, lower=lower, upper=upper, missing=missing)
    return Label(name)
