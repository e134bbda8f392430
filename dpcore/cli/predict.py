"""``dpcore predict``: scores and labels of new rows by a saved model."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcore.errors import advised_on_bad_rows
from dpcore.model.outfile import check_writable, refuse_inputs, spooled, write_whole

if TYPE_CHECKING:
    from dpcore.model.model import Model

__all__ = ["predict_command"]

_ADVICE = "Every row has a line of its own in the output, so that none is left out."
_ECHOED = 2**20


def predict_command(
    model: Annotated[Path, typer.Argument(help="A model file of dpcore train --out.")],
    data: Annotated[
        str,
        typer.Option(
            help="A data set's name, a file or a store, with the columns that the model was "
            "trained on; a label column is not needed."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; standard output for - or if none.")
    ] = None,
) -> None:
    """Write a CSV line of log_odds and label for each row (margin and label, where the loss is not
    logistic). Predictions on rows are not private."""
    if out == Path("-"):
        out = None
    if out is not None:
        refuse_inputs(out, {"the model": model, "--data": data})
        check_writable(out)
    from dpcore.model.model import load_model

    fitted = load_model(model)
    if not fitted.privacy["private"]:
        reasons = "; ".join(fitted.privacy["why_not_private"])
        typer.echo(f"dpcore: the model is not private: {reasons}", err=True)
    with advised_on_bad_rows(_ADVICE):
        if out is not None:
            write_whole(out, _lines(fitted, data))
            return
        # Nothing is printed of a file that turns out not to be whole.
        with spooled(_lines(fitted, data)) as whole:
            while piece := whole.read(_ECHOED):
                typer.echo(piece, nl=False)


def _lines(model: Model, data: str) -> Iterator[bytes]:
    """Yield the output in pieces."""
    from dpcore.fitting.loading import feature_rows

    yield b"log_odds,label\n" if model.has_log_odds else b"margin,label\n"
    for rows in feature_rows(data, model.schema):
        margins = model.margins(rows)
        buffer = io.StringIO()
        pairs = zip(margins.tolist(), model.labels(margins).tolist(), strict=True)
        csv.writer(buffer, lineterminator="\n").writerows(pairs)
        yield buffer.getvalue().encode("utf-8")
