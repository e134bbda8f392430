"""A sentence on the length of rows, and the rows that are scaled down."""

import math

from dpcore.data.schema.schema import Schema

__all__ = ["describe_scaling"]


def describe_scaling(schema: Schema) -> str:
    """Return what becomes of the length of rows, as a sentence of public facts."""
    how = "Columns are encoded by the bounds and categories of the schema"
    if schema.width is None and schema.row_norm >= schema.raw_norm_bound:
        return (
            f"{how}. No encoded row has a norm above sqrt({schema.square}), so none is scaled down."
        )
    scale, norm = schema.feature_scale, f"row_norm={schema.row_norm!r}"
    if scale != 1.0:
        how = f"Features and row_norm={schema.norm!r} are divided by 2^{round(-math.log2(scale))}"
        norm = repr(schema.row_norm)
    elif schema.width is not None:
        how = "Features are used as they are, without bounds"
    with_one = " (the intercept's 1 included)" if schema.intercept else ""
    return (
        f"{how}. Rows longer than {norm}{with_one}, which is public, are scaled down to it; how "
        "many is private."
    )
