"""Queries, and whether each row of the result is visibly a function of one row of a table.

With LIMIT, DISTINCT, GROUP BY, a window or a join one person's row can change, remove or repeat
other rows of the result, and a guarantee for one row of the result is none for the person. So a
query is read (sqlglot), and everything in it has to be on a list: expressions of one row's columns,
from one table, with WHERE. What is not on the list needs the claim of whoever asks. A column is one
of the table's own, by its catalogue, since there are names (``ctid``, ``rowid``) that tell of other
rows, and a view is no table. A join needs the claim too, but for one by the ids of units where the
database's types make ids that are equal the same (``dpcore_tables.databases.unit_joins``).
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.databases.address import Address
from dpcore_tables.databases.csv_calls import guessed_file, is_by_lines, named_columns
from dpcore_tables.databases.never_asked import require_plain, require_spaces, word_of
from dpcore_tables.databases.unit_joins import JoinedIds, folded, ids_of_join, lowered

__all__ = ["Query", "Table", "read_query", "relations_in"]

_ROW_WISE = frozenset(
    """Select From Where Table TableAlias Column Identifier Star Alias Literal Boolean Null Paren
    And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is Between In Like ILike Case If Cast
    TryCast DataType DataTypeParam Neg Add Sub Mul Div IntDiv Mod DPipe Concat Coalesce Nullif Lower
    Upper Trim Length Substring Abs Round Floor Ceil Ln Log Exp Sqrt Pow Sign Greatest Least Extract
    Var""".split()
)
"""Names of sqlglot's classes: each is a function of the row that its columns are of."""
_OF_SELECT = {"expressions", "from", "from_", "where"}
_OF_TABLE = {"this", "db", "catalog", "alias"}
_ADVICE = (
    "Ask for columns and expressions of one table with WHERE, or say with --row-wise-claim "
    "(from Python, &row-wise-claim=True behind the query) that each row of the result comes from "
    "one row of the table, whatever the other rows are"
)

_JOIN = "a JOIN"
_BY_UNIT = (
    " No claim is needed for inner joins by the column of unit, as in JOIN visits USING ({}), "
    "whose result has this column once and all columns by their names (no *)."
)

_WITH_UNIT = (
    " A schema with unit, and without unit_missing = 'row', needs no claim for inner joins by the "
    "column of ids."
)


@dataclass(frozen=True)
class Table:
    """A table by the name that a query has for it.

    Parameters
    ----------
    parts : of the name, the table's own last, and whether each is quoted.
    is_file : whether it is the name of files, ``read_parquet('...')`` or ``read_csv('...')``.
    columns : of text files that are read by lines.
    """

    parts: tuple[tuple[str, bool], ...]
    is_file: bool = False
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The table's own name."""
        return self.parts[-1][0]

    @property
    def schema(self) -> str:
        """The names before it, empty where there is none."""
        return ".".join(name for name, _ in self.parts[:-1])


@dataclass(frozen=True)
class Query:
    """A query that a database is to answer.

    Parameters
    ----------
    text : as it was written, one statement.
    source : what messages call the database.
    is_claimed : whether its rows are claimed to come from one row each.
    tables : that it names, each of them where rows may come from.
    columns : names that it has for columns, and whether each is quoted; none where they are
        claimed.
    joined_by : the ids that its tables are joined by, whose types the database is to look at;
        ``None`` where there is no join, or it is claimed.
    """

    text: str
    source: str
    is_claimed: bool
    tables: tuple[Table, ...]
    columns: tuple[tuple[str, bool], ...]
    joined_by: JoinedIds | None = None

    def require_table(self, table: Table, *, is_there: bool, is_table: bool) -> None:
        """Raise InvalidInputError for what is no table, such as a view."""
        if not is_there:
            raise InvalidInputError(f"{self.source} has no table {table.name!r}.")
        if not is_table:
            raise InvalidInputError(
                f"{self.source}: {table.name!r} is no plain table but, say, a view, whose rows may "
                f"come from several. {_ADVICE}."
            )

    def refuse_unclaimed(self, why: str) -> None:
        """Raise InvalidInputError for what rests on a claim; ``why`` : a clause."""
        raise InvalidInputError(f"{self.source}: {why}. {_ADVICE}.")

    def require_named(self, names: Sequence[str]) -> None:
        """Raise InvalidInputError for names of the result that hide the ids of a join."""
        if self.joined_by is not None:
            self.joined_by.require_named(names, self.refuse_unclaimed)

    def bare_names(self) -> list[str]:
        """Return the names of tables and columns that have no quotes."""
        named = (*self.columns, *(part for table in self.tables for part in table.parts))
        return [name for name, is_quoted in named if not is_quoted]

    def require_columns(self, known: set[str], folded: Callable[[str, bool], str]) -> None:
        """Raise InvalidInputError for a name that is no column's. ``folded`` : of a name, and
        whether it is quoted, returns the name in ``known`` of the column."""
        for name, is_quoted in self.columns:
            if folded(name, is_quoted) not in known:
                hint = " (\"...\" is a name, '...' is text)" if is_quoted else ""
                raise InvalidInputError(f"{self.source}: no column {name!r} in the table{hint}.")


