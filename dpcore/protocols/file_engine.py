"""The protocol of an engine whose own processes read the rows, which no session's process has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

from dpcore.protocols import Engine

if TYPE_CHECKING:
    from dpcore.data.files import RowsElsewhere, RowSource
    from dpcore.data.schema.schema import Schema

__all__ = ["FileEngine"]


@runtime_checkable
class FileEngine(Engine, Protocol):
    """An engine of files. Whatever refuses them is raised by ``open``, so before any release."""

    reads_files: ClassVar[bool] = True
    rows: RowsElsewhere
    """The public facts of the rows, and their number."""

    @classmethod
    def open(cls, source: RowSource, schema: Schema | None, threads: int | None) -> Self:
        """Return the engine of rows, all of them checked, of ``Files``, or of another source that
        its class declares; ``schema`` : ``None`` where they come with their own."""

    def close(self) -> None:
        """Let go of the rows, and of all that was started or written for them."""
