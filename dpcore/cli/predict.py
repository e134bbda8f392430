"""``dpcore predict``: scores and labels of new rows by a saved model."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from dpcore.outfile import check_writable, refuse_inputs, write_whole

__all__ = ["predict_command"]


def predict_command(
    model: Annotated[Path, typer.Argument(help="A model file of dpcore train --out.")],
    data: Annotated[Path, typer.Option(help="File of rows; a label column is not needed.")],
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; standard output for - or if none.")
    ] = None,
) -> None:
    """Write a CSV line of score and label for each row. Predictions on rows are not private."""
    if out == Path("-"):
        out = None
    if out is not None:
        refuse_inputs(out, {"the model": model, "--data": data})
        check_writable(out)
    from dpcore.data.dataset import load_features
    from dpcore.model import load_model

    fitted = load_model(model)
    if not fitted.privacy["private"]:
        reasons = "; ".join(fitted.privacy["why_not_private"])
        typer.echo(f"dpcore: the model is not private: {reasons}", err=True)
    margins = fitted.margins(load_features(data, fitted.schema))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("score", "label"))
    writer.writerows(zip(margins.tolist(), fitted.labels(margins).tolist(), strict=True))
    if out is None:
        typer.echo(buffer.getvalue(), nl=False)
    else:
        write_whole(out, buffer.getvalue())
