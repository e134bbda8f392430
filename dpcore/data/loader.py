"""Rows of files and of frames, by the package that reads them: the one way from a path to encoded
rows, and from what is in memory and no array of numbers.

A loader sees private rows and says what is public of them, so it is inside the trust boundary, and
the statement names it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcore.data.registered_loader import registered_loader
from dpcore.errors import InvalidInputError, RegistryError

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.columns import Column
    from dpcore.data.schema.features.feature_column import FeatureColumn
    from dpcore.data.schema.notation import Notation
    from dpcore.data.schema.schema import Schema

__all__ = [
    "FileLoader",
    "file_loader",
    "loader_if_there",
]

OnBytes: TypeAlias = Callable[[str, int, int | None], None]
"""Gets path, bytes read, and bytes in all."""


@dataclass(frozen=True, slots=True)
class FileLoader:
    """The functions of a loader, as they are registered. Each takes a path first, but for the last
    ones, of rows in memory, and raises InvalidInputError, or DataError with file, line and column,
    and never a cell.

    Parameters
    ----------
    load : as ``Dataset.from_file``.
    pieces : of a path, a schema and ``bad_rows``, yields (feature rows, which rows they are: bool,
        or None for all), each piece lent until the next is asked for; the label may be absent.
    require_known : raises for what is neither a file nor a data set.
    format_of : as ``Files.format_of``.
    schema_of : returns the schema that a file keeps of itself, None if it keeps none.
    partitions : returns the files of a folder or a pattern, in the order of their names.
    requested : of a ``DataRequest``, a relation, threads, a seed and coins, returns the rows that
        were asked for: a tuple of the fields of ``dpcore.fitting.rows.loading.Data``.
    tested : of a ``DataRequest`` and a schema, the rows of a file to report on, None if no file is.
    source_of : of a plan whose engine reads rows itself and a ``DataRequest``, returns where it
        finds them, their schema, and the readers that run on them beside its own.
    with_schema : of a ``DataRequest``, returns it with the schema that it names, or asks to be read
        off the rows, in its place: it is read once.
    schema_of_rows : of such a one, the schema of rows that are not read yet, None where only the
        rows have it.
    predict : of the options of ``dpcore predict``, by their names, writes scores of rows.
    info : of the path of a model, and ``as_json``, prints what ``dpcore info`` says of it.
    schema_lines : of a schema as its ``to_dict`` has it, yields its keys and columns in words.
    rows : of X, y, a schema or None and ``coins``, beside what is public of an array, returns the
        encoded rows, as ``dpcore.data.arrays.dataset_from_arrays`` does. It gets ``weight``, and so
        does ``load``, where rows have a column of weights.
    features : of X, a schema and ``bad_rows``, one of the ``pieces``.
    frame_of : of X, returns it as it is, or as a frame where its rows can be asked for once.
    declares_truth : of X, y and the label's name, whether labels declare that they are truth
        values.
    schema_keys : of a schema's text and where it is from, returns the keys in it.
    schema_file : of a schema's path, or the name of a shipped one, returns the same.
    schema_toml : of a schema, returns its text.
    with_private_bounds : of a schema's keys of a column, returns them with each bound private that
        a number lacks.
    number : of a name, its ``Entry`` with a private bound, bins or knots, and whether it is the
        label's, returns the column of numbers.
    crosses : of the tables of ``[[crosses]]``, returns what each describes.
    schema_columns : of columns, which of their names are wildcards, and the names of rows' columns,
        returns the columns that are meant.
    advice : of cells, the place of a cell without a reading, its column and the notation, returns
        what its owner can do about it.
    bounded : of a Dataset with columns whose bounds were released, and the schema that has them,
        returns the rows encoded.
        Or those of a Dataset whose numbers get hat functions, by the schema that has these.
    with_curves : of a run that has not begun, and what fits it, returns the model of the run whose
        numbers have hat functions; without them again where they count for nothing.
    unbounded_rows : of such a Dataset before, returns an engine over those columns' numbers alone.
    rows_of_part : of a Dataset and ``"column=level"``, returns the rows of that level. Others are
        in none of them, on which parallel composition rests.
    watched : of a function, has it told in a block of every piece of a file that is read, by path,
        bytes read, and bytes in all: ``None`` of a pipe, whose end nobody knows.
    """

    load: Callable[..., Dataset]
    pieces: Callable[[Any, Schema, Any], Iterator[tuple[Any, Any]]]
    require_known: Callable[[str], None]
    format_of: Callable[[str, str | None], str]
    schema_of: Callable[[str], Schema | None]
    partitions: Callable[[str], list[str]]
    requested: Callable[..., Any]
    tested: Callable[..., Dataset | None]
    source_of: Callable[..., tuple[Any, Schema | None, tuple[str, ...]]]
    with_schema: Callable[..., Any]
    schema_of_rows: Callable[..., Schema | None]
    predict: Callable[..., None]
    info: Callable[..., None]
    schema_lines: Callable[[dict[str, Any]], Iterator[str]]
    rows: Callable[..., Dataset]
    features: Callable[[Any, Schema, Any], tuple[Any, np.ndarray | None]]
    frame_of: Callable[[Any], Any]
    declares_truth: Callable[[Any, Any, str], bool]
    schema_keys: Callable[[str, str], dict[str, Any]]
    schema_file: Callable[[str | os.PathLike[str]], dict[str, Any]]
    schema_toml: Callable[[Schema], str]
    schema_columns: Callable[[Sequence[Column], Sequence[str], Sequence[str]], tuple[Column, ...]]
    with_private_bounds: Callable[[Any], Any]
    number: Callable[[str, Any, bool], Column]
    crosses: Callable[[Any], tuple[Any, ...]]
    advice: Callable[[Any, int, FeatureColumn, Notation], str | None]
    bounded: Callable[[Dataset, Schema], Dataset]
    with_curves: Callable[[Any, Callable[[Any], Any]], Any]
    unbounded_rows: Callable[[Dataset], Any]
    rows_of_part: Callable[[Dataset, str], Dataset]
    watched: Callable[[OnBytes], AbstractContextManager[None]]


def file_loader(what: str = "files") -> FileLoader:
    """Return the installed loader; InvalidInputError, with what to install, if there is none.
    ``what`` : is to be read."""
    loader: FileLoader = registered_loader(what)[1]
    return loader


def loader_if_there() -> FileLoader | None:
    """Return the installed loader, ``None`` if there is none that can be loaded."""
    with suppress(InvalidInputError, RegistryError):
        return file_loader()
    return None
