"""Several files of one table to a folder of stores, one for each, by several processes."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.data.readers import BadRows, format_of
from dpcore.data.readers.places import partition_files
from dpcore.errors import DpcoreError, InvalidInputError

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

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
    the folder ``out``, ``jobs`` of them at a time, each by a process of one thread.

    The folder appears when all of its stores are whole; until then they are beside it, and nothing
    of them is left where the conversion fails. It can be entered by its owner only.
    ``on_store`` gets the number of stores written so far, and that of all.

    Raises InvalidInputError where ``out`` is there already or two files have one name, DpcoreError
    where a process ended by itself, and as ``convert`` does.
    """
    target, files = os.path.abspath(out), partition_files(os.fspath(source))
    if os.path.lexists(target):
        raise InvalidInputError(f"{os.fspath(out)!r} is there already; name a new folder.")
    stores = [f"{Path(name).stem}.dpcore" for name in files]
    twice = [name for name, count in Counter(stores).items() if count > 1]
    if twice:
        raise InvalidInputError(f"Two of the files would be {twice[0]!r}: rename one of them.")
    if any(format_of(name) == "dpcore" for name in files):
        raise InvalidInputError(f"{os.fspath(source)} has stores already; copy the files.")
    try:
        parent, name = os.path.split(target)
        unfinished = tempfile.mkdtemp(prefix=f".{name}.", suffix=".partial", dir=parent)
    except OSError as error:
        raise InvalidInputError(f"Cannot write {os.fspath(out)!r}: {error.strerror}.") from None
    try:
        paths = [os.path.join(unfinished, store) for store in stores]
        _convert_all(list(zip(files, paths, strict=True)), schema, bad_rows, jobs, on_store)
        os.rename(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _convert_all(
    pairs: list[tuple[str, str]],
    schema: Schema,
    bad_rows: BadRows,
    jobs: int,
    on_store: Callable[[int, int], None] | None,
) -> None:
    # Spawned, never forked: a child has none of its parent's threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, min(jobs, len(pairs))), context, initializer=_one_thread)
    try:
        futures: list[Future[None]] = [
            pool.submit(_convert, source, out, schema, bad_rows) for source, out in pairs
        ]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            if on_store is not None:
                on_store(done, len(pairs))
    except BrokenProcessPool:
        raise DpcoreError(
            "A process that was converting ended by itself, perhaps for want of memory: take fewer "
            "--jobs."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _one_thread() -> None:
    import signal

    import pyarrow as pa

    # The parent alone answers an interrupt, which a terminal sends to all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _convert(source: str, out: str, schema: Schema, bad_rows: BadRows) -> None:
    from dpcore.data.store.writer import convert

    convert(source, out, schema, bad_rows=bad_rows)
