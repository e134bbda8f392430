"""Parts of dpcore that rows come through, registered by the hooks that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.hookspecs import hookimpl

__all__ = ["register_column_kinds", "register_readers", "register_row_stores"]


_COLUMN_KINDS = {
    "numeric": "a number between public bounds, in public bins, or piecewise linear "
    "between public knots",
    "categorical": "one of the categories, one-hot; any other value is none of them",
    "ordinal": "one of the levels, by its position",
    "boolean": "a truth value: true, t, yes, y, on, 1, 1.0; false, f, no, n, off, 0, 0.0",
    "date": "a day between public bounds",
    "hashed": "text by a public hash, one-hot: for values that nobody lists",
    "label": "what is to be predicted; one column is",
    "drop": "not used",
}
"""Kinds of column, in the order of their reference, and a summary of each."""


@hookimpl
def register_column_kinds(register: Callable[..., None]) -> None:
    for kind, becomes in _COLUMN_KINDS.items():
        register(kind, f"dpcore.data.schema.kinds:{kind.upper()}", summary=becomes)


@hookimpl
def register_readers(register: Callable[..., None]) -> None:
    register(
        "csv",
        "dpcore.data.readers.text:open_text",
        summary="Delimited text with a header; the schema says the separator.",
        suffixes=(".csv", ".tsv", ".data", ".txt"),
    )
    register(
        "parquet",
        "dpcore.data.readers.parquet:open_parquet",
        summary="Parquet files: one, or those of a folder or a pattern.",
        suffixes=(".parquet", ".pq"),
        typed=True,
    )
    register(
        "libsvm",
        "dpcore.data.readers.libsvm:open_libsvm",
        summary="LIBSVM text, index:value; the schema says the width.",
        suffixes=(".libsvm", ".svm", ".svmlight"),
        named=False,
    )
    register(
        "whitespace",
        "dpcore.data.readers.text:open_whitespace",
        summary="Text with blanks between cells.",
        suffixes=(".dat",),
    )
    register(
        "npz",
        "dpcore.data.readers.npz:open_npz",
        summary="Arrays X and y of NumPy, or the parts of a CSR matrix.",
        suffixes=(".npz",),
        named=False,
    )


@hookimpl
def register_row_stores(register: Callable[..., None]) -> None:
    register(
        "dpcore",
        "dpcore.data.store:STORE",
        summary="Coded blocks in a memory-mapped file, for tables larger than memory.",
        suffixes=(".dpcore",),
    )
