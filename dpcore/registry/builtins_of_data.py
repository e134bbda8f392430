"""Parts of dpcore that rows come through, registered by the hooks that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.hookspecs import hookimpl

__all__ = ["register_column_kinds"]


@hookimpl
def register_column_kinds(register: Callable[..., None]) -> None:
    register(
        "numeric",
        "dpcore.data.schema.kinds:NUMERIC",
        summary="a number between public bounds, in public bins, or piecewise linear between "
        "public knots",
    )
    register(
        "categorical",
        "dpcore.data.schema.kinds:CATEGORICAL",
        summary="one of the categories, one-hot; any other value is none of them",
    )
    register(
        "ordinal",
        "dpcore.data.schema.kinds:ORDINAL",
        summary="one of the levels, by its position",
    )
    register(
        "boolean",
        "dpcore.data.schema.kinds:BOOLEAN",
        summary="a truth value: true, t, yes, y, on, 1, 1.0; false, f, no, n, off, 0, 0.0",
    )
    register(
        "date",
        "dpcore.data.schema.kinds:DATE",
        summary="a day between public bounds",
    )
    register(
        "hashed",
        "dpcore.data.schema.kinds:HASHED",
        summary="text by a public hash, one-hot: for values that nobody lists",
    )
    register(
        "label",
        "dpcore.data.schema.kinds:LABEL",
        summary="what is to be predicted; one column is",
    )
    register(
        "drop",
        "dpcore.data.schema.kinds:DROP",
        summary="not used",
    )
