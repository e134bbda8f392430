"""``dpcore export model.json model.sql``: the coefficients of a model as a table of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpcore.plugin import InvalidInputError

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["Coefficients"]


class Coefficients:
    """Writes a name and a coefficient of each encoded column. It sees the model, and no row."""

    writes: ClassVar[str] = "SQL"

    @classmethod
    def content(cls, model: Model) -> bytes:
        if model.w.ndim != 1:
            raise InvalidInputError("Expected a model of two classes, or of a number.")
        rows = ",\n".join(
            f"  ('{name.replace(chr(39), 2 * chr(39))}', {float(value)!r})"
            for name, value in zip(model.schema.feature_names, model.w, strict=True)
        )
        head = "CREATE TABLE coefficient (name text PRIMARY KEY, value double precision);\n"
        return f"{head}INSERT INTO coefficient VALUES\n{rows};\n".encode()
