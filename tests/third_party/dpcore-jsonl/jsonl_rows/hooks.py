"""What dpcore is told of this distribution."""

from collections.abc import Callable

from dpcore.plugin import hookimpl


@hookimpl
def register_readers(register: Callable[..., None]) -> None:
    register(
        "jsonl",
        "jsonl_rows.reader:open_jsonl",
        summary="JSON lines: a table of names and values in each.",
        suffixes=(".jsonl",),
        schemes=("jsonl",),
    )


@hookimpl
def register_row_stores(register: Callable[..., None]) -> None:
    register(
        "coded-npz",
        "jsonl_rows.store:STORE",
        summary="Encoded rows in one file of NumPy's.",
        suffixes=(".coded",),
    )
