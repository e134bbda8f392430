"""Sources of rows as partitions on the workers: files, a frame of Dask, a registered data set."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcore.errors import EngineError, InvalidInputError
from dpcore.plugin.engines import (
    Files,
    FrameParts,
    Registered,
    RowsElsewhere,
)
from dpcore.plugin.parts import Table
from dpcore_dask import tasks
from dpcore_dask.cluster import lost_is_told
from dpcore_dask.coins import PartCoins
from dpcore_dask.files import FileSource, is_address
from dpcore_dask.frames import FrameSource
from dpcore_dask.partition_workers import Shares, outcomes_of
from dpcore_dask.registered import RegisteredSource, require_one_whole
from dpcore_dask.versions import own_versions
from dpcore_dask.wire import packed, unpacked
from dpcore_tables.files import entry_of
from dpcore_tables.readers.frame_parts import require_claimed

if TYPE_CHECKING:
    from distributed import Client, Future

    from dpcore import Schema
    from dpcore_dask.partition import Facts, Source

__all__ = ["RowSource", "require_here", "shared_rows"]

RowSource: TypeAlias = Files | FrameParts | Registered

_ENDED = {"action": "remove-worker"}
"""Of the scheduler's event where a worker has ended, however."""


def require_here(source: RowSource) -> None:
    """Raise DataError for files that are not there, before workers of this machine are started to
    read them; those of a cluster that is there may see files that this process does not."""
    if isinstance(source, Files) and source.address is None and not is_address(source.place):
        for name in source.names():
            FileSource(name, None, source.bad_rows, ()).stamp()


def shared_rows(
    source: RowSource, schema: Schema | None, client: Client
) -> tuple[Shares, list[str], RowsElsewhere]:
    """Return a source's partitions on the workers, all of them read, the seal of each, and what
    they are together."""
    begin: dict[str, Callable[..., tuple[Sequence[Source], Shares]]] = {
        "files": _files,
        "frame": _frame,
        "registered": _registered,
    }
    mark = _marked(client) if source.kind == "frame" else {}
    sources, shares = begin[source.kind](source, schema, client)
    found = shares.facts()
    if source.kind == "frame":
        _require_still_there(mark, client)
    if source.kind == "registered":
        require_one_whole(source.name, found)
    return shares, [facts.seal for facts in found], _rows_of(source, sources, found)


def _files(files: Files, schema: Schema | None, client: Client) -> tuple[Sequence[Source], Shares]:
    with lost_is_told():
        named = client.submit(tasks.names, packed((files, schema)), pure=False).result()
    names = unpacked(named).get()
    _require_few(len(names), "files of one table: join some of them")
    coins: list[PartCoins | None] = [None for _ in names]
    if schema is not None and schema.unit is not None:
        counts = client.map(tasks.rows_of_file, names, pure=False)
        coins = _coins(client, files.seed, counts)
    asked = schema, files.bad_rows, _versions()
    sources = [FileSource(name, *asked, own) for name, own in zip(names, coins, strict=True)]
    return sources, Shares(client, sources)


def _frame(
    parts: FrameParts, schema: Schema | None, client: Client
) -> tuple[Sequence[Source], Shares]:
    if schema is None:
        raise InvalidInputError("A Dask frame needs a schema of its columns.")
    schema = require_claimed([str(name) for name in parts.frame.columns], _claimed(parts), schema)
    delayed = parts.frame.to_delayed()
    _require_few(len(delayed), "partitions of one frame: frame.repartition(npartitions=...)")
    with lost_is_told():
        frames: list[Any] = client.compute(delayed)
    coins: list[PartCoins | None] = [None for _ in frames]
    if schema.unit is not None:
        counts = client.map(tasks.rows_of_frame, frames, pure=False)
        coins = _coins(client, parts.seed, counts)
    versions = _versions()
    sources = [
        FrameSource(place, schema, "refuse", versions, own) for place, own in enumerate(coins, 1)
    ]
    return sources, Shares(client, sources, frames)


