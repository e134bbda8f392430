"""The name of a part of a table: the rows of one level of a column."""

from dataclasses import dataclass

__all__ = ["RowPart"]


@dataclass(frozen=True)
class RowPart:
    """A part, in public words.

    Parameters
    ----------
    column : by which the rows are in parts.
    name : ``"column=level"``, the name of the level's feature.
    of : into how many listed levels the column divides the rows.
    query : as ``Dataset`` has it.
    """

    column: str
    name: str
    of: int
    query: str = ""
