"""Tables: data sets, schemas of files, stores of rows, and statistics, as a dpcore plugin."""

from collections.abc import Callable
from typing import Any

from dpcore.plugin import hookimpl
from dpcore.plugin.steps import StepOption

__all__: list[str] = []

_LARGEST = 10.0


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    register(
        "schema",
        "dpcore_tables.commands.schema:schema_command",
        summary="Write a schema template, or check a schema against the rows.",
        group="Tables",
    )
    register(
        "convert",
        "dpcore_tables.commands.convert:convert_command",
        summary="Convert a file of rows to a store for tables larger than memory.",
        group="Tables",
    )


@hookimpl
def register_datasets(register: Callable[..., None]) -> None:
    for name, target, summary, reference in _DATASETS:
        register(name, target, summary=summary, reference=reference)


@hookimpl
def register_column_kinds(register: Callable[..., None]) -> None:
    for kind, becomes in _COLUMN_KINDS.items():
        register(kind, f"dpcore_tables.kinds:{kind.upper()}", summary=becomes)


@hookimpl
def register_readers(register: Callable[..., None]) -> None:
    for name, target, summary, suffixes, others in _READERS:
        register(name, f"dpcore_tables.{target}", summary=summary, suffixes=suffixes, **others)


@hookimpl
def register_row_stores(register: Callable[..., None]) -> None:
    register(
        "dpcore",
        "dpcore_tables.store:STORE",
        summary="Coded blocks in a memory-mapped file, for tables larger than memory.",
        suffixes=(".dpcore",),
    )


@hookimpl
def register_file_loaders(register: Callable[..., None]) -> None:
    register(
        "files",
        "dpcore_tables.files.loading:FILES",
        summary="Files, folders, stores and standard input, by the installed readers.",
    )


@hookimpl
def register_steps(register: Callable[..., None]) -> None:
    register(
        "private-bounds",
        "dpcore_tables.bounds.step:PrivateBounds",
        summary="Bounds of columns that have none, from noisy counts in public bins.",
        options=(
            StepOption(
                "private-bounds", "flag", False, "Release the bounds that the schema lacks."
            ),
        ),
    )
    register(
        "balanced",
        "dpcore_tables.weights.balanced:BalancedWeights",
        summary="Weights that even the classes out, from noisy counts of them.",
        options=(
            StepOption(
                "class-weight",
                "texts",
                None,
                "CLASS=NUMBER,... (1 for others), or balanced: from counts that are released.",
                word="balanced",
            ),
            StepOption(
                "largest-weight",
                "float",
                _LARGEST,
                "The most that a balanced weight may come to.",
                field="largest",
                alone="Expected largest_weight={value} beside class_weight='balanced' alone, whose "
                "weights it caps.",
            ),
        ),
    )


_COLUMN_KINDS = {
    "categorical": "one of the categories, one-hot; any other value has zeros in all",
    "ordinal": "one of the levels, by its position",
    "boolean": "a truth value: true, t, yes, y, on, 1, 1.0; false, f, no, n, off, 0, 0.0",
    "date": "a day between public bounds",
    "hashed": "text in buckets of a public hash, one-hot: for values that nobody lists",
}
"""Kinds of column, in the order of their reference, and a summary of each."""