def _coins(client: Client, seed: int | None, counts: Sequence[Future]) -> list[PartCoins | None]:
    """Return the coins of each partition, by the counts of rows of all: with a seed they are those
    that the rows get in one table."""
    with lost_is_told():
        rows = [outcome.get() for outcome in outcomes_of(client, counts)]
    return [PartCoins.drawn(seed, n_before) for n_before in accumulate([0, *rows[:-1]])]


def _marked(client: Client) -> dict[str, str]:
    """Note this moment among the scheduler's events, and return the note."""
    mark = {"action": "dpcore-frame", "of": uuid.uuid4().hex}
    with lost_is_told():
        client.log_event("all", mark)
    return mark


def _require_still_there(mark: dict[str, str], client: Client) -> None:
    """Raise EngineError where a worker has ended since then, while partitions of a frame were first
    made, whether it was there before or came meanwhile.

    Dask works out anew what such a worker had. Of a source that is random or changes, partitions
    made before and after would be of two tables, and a row could be in both, which no seal of a
    partition shows. Once all are made, a seal is that of one working out. The scheduler notes that
    a worker has ended before it has its tasks done again; of older events it may have none left.
    """
    with lost_is_told():
        events = [event for _, event in client.get_events("all")]
    since = events[events.index(mark) :] if mark in events else [_ENDED]
    if any(isinstance(event, dict) and event.get("action") == _ENDED["action"] for event in since):
        raise EngineError(
            "A worker ended while the partitions of the frame were worked out, and some may have "
            "been worked out from other rows than the rest: try again."
        )


def _claimed(parts: FrameParts) -> Any:
    """Return a frame of no rows with the types that the columns are claimed to have."""
    import pandas as pd

    kinds = zip(parts.frame.columns, parts.frame.dtypes, strict=True)
    return pd.DataFrame({str(name): pd.Series([], dtype=kind) for name, kind in kinds})


def _registered(
    rows: Registered, schema: Schema | None, client: Client
) -> tuple[Sequence[Source], Shares]:
    with lost_is_told():
        count = max(1, sum(client.nthreads().values()))
    versions = _versions()
    sources = [RegisteredSource(rows, place, count, versions) for place in range(count)]
    return sources, Shares(client, sources)


def _versions() -> tuple[tuple[str, str], ...]:
    return tuple(own_versions().items())


def _require_few(count: int, what: str) -> None:
    if count > Table.MOST_FILES:
        raise InvalidInputError(f"Expected at most {Table.MOST_FILES:,}, not {count:,}, {what}.")


def _rows_of(source: RowSource, sources: Sequence[Source], found: Sequence[Facts]) -> RowsElsewhere:
    """Return what the partitions are together; InvalidInputError for schemas that differ."""
    first = found[0].schema
    for part, facts in zip(sources, found, strict=True):
        if facts.schema != first:
            raise InvalidInputError(
                f"{part.name} has another schema than {sources[0].name}: convert both with one."
            )
    claims = {facts.claim for facts in found} - {""}
    if len(claims) > 1:
        raise InvalidInputError(
            f"The rows of {source.title} come from queries of several kinds, checked or claimed, "
            "with declared types or without: convert all from one."
        )
    of_file = "file" if any(facts.is_typed for facts in found) else None
    files = sources if source.kind == "files" else ()
    readers = {named for part in files for named in entry_of(part.name).named_parts()}
    readers |= {name for facts in found for name in facts.read_by}
    return RowsElsewhere(
        name=source.title,
        schema=first,
        n_units=sum(facts.n_units for facts in found),
        rows_dropped=any(facts.rows_dropped for facts in found),
        typed_by="frame" if source.kind == "frame" else max(claims, default=of_file),
        is_generated=all(facts.is_generated for facts in found),
        read_by=tuple(sorted(readers)),
    )
