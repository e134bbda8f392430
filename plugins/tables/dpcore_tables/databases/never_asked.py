"""Parts that no query may have, whatever is claimed of its rows: they change or lock something, are
another value each time, or name columns by the values of rows."""

from __future__ import annotations

import re
from typing import Any

from dpcore.errors import InvalidInputError

__all__ = ["called", "require_plain", "require_spaces", "word_of"]

_NEVER = frozenset(
    """Insert Update Delete Merge Create Drop Alter Command Copy Set Use Attach Detach Pragma
    TruncateTable Into Lock Rand Randn Uuid NextValueFor CurrentDate CurrentTime CurrentTimestamp
    CurrentDatetime Localtime Localtimestamp TableSample""".split()
)
"""Names of sqlglot's classes that change the database, lock it, or are another value each time."""
_NEVER_CALLED = re.compile(
    r"(nextval|setval|currval|lastval|setseed|random\w*|gen_random_uuid|uuid_generate\w*|uuid\w*"
    r"|pg_\w+|txid_\w+|lo_\w+|dblink\w*|query|query_table|changes|total_changes|last_insert_rowid"
    r"|load_extension|now|today|timeofday|(clock|statement|transaction)_timestamp"
    r"|(get_)?current_\w+|localtime\w*)",
    re.IGNORECASE,
)
_OF_NOW = frozenset(("now", "today", "tomorrow", "yesterday"))
"""Words that a database takes for a time: PostgreSQL in a cast and wherever a time is expected,
SQLite in its functions of dates, which are also of now where they have no argument."""
_FIRST_OF_NOW = frozenset(("subsec", "subsecond"))
"""Words that SQLite adds to a time, and where they come first, to that of now."""
_SQLITE_DATES = re.compile(r"(date|time|datetime|julianday|unixepoch|strftime)", re.IGNORECASE)
_WORDS = {
    "Anonymous": "a function that is not known to look at one row alone",
    "CTE": "WITH",
    "Group": "GROUP BY",
    "Order": "ORDER BY",
    "Window": "a window function",
    "With": "WITH",
}


def require_plain(tree: Any, dialect: str) -> None:
    """Raise InvalidInputError for what a query, or a column of a table, may never have."""
    for node in tree.walk():
        name = type(node).__name__
        if name == "Pivot":
            raise InvalidInputError(
                "PIVOT names columns by the values of rows, and a schema's columns are public: "
                "write each column as an expression, as in sum(case when city = 'Bern' ...)."
            )
        if name in _NEVER or _NEVER_CALLED.fullmatch(called(node)) or _is_of_now(node, dialect):
            raise InvalidInputError(
                "A query reads rows as they are: it changes and locks nothing, and calls no "
                f"function of another value each time ({word_of(node)})."
            )


def _is_of_now(node: Any, dialect: str) -> bool:
    function = called(node) or type(node).__name__
    if dialect == "sqlite" and _SQLITE_DATES.fullmatch(function) and not any(_arguments(node)):
        return True
    if function.lower() == "age" and len(node.expressions) == 1:  # since a time: until today
        return True
    if type(node).__name__ != "Literal" or not node.is_string:
        return False
    is_function = type(node.parent).__name__ not in ("EQ", "In", "Like", "NEQ", "Select", "Alias")
    word = node.name.strip().lower()
    if dialect == "sqlite" and is_function and (node.arg_key == "this" or node.index == 0):
        return word in _OF_NOW | _FIRST_OF_NOW
    return word in _OF_NOW and (dialect == "postgres" or is_function)


def _arguments(node: Any) -> list[Any]:
    """Return the arguments of a function, whether or not sqlglot has a class for it."""
    of_class = [] if called(node) else [node.args.get("this")]
    return [*of_class, *node.expressions]


def called(node: Any) -> str:
    """Return the name of a function that sqlglot has no class for; empty for anything else."""
    return node.name if type(node).__name__ == "Anonymous" else ""


def word_of(node: Any) -> str:
    """Return what a part of a query is, in words."""
    name = type(node).__name__
    if name == "Literal":
        return f"'{node.name.strip().lower()}'"
    return _WORDS.get(name) or str(node.key).upper()


def _n_odd_spaces(text: str) -> int:
    """Count what is a space to sqlglot, and to PostgreSQL and SQLite a letter."""
    return sum(each.isspace() and each not in " \t\r\n" for each in text)


def require_spaces(text: str, dialect: str) -> None:
    """Raise InvalidInputError for odd spaces that are in no quotes: words are told apart there."""
    import sqlglot

    tokens = sqlglot.tokenize(text, dialect=dialect)  # A word without quotes has no space.
    if _n_odd_spaces(text) > sum(_n_odd_spaces(token.text or "") for token in tokens):
        raise InvalidInputError(
            "The query has spaces that are none to every database: type it anew, with spaces, "
            "tabs and ends of lines."
        )