_OF_QUERIES: dict[str, Any] = {
    "query": True,
    "options": (
        StepOption(
            "query",
            "text",
            help="Of a database: the rows, as in 'select age, paid from people'.",
            group="Data",
        ),
        StepOption(
            "row-wise-claim",
            "flag",
            False,
            "Claim that each row of the query's result comes from one row of its table, whatever "
            "the other rows are.",
            group="Data",
        ),
    ),
}
_DATABASES = (
    ("sqlite", "A query of a SQLite file: sqlite:///FILE and --query.", ("sqlite",), False),
    (
        "postgresql",
        "A query of a PostgreSQL database: postgresql://HOST/DATABASE and --query.",
        ("postgresql", "postgres"),
        True,
    ),
    (
        "duckdb",
        "A query of a DuckDB file, or of Parquet files: duckdb:///FILE and --query.",
        ("duckdb",),
        True,
    ),
)
"""Name, summary and schemes of each reader of a database, and whether it declares types."""
_FROM_ROWS = "dpcore_tables.schemas.from_data:schema_from_data"
_READERS: tuple[tuple[str, str, str, tuple[str, ...], dict[str, Any]], ...] = (
    (
        "csv",
        "readers.text:open_text",
        "Delimited text with a header; the schema says the separator.",
        (".csv", ".tsv", ".data", ".txt"),
        {"schema_from_rows": _FROM_ROWS},
    ),
    (
        "parquet",
        "readers.parquet:open_parquet",
        "Parquet files: one, or those of a folder or a pattern.",
        (".parquet", ".pq"),
        {"typed": True, "schema_from_rows": _FROM_ROWS},
    ),
    (
        "libsvm",
        "readers.libsvm:open_libsvm",
        "LIBSVM text, index:value; the schema says the width.",
        (".libsvm", ".svm", ".svmlight"),
        {"named": False, "schema_from_rows": _FROM_ROWS},
    ),
    (
        "whitespace",
        "readers.text:open_whitespace",
        "Text with blanks between cells.",
        (".dat",),
        {"schema_from_rows": _FROM_ROWS},
    ),
    (
        "npz",
        "readers.npz:open_npz",
        "Arrays X and y of NumPy, or the parts of a CSR matrix.",
        (".npz",),
        {"named": False, "schema_from_rows": _FROM_ROWS},
    ),
    (
        "excel",
        "readers.excel:open_excel",
        "A sheet of an Excel or OpenDocument file; excel://FILE#SHEET of several.",
        (".xlsx", ".xls", ".xlsb", ".ods"),
        {"schemes": ("excel",)},
    ),
    *(
        (
            name,
            f"databases.{name}:open_{name}",
            summary,
            (),
            {"schemes": schemes, "typed": is_typed, **_OF_QUERIES},
        )
        for name, summary, schemes, is_typed in _DATABASES
    ),
)
"""Name, function, summary and suffixes of each reader, and what else is said of it."""

_DATASETS = (
    (
        "census-sim",
        "dpcore_tables.datasets.census_sim:load",
        "Generated census: 50,000 rows with Adult's columns and a planted linear rule.",
        "",
    ),
    (
        "buzz-sim",
        "dpcore_tables.datasets.buzz_sim:load",
        "Generated popularity: 100,000 rows of 77 heavy-tailed counts, a log target.",
        "after Ligett et al. 2017, section 4",
    ),
    (
        "adult",
        "dpcore_tables.datasets.adult:load",
        "UCI Adult: is the income above 50,000 dollars? 48,842 rows, 108 features.",
        "Kohavi 1996",
    ),
    (
        "a9a",
        "dpcore_tables.datasets.a9a:load",
        "LIBSVM's coding of Adult: 48,842 rows, 123 features.",
        "Platt 1998",
    ),
    (
        "bank",
        "dpcore_tables.datasets.bank:load",
        "Bank marketing: does the client subscribe? 45,211 rows, 32 features.",
        "Moro, Cortez & Rita 2014",
    ),
    (
        "kddcup99-10",
        "dpcore_tables.datasets.kddcup99:load",
        "KDD Cup 1999, a tenth: normal against the rest, 494,021 rows.",
        "Stolfo et al. 1999",
    ),
    (
        "kddcup99-10-classes",
        "dpcore_tables.datasets.kddcup99_classes:load",
        "The rows of kddcup99-10 by five classes: normal, dos, probe, r2l, u2r.",
        "Stolfo et al. 1999",
    ),
    (
        "kddcup99-10-numeric",
        "dpcore_tables.datasets.kddcup99:load_numeric",
        "The 38 numeric columns of kddcup99-10.",
        "Stolfo et al. 1999",
    ),
    (
        "ipums-br",
        "dpcore_tables.datasets.beside:load_ipums_br",
        "IPUMS Brazil: 38,000 rows, 52 features; IPUMS-BR.dat, which is yours to bring.",
        "Lee & Kifer 2018",
    ),
    (
        "ipums-us",
        "dpcore_tables.datasets.beside:load_ipums_us",
        "IPUMS USA: 40,000 rows, 52 features; IPUMS-US.dat, which is yours to bring.",
        "Lee & Kifer 2018",
    ),
    (
        "buzz-twitter",
        "dpcore_tables.datasets.beside:load_buzz_twitter",
        "Buzz on Twitter: 583,250 rows, 77 features; Twitter.data, which is yours to bring.",
        "Kawala, Douzal, Gaussier & Diemert 2013",
    ),
)