def read_query(address: Address, dialect: str, unit: str | None = None) -> Query:
    """Return the query of an address.

    ``dialect`` : sqlglot's name of the database's. ``unit`` : the column of ids that tables may be
    joined by, whose types the database is to look at.
    Raises InvalidInputError, which does not repeat the query, where it is no single SELECT, changes
    something, or is visibly not row by row and not claimed to be.
    """
    if any(each == "\0" or unicodedata.category(each) == "Cf" for each in address.query):
        raise InvalidInputError(
            "The query has characters that are not seen, which databases read in different ways: "
            "type it anew."
        )
    tree = _parsed(address.query, dialect)
    for node in tree.walk():
        if guess := guessed_file(node, dialect):
            raise InvalidInputError(
                f"{guess} takes the types of columns, or where a row ends, from the rows: name the "
                "file itself with --data, save it as Parquet, or give read_csv what it is to be "
                "(auto_detect = false, header = true, delim = ',', quote = '', escape = '', "
                "columns = {'age': 'VARCHAR', ...}; with quotes or other types --row-wise-claim)."
            )
    require_spaces(address.query, dialect)
    require_plain(tree, dialect)
    found = [node for node in _walked(tree) if type(node).__name__ in ("Table", "Column")]
    tables = tuple(_table(node) for node in found if type(node).__name__ == "Table")
    columns: Any = ()
    joined_by = None
    if not address.is_claimed:
        joined_by = ids_of_join(tree, unit, folded if dialect == "postgres" else lowered)
        # Where a comment within a comment ends is another place in each database.
        is_unclear = "/*" in address.query and _has_comment(address.query, dialect)
        doubt = "a comment" if is_unclear else next(_doubts(tree, joined_by), None)
        if doubt is not None:
            by_unit = _BY_UNIT.format(unit) if unit is not None else _WITH_UNIT
            raise InvalidInputError(
                f"The query has {doubt}: other rows of its result may depend on one row, or "
                f"several come from it. {_ADVICE}.{by_unit if doubt == _JOIN else ''}"
            )
        columns = tuple(
            (node.name, bool(node.this.args.get("quoted")))
            for node in found
            if type(node).__name__ == "Column" and type(node.this).__name__ != "Star"
        )
    text = address.query.rstrip().rstrip(";")
    return Query(text, address.source, address.is_claimed, tables, columns, joined_by)


def relations_in(text: str, dialect: str, where: str) -> set[str]:
    """Return the names of the relations in the definition of a view or a function, or of a table's
    computed columns. Nothing in the definition may be another value each time.

    Raises InvalidInputError where something is, and for a definition that cannot be read here.
    """
    import sqlglot.expressions as exp

    unread = InvalidInputError(f"{where} is defined in a way that sqlglot does not read.")
    with replacing(InvalidInputError, by=lambda _: unread):
        trees = _trees(text, dialect)
    if len(trees) != 1 or isinstance(trees[0], exp.Command):
        raise unread
    (tree,) = trees
    made = exp.GeneratedAsIdentityColumnConstraint, exp.ComputedColumnConstraint
    parts = [tree.expression or tree]
    if isinstance(tree, exp.Create) and tree.expression is None:
        parts = [*tree.find_all(*made)]
    for part in parts:
        with replacing(InvalidInputError, by=lambda e: InvalidInputError(f"{where}: {e}")):
            require_plain(part, dialect)
    return {table.name for part in parts for table in part.find_all(exp.Table)}


