"""Several files of one table to a folder of stores, one for each, by several processes."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.errors import DpcoreError, InvalidInputError, replacing
from dpcore.plugin.engines import BadRows
from dpcore_tables.files.formats import is_store
from dpcore_tables.files.input_paths import partition_files
from dpcore_tables.spawned import spawned
from dpcore_tables.store.unfinished import claimed_folder, hold_folder, is_at, partial_path

if TYPE_CHECKING:
    from dpcore import Schema

__all__ = ["convert_partitions"]


def convert_partitions(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    schema: Schema,
    *,
    bad_rows: BadRows = "refuse",
    jobs: int = 1,
    on_store: Callable[[int, int], None] | None = None,
) -> None:
    """Write each Parquet file of a folder or pattern, or the one file, to a store of its name in
    the folder ``out``. ``jobs`` of them are written at a time, each by a process of one thread.

    The folder appears when all of its stores are whole; until then they are beside it in
    ``.NAME.partial``. Nothing of them is left where the conversion fails. The processes of a killed
    conversion end with it, and the next one removes what it left. The folder can be entered by its
    owner only.
    ``on_store`` gets the number of stores written so far, and that of all.

    Raises InvalidInputError where ``out`` is there already, another process is writing it, two
    files have one name or units are not claimed to be in one file each, DpcoreError where a process
    ended by itself, and as ``convert`` does.
    """
    target, files = os.path.abspath(out), partition_files(os.fspath(source))
    if os.path.lexists(target):
        raise InvalidInputError(f"{os.fspath(out)!r} is there already; name a new folder.")
    stores = [f"{Path(name).stem}.dpcore" for name in files]
    twice = [name for name, count in Counter(stores).items() if count > 1]
    if twice:
        raise InvalidInputError(f"Two of the files would be {twice[0]!r}: rename one of them.")
    if schema.unit is not None and not schema.unit_in_one_file:
        raise InvalidInputError(
            f"The rows of a unit by {schema.unit!r} may be in several files, and each would be a "
            "store of its own: convert all of them to one, without --jobs. Where none has rows in "
            "two, the schema claims so by unit_in_one_file = true."
        )
    if any(is_store(name) for name in files):
        raise InvalidInputError(f"{os.fspath(source)} has stores already; copy the files.")
    with _folder_of(os.fspath(out), target) as (unfinished, claimed):
        pairs = [
            (source, os.path.join(unfinished, store))
            for source, store in zip(files, stores, strict=True)
        ]
        asked = max(1, min(jobs, len(pairs))), _prepare, unfinished, claimed
        with replacing(DpcoreError, BrokenProcessPool, by=_told), spawned(*asked) as pool:
            futures = [pool.submit(_convert, *pair, schema, bad_rows) for pair in pairs]
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if on_store is not None:
                    on_store(done, len(pairs))


@contextmanager
def _folder_of(out: str, target: str) -> Iterator[tuple[str, os.stat_result]]:
    """Lend the folder that takes the name ``target`` at the end of the block, if no error leaves
    it, by its name until then and its state."""
    unfinished = partial_path(target)

    def unwritten(error: OSError) -> InvalidInputError:
        return InvalidInputError(f"Cannot write {out!r}: {error.strerror or 'not writable'}.")

    with replacing(OSError, by=unwritten):
        claimed = claimed_folder(out, unfinished)
    try:
        yield unfinished, os.fstat(claimed)
        with replacing(OSError, by=unwritten):
            os.rename(unfinished, target)
    finally:
        if is_at(claimed, unfinished):
            shutil.rmtree(unfinished, ignore_errors=True)
        os.close(claimed)


def _told(error: Exception) -> Exception:
    """Return the error of a file without the traceback of the process that read it."""
    if isinstance(error, DpcoreError):
        error.__cause__ = None
        return error
    return DpcoreError(
        "A process that was converting ended by itself, perhaps for want of memory: take fewer "
        "--jobs."
    )


def _prepare(unfinished: str, claimed: os.stat_result) -> None:
    import pyarrow as pa

    hold_folder(unfinished, claimed)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _convert(source: str, out: str, schema: Schema, bad_rows: BadRows) -> None:
    from dpcore_tables.store.conversion import convert

    convert(source, out, schema, bad_rows=bad_rows)
