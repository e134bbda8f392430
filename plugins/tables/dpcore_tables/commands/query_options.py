"""The options of commands that read a query of a database, as ``dpcore train`` has them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from dpcore.plugin.commands import Option

__all__ = ["Query", "RowWiseClaim"]

Query: TypeAlias = Annotated[
    str | None,
    Option(help="Of a database: the rows, as in 'select age, paid from people'."),
]
RowWiseClaim: TypeAlias = Annotated[
    bool,
    Option(
        "--row-wise-claim",
        help="Claim that each row of the query's result comes from one row of its table, whatever "
        "the other rows are.",
    ),
]