def _parsed(text: str, dialect: str) -> Any:
    trees = _trees(text, dialect)
    if len(trees) == 1 and isinstance(trees[0], _query_kinds()):
        return trees[0]
    raise InvalidInputError(
        "Expected one SELECT as the query, as in --query 'select age, paid from people'."
    )


def _query_kinds() -> tuple[type, ...]:
    import sqlglot.expressions as exp

    return exp.Query, exp.Pivot


def _trees(text: str, dialect: str) -> list[Any]:
    """Return the statements in a text; InvalidInputError, without it, where it cannot be read."""
    try:
        import sqlglot
    except ImportError:
        raise InvalidInputError(
            "Queries are read by sqlglot: pip install 'dpcore-tables[databases]'. Or save the rows "
            "as CSV or Parquet."
        ) from None
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True  # It would quote the query.
    try:
        with replacing(sqlglot.errors.SqlglotError, RecursionError, by=_no_sql):
            return [tree for tree in sqlglot.parse(text, dialect=dialect) if tree is not None]
    finally:
        log.disabled = before


def _no_sql(error: Exception) -> InvalidInputError:
    """Return the error of a text that cannot be read, with its place where sqlglot has one."""
    told: dict[str, Any] = next(iter(getattr(error, "errors", None) or ()), {})
    place = f" at line {told['line']}, letter {told['col']}" if told.get("line") else ""
    return InvalidInputError(
        f"The query has a syntax error{place}: a word that is not expected there, or a quote or a "
        "bracket that is left open."
    )


def _has_comment(text: str, dialect: str) -> bool:
    import sqlglot

    return any(token.comments for token in sqlglot.tokenize(text, dialect=dialect))


def _walked(tree: Any) -> Iterator[Any]:
    """Yield the parts of a query, without the options of files that are read by lines."""
    yield from tree.walk(prune=is_by_lines)


def _doubts(tree: Any, joined_by: JoinedIds | None) -> Iterator[str]:
    """Yield what in a query is on no list, in words."""
    names = [type(node).__name__ for node in _walked(tree)]
    if names[0] != "Select" or names.count("Select") > 1:
        yield "a subquery, WITH or UNION"
    for node, name in zip(_walked(tree), names, strict=True):
        if name == "Join":
            yield from () if joined_by else (_JOIN,)
        elif name == "In" and node.args.get("field"):
            yield "IN of a name, which may be a table's"
        elif name == "ReadParquet":
            if [type(each).__name__ for each in node.expressions] != ["Literal"]:
                yield "read_parquet of more than one name"
        elif is_by_lines(node):
            continue
        elif name not in _ROW_WISE or name == "DataType" and "USERDEFINED" in repr(node.this):
            yield word_of(node)
    of_select = _OF_SELECT | ({"joins"} if joined_by else set())
    if any(node and key not in of_select for key, node in tree.args.items()):
        yield "more than SELECT, FROM and WHERE"
    tables = [node for node in _walked(tree) if type(node).__name__ == "Table"]
    if not tables:
        yield "no table"
    for table in tables:
        if any(value and key not in _OF_TABLE for key, value in table.args.items()):
            yield "more than the name of its table"


def _table(node: Any) -> Table:
    if is_by_lines(node.this):
        return Table(((node.this.name, True),), is_file=True, columns=named_columns(node.this))
    if type(node.this).__name__ == "ReadParquet":
        return Table(((node.this.expressions[0].name, True),), is_file=True)
    named = (node.args.get(key) for key in ("catalog", "db", "this"))
    return Table(tuple((p.name, bool(p.args.get("quoted"))) for p in named if p is not None))
