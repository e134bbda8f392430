"""``dpcore export``: a saved model as a file that other programs run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dpcore.plugin.commands import Argument, Option, print_lines

__all__ = ["export_command"]


def export_command(
    model: Annotated[Path, Argument(help="A model file of dpcore train --out.")],
    out: Annotated[Path, Argument(help="The graph to write: .onnx; other suffixes by plugins.")],
    values: Annotated[
        list[str] | None,
        Option(
            help="COLUMN=FILE of public values, one a line: a table in place of the hash of a "
            "hashed column. A row with another value has no score."
        ),
    ] = None,
) -> None:
    """Write a model as an ONNX graph, from the cells of rows to scores and labels.

    Its inputs have the names of the model's columns. Encoding, scaling of rows and truncation are
    in the graph, in float64: labels are those of dpcore predict. It needs onnx: pip install
    'dpcore[onnx]'. What else can be written: dpcore list exporters.
    """
    from dpcore.plugin.parts import OutFile
    from dpcore_report.exporters import content_of, exporter_of

    OutFile(out).refuse({"the model": model})
    exporter = exporter_of(out)
    OutFile(out).check()
    from dpcore import load_model

    fitted = load_model(model)
    if not fitted.privacy["private"]:
        reasons = "; ".join(fitted.privacy["why_not_private"])
        print_lines(f"dpcore: the model is not private: {reasons}", err=True)
    if values:
        from dpcore_report.onnx.hashed import files_in, values_in, with_tables

        files = files_in(values)
        OutFile(out).refuse({f"--values {name}": file for name, file in files.items()})
        fitted = with_tables(fitted, {name: values_in(file) for name, file in files.items()})
    OutFile(out).write(content_of(exporter, fitted))
    print_lines(f"{exporter.writes}: {out}")
