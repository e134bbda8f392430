"""The pictures of a model's file that are drawn: all that it has, or one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore import load_model
from dpcore.errors import InvalidInputError
from dpcore_report.pictures.of_model import PICTURES

if TYPE_CHECKING:
    from dpcore_report.pictures.panel import Picture

__all__ = ["model_pictures"]


def model_pictures(path: str, show: str | None = None) -> list[Picture]:
    """Return the pictures of a model, which a report has too. ``show`` : coefficients, columns or
    held-out alone.

    Raises InvalidInputError for another, and for a model that does not have it; ModelFileError for
    a file that is no model.
    """
    if show is not None and show not in PICTURES:
        raise InvalidInputError(f"Expected --show {show} to be one of {', '.join(PICTURES)}.")
    model = load_model(path)
    found = [draw(model) for name, draw in PICTURES.items() if show in (None, name)]
    pictures = [picture for picture in found if picture is not None]
    if not pictures:
        raise InvalidInputError(
            "The model has no private evaluation: dpcore train --evaluate-share releases it."
            if show == "held-out"
            else "A picture of columns is of a model with named columns."
        )
    return pictures
