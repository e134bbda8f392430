"""``dpcore acme-largest``: the largest coefficient of a model."""

from pathlib import Path
from typing import Annotated

from dpcore import load_model
from dpcore.plugin.commands import Argument, Option, print_json, print_lines

__all__ = ["largest"]


def largest(
    model: Annotated[Path, Argument(help="A model file.")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the largest coefficient of a model of two classes, and the column that it is of."""
    fitted = load_model(model)
    name = fitted.schema.feature_names[abs(fitted.w).argmax()]
    size = float(abs(fitted.w).max())
    if as_json:
        print_json({"column": name, "size": size})
    else:
        print_lines(f"{name}: {size:.4g}")
