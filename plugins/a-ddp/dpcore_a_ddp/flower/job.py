"""The job of a deployment's server, as a file of its own."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpcore.plugin import Settings

__all__ = ["Job"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A fit over users on Flower. All of it is public.

    Parameters
    ----------
    settings : the fit as it was asked for, its ``users`` the path of their file. A seed there only
        marks the model: it is the users who draw.
    n_rows : how many rows the users have together.
    schema, out, progress : the schema's file, and where to write the model and a line a round.
    timeout : seconds to wait for answers in a round.
    n_nodes, start_timeout : how many nodes to wait for before the first round, and how long.
    """

    settings: Settings
    n_rows: int
    schema: str
    out: str
    progress: str
    n_nodes: int
    timeout: float = 60.0
    start_timeout: float = 120.0

    def write(self, path: str | os.PathLike[str]) -> None:
        Path(path).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Job:
        content: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(**{**content, "settings": Settings(**content["settings"])})
