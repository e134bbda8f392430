"""``dpcore predict``: scores and labels of new rows by a saved model."""

from pathlib import Path
from typing import Annotated

from dpcore.registry.commands import Argument, Option

__all__ = ["predict_command"]


def predict_command(
    model: Annotated[Path, Argument(help="A model file of dpcore train --out.")],
    data: Annotated[
        str,
        Option(
            help="A data set's name, a file, a store, a folder or pattern of Parquet files, or - "
            "for standard input, with the columns that the model was trained on; a label column is "
            "not needed."
        ),
    ],
    separator: Annotated[
        str | None,
        Option(
            help="What is between the cells of this file, where it is not what the model's schema "
            "says: one character, \\t or whitespace."
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        Option(help="What is before the decimals of numbers in this file, likewise: . or ,"),
    ] = None,
    thousands: Annotated[
        str | None,
        Option(
            help="What may be between groups of three digits in this file, likewise: such as , or "
            "nothing."
        ),
    ] = None,
    encoding: Annotated[
        str | None, Option(help="The code page of this file, likewise: utf-8, cp1252 or another.")
    ] = None,
    date_format: Annotated[
        list[str] | None,
        Option(
            help="How dates in text are written in this file, likewise: such as %d.%m.%Y, iso, or "
            "COLUMN=FORMAT for one column; repeatable."
        ),
    ] = None,
    keep: Annotated[
        str | None,
        Option(
            help="A column of the file, such as an id, whose cells are written before the scores: "
            "one that the model's schema names, dropped or not."
        ),
    ] = None,
    proba: Annotated[
        bool,
        Option(
            "--proba",
            help="Write the probability of each class, probability_NAME, in place of log_odds: of "
            "losses whose margins are log odds.",
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        Option(
            help="The label is the positive class where its probability is above this, of two "
            "classes: 0.5 by default."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            help="File to write, readable by you only: Parquet where its name ends in .parquet, "
            "else CSV; CSV on standard output for - or if none."
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        Option(
            "--spreadsheet-safe",
            help="Put an apostrophe before kept cells and class names of a CSV file that begin "
            "with =, +, -, @, a tab or a carriage return and are no numbers: a spreadsheet would "
            "run them as formulas.",
        ),
    ] = False,
    bad_rows: Annotated[
        str,
        Option(
            help="Rows with an empty cell, or one that does not satisfy the schema: blank (neither "
            "score nor label in their line; how many is told) or refuse."
        ),
    ] = "blank",
    query: Annotated[
        str | None, Option(help="Of a database: the rows, as in 'select age, city from people'.")
    ] = None,
    quiet: Annotated[
        bool, Option("--quiet", help="Print nothing but errors, and scores without --out.")
    ] = False,
) -> None:
    """Write scores and labels of new rows as CSV or Parquet. Predictions on rows are not private.

    Of two classes the score is log_odds, or margin where the loss is not logistic. Of more classes
    each has a column: probability_NAME, ovr_probability_NAME of a model one-vs-rest, or
    margin_NAME. Of a number to predict there is the label alone, in its own unit."""
    asked = {**locals()}
    from dpcore.data.loader import file_loader

    file_loader().predict(**asked)
