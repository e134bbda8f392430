"""Scores and labels of new rows by a saved model, as ``dpcore predict`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import load_model
from dpcore.errors import advised_on_bad_rows
from dpcore.plugin.commands import print_lines
from dpcore.plugin.parts import Model, OutFile
from dpcore_accounting.commands.printing import print_bytes
from dpcore_tables.databases.address import with_query
from dpcore_tables.files.passthrough_column import PassthroughColumn, passthrough_column
from dpcore_tables.files.score_files import scores_as_bytes
from dpcore_tables.files.to_score import feature_rows
from dpcore_tables.kinds.dates import with_date_formats

if TYPE_CHECKING:
    import numpy as np

    from dpcore import Schema
    from dpcore.plugin.engines import BadRows

__all__ = ["predict"]

_ADVICE = "Without --bad-rows refuse such a row has an empty score."
_ECHOED = 2**20


def predict(
    *,
    model: Path,
    data: str,
    separator: str | None,
    decimal: str | None,
    thousands: str | None,
    encoding: str | None,
    date_format: list[str] | None,
    keep: str | None,
    proba: bool,
    threshold: float | None,
    out: Path | None,
    spreadsheet_safe: bool,
    bad_rows: str,
    query: str | None,
    quiet: bool,
) -> None:
    """Write the scores of the rows of a data set or a file, by the options of ``dpcore predict``.

    Raises InvalidInputError for options that do not fit each other, the model or the rows;
    DataError for a file that cannot be read.
    """
    reading, data = Model.reading_of(bad_rows), with_query(data, query, False)
    if out == Path("-"):
        out = None
    if out is not None:
        OutFile(out).refuse({"the model": model, "--data": data})
        OutFile(out).check()
    score_bytes = scores_as_bytes(out, spreadsheet_safe)
    fitted = load_model(model)
    if proba:
        fitted.require_probabilities()
    least = 0.0 if threshold is None else fitted.least_log_odds(threshold)
    if not (quiet or fitted.privacy["private"]):
        reasons = "; ".join(fitted.privacy["why_not_private"])
        print_lines(f"dpcore: the model is not private: {reasons}", err=True)
    schema = _schema_of_file(fitted, separator, decimal, thousands, encoding)
    schema = with_date_formats(schema, date_format or ())
    said = _Said(replace(fitted, schema=schema), proba, least)
    output = _Output(said, data, reading, _Kept(keep, data, schema))
    pieces = score_bytes(output.heads, output.kinds, output.rows())
    with advised_on_bad_rows(_ADVICE):
        if out is not None:
            OutFile(out).write(pieces, mode=0o600)
        else:
            # Nothing is printed of a file that turns out not to be whole.
            with OutFile.spooled(pieces) as whole:
                while piece := whole.read(_ECHOED):
                    print_bytes(piece)
    if output.n_blank and not quiet:
        print_lines(f"dpcore: {output.blanks_in_words()}", err=True)


def _schema_of_file(
    model: Model,
    separator: str | None,
    decimal: str | None,
    thousands: str | None,
    encoding: str | None,
) -> Schema:
    """Return the model's schema, in the notation of the file to be read."""
    schema = model.schema
    if separator is not None:
        schema = replace(schema, separator="\t" if separator == r"\t" else separator)
    decimal = schema.decimal if decimal is None else decimal
    if thousands is None:
        thousands = "" if schema.thousands == decimal else schema.thousands
    encoding = schema.encoding if encoding is None else encoding
    return replace(schema, decimal=decimal, thousands=thousands, encoding=encoding)


class _Kept:
    """The column that is written before the scores, if any."""

    def __init__(self, name: str | None, data: str, schema: Schema) -> None:
        self.head = () if name is None else (name,)
        self._cells: Iterator[str] = iter(())
        if name is not None:
            self._cells = passthrough_column(data, schema, name)

    @property
    def passthrough(self) -> PassthroughColumn | None:
        """The cells that are taken from the rows as they are read, if they are."""
        return self._cells if isinstance(self._cells, PassthroughColumn) else None

    def beside(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows, each behind its cell."""
        if not self.head:
            yield from rows
            return
        for row in rows:
            yield next(self._cells), *row


class _Output:
    """The rows of the output, and the number of those without a score among them."""

    def __init__(self, said: _Said, data: str, bad_rows: BadRows, kept: _Kept) -> None:
        self.n_rows = self.n_blank = 0
        self._said, self._data, self._bad_rows, self._kept = said, data, bad_rows, kept

    def blanks_in_words(self) -> str:
        """Return a sentence on the rows without a score."""
        counts, option = (self.n_blank, self.n_rows), "--bad-rows refuse"
        return self._said.model.blanks_in_words(*counts, option, self._data)

    @property
    def heads(self) -> tuple[str, ...]:
        return (*self._kept.head, *self._said.heads)

    @property
    def kinds(self) -> list[type]:
        """The type of the cells of each column."""
        scores = [float] * (len(self._said.heads) - 1)
        return [*(str for _ in self._kept.head), *scores, self._said.kind_of_label]

    def rows(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Yield the rows in pieces, each to be gone through before the next."""
        nothing = (None,) * len(self._said.heads)
        model = self._said.model
        pieces = feature_rows(self._data, model.schema, self._bad_rows, self._kept.passthrough)
        for margins in model.margins_in_pieces(pieces):
            blank = model.blank_rows(margins).tolist()
            self.n_rows += len(blank)
            self.n_blank += sum(blank)
            said = zip(blank, *self._said.of(margins), strict=True)
            yield self._kept.beside(
                nothing if is_blank else (*scores, label) for is_blank, scores, label in said
            )


@dataclass(frozen=True)
class _Said:
    """The scores and labels of margins. ``least`` : log odds, above which two classes' label is
    the positive one."""

    model: Model
    proba: bool
    least: float

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns of scores, and of the label."""
        model = self.model
        if model.classes is None:
            return ("label",)
        if model.w.ndim == 1 and not self.proba:
            return ("log_odds" if model.has_log_odds else "margin", "label")
        what = "probability" if model.has_probabilities else "margin"
        if model.multiclass is not None:
            what = f"{model.multiclass}_{what}"
        return (*(f"{what}_{name}" for name in model.classes), "label")

    @property
    def kind_of_label(self) -> type:
        """The type of all labels: numbers of both kinds are float, a mixture with text is text."""
        kinds = {float} if self.model.classes is None else {*map(type, self.model.classes)}
        if len(kinds) == 1:
            return kinds.pop()
        return float if kinds == {int, float} else str

    def of(self, margins: np.ndarray) -> tuple[list[list[float]], list[Any]]:
        """Return the scores and the label of each row."""
        labels = self.model.labels(margins, self.least).tolist()
        if self.model.classes is None:
            return [[] for _ in labels], labels
        if margins.ndim == 1 and not self.proba:
            return margins[:, None].tolist(), labels
        has_any = self.model.has_probabilities
        scores = self.model.probabilities(margins) if has_any else margins.T
        return scores.tolist(), labels
