"""The forms of a function of one row: its arguments, and where its result goes."""

from dataclasses import dataclass

__all__ = ["FORMS", "FUNCTIONS", "Form"]


@dataclass(frozen=True, slots=True)
class Form:
    """The arguments of a function of one row, and whether it returns a number.

    ``numbers`` : its arguments that are a float64. ``arrays`` : those that are float64 arrays of a
    public length. ``written`` : the one of these that it writes to, ``None`` for a function that
    returns a number.
    """

    numbers: tuple[str, ...]
    arrays: tuple[str, ...]
    written: str | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        first = "x" if "x" in self.arrays else ""
        return tuple(sorted((*self.numbers, *self.arrays), key=lambda name: name != first))


FORMS = {
    "coefficient": Form(("z", "y"), ("parameters",)),
    "weight": Form(("z", "y"), ("parameters",)),
    "contribution": Form(("y",), ("x", "parameters", "out"), written="out"),
}
"""The forms of a function, each with its arguments by name."""

FUNCTIONS = {"abs": 1, "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "sqrt": 1, "tanh": 1}
"""The functions of numbers that there are, with the number of their arguments, beside ``min`` and
``max``, of two or more, and ``float`` and ``int``, of one. They are the core's own."""
