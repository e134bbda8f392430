"""Differentially private linear models and statistics behind one door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.systems import NOT_HERE

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.data.schema.template import schema_template
    from dpcore.fitting.api import fit
    from dpcore.model.model import load_model
    from dpcore.statistics.opening import open_session

__all__ = ["Schema", "__version__", "fit", "load_model", "open_session", "schema_template"]

__version__ = "0.1.0"

_LAZY = {
    "Schema": "dpcore.data.schema.schema",
    "fit": "dpcore.fitting.api",
    "load_model": "dpcore.model.model",
    "open_session": "dpcore.statistics.opening",
    "schema_template": "dpcore.data.schema.template",
}


def __getattr__(name: str) -> Any:
    # Imported on use, so that the command line starts without NumPy.
    if name in _LAZY:
        if NOT_HERE:
            raise ImportError(NOT_HERE)
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
