"""Slots of an optimizer: what each takes, as data."""

from dataclasses import dataclass

from dpcore.errors import InvalidInputError

__all__ = ["SENSITIVITY_BOUNDS", "Slot"]

SENSITIVITY_BOUNDS = ("l2", "l1", "linf", "range")
"""The bounds of a sensitivity that a mechanism's noise may be scaled to (its ``needs``)."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A mechanism's place in an optimizer, filled by ``--use SLOT=NAME``.

    An open slot takes any registered mechanism that is charged by its own ``event``: the proof of
    its optimizer rests on the accountant alone, and not on the distribution of the noise. Where it
    rests on the distribution, the slot is closed.

    Parameters
    ----------
    names : registered names that fill it, the default first.
    takes : bounds of a sensitivity, of l2, l1, linf and range, that the slot's queries can state.
        Any other registered mechanism whose ``needs`` is among them fills the slot too, if it
        states a ``nominal_event`` and is built from a noise multiplier alone.
    closed : why it takes no other, as the end of a sentence; of a closed slot.
    sampled : whether its mechanism's releases are of Poisson samples.

    Raises InvalidInputError for a slot without a default, or neither open nor closed.

    Examples
    --------
    >>> from dpcore.plugin import Slot
    >>> Slot(("gaussian",), takes=("l2",)).names
    ('gaussian',)
    """

    names: tuple[str, ...]
    takes: tuple[str, ...] = ()
    closed: str = ""
    sampled: bool = False

    def __post_init__(self) -> None:
        for value in (self.names, self.takes):
            if not (isinstance(value, tuple) and all(isinstance(name, str) for name in value)):
                raise InvalidInputError(f"Expected names and takes to be tuples of texts: {self}.")
        if not self.names or not set(self.takes) <= set(SENSITIVITY_BOUNDS):
            raise InvalidInputError(
                f"Expected a default, and takes of {', '.join(SENSITIVITY_BOUNDS)}: {self}."
            )
        if bool(self.takes) == bool(self.closed):
            raise InvalidInputError(f"Expected either takes, or closed, which says why: {self}.")

    @property
    def beside_its_names(self) -> str:
        """The rest of a sentence that has listed the slot's names."""
        if self.closed:
            return f"no other: {self.closed}"
        sampled = " and whose Poisson samples an accountant bounds" if self.sampled else ""
        return f"any other mechanism that needs {' or '.join(self.takes)}{sampled}"
