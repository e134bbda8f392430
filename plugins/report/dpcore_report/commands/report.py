"""``dpcore report``: a page on a model's privacy, to hand over."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Argument, Option, print_lines
from dpcore_accounting.commands.printing import print_bytes

__all__ = ["report_command"]

_FORMATS = ("html", "text", "json")


def report_command(
    model: Annotated[str, Argument(help="A model file.")],
    out: Annotated[
        str | None, Option(help="The file to write; standard output if not given.")
    ] = None,
    form: Annotated[
        str, Option("--format", help="html, text, or json (a machine-readable model card).")
    ] = "html",
    docs: Annotated[
        str | None,
        Option(
            help="The address of the folder docs of dpcore's site, for links: of http or https, or "
            "a relative path; by default the page names the documents without links."
        ),
    ] = None,
) -> None:
    """Write a report on a model for those who answer for it. It says what was fitted, whose
    privacy, what the guarantee means in odds, what was spent, what is public, what is outside, and
    what must be kept secret. It is made from the model file alone."""
    from dpcore import load_model
    from dpcore.plugin.parts import OutFile
    from dpcore_report.card import card_of
    from dpcore_report.html import html_of
    from dpcore_report.text import text_of

    if form not in _FORMATS:
        raise InvalidInputError(f"Expected --format {form} to be one of {', '.join(_FORMATS)}.")
    if out is not None:
        OutFile(out).refuse({"the model": model})
        OutFile(out).check()
    fitted = load_model(model)
    card = card_of(fitted, hashlib.sha256(Path(model).read_bytes()).hexdigest())
    if form == "html":
        content = html_of(card, docs)
    elif form == "text":
        content = text_of(card)
    else:
        content = json.dumps(card.to_dict(), indent=2, allow_nan=False) + "\n"
    if out is None:
        print_bytes(content)
    else:
        OutFile(out).write(content)
        print_lines(f"Report: {out}", err=True)
