"""The whole extension surface: hooks, each handed a ``register`` function.

``register(name, target, *, summary, reference="")``: ``name`` in kebab case, ``target`` as
``"package.module:Attribute"``, imported only when it is used. Some kinds take further keywords,
their data, which are read without that import (``dpcore.registry.kinds``).
"""

from collections.abc import Callable

import pluggy

__all__ = ["hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("dpcore")
hookimpl = pluggy.HookimplMarker("dpcore")


@hookspec
def register_commands(register: Callable[..., None]) -> None:
    """Register functions whose parameters are ``dpcore.plugin.commands``' Option and Argument;
    ``fits`` : whether one has the options of a fit too, as ``fit`` (``dpcore.cli.fit_options``)."""


@hookspec
def register_optimizers(register: Callable[..., None]) -> None:
    """Register classes that follow ``dpcore.protocols.optimizer.Optimizer``; ``default`` : whether
    it is the algorithm of a run that names none. ``options`` : a ``dpcore.plugin.steps.StepOption``
    for each of its targets, ``shared`` where others have the same."""


@hookspec
def register_mechanisms(register: Callable[..., None]) -> None:
    """Register classes that follow ``dpcore.protocols.Mechanism``."""


@hookspec
def register_accountants(register: Callable[..., None]) -> None:
    """Register classes that follow ``dpcore.protocols.Accountant``."""


@hookspec
def register_losses(register: Callable[..., None]) -> None:
    """Register classes that follow ``dpcore.protocols.Loss``."""


@hookspec
def register_datasets(register: Callable[..., None]) -> None:
    """Register functions ``load() -> dpcore.plugin.parts.Dataset``."""


@hookspec
def register_engines(register: Callable[..., None]) -> None:
    """Register classes that follow ``dpcore.protocols.Engine``, built from a table."""


@hookspec
def register_exporters(register: Callable[..., None]) -> None:
    """Register classes that state ``dpcore.registry.tables.outside.ExporterFacts``."""


@hookspec
def register_ledger_stores(register: Callable[..., None]) -> None:
    """Register classes of places that a ledger's entries are kept in, built from an address."""


@hookspec
def register_ledgers(register: Callable[..., None]) -> None:
    """Register a class that follows ``dpcore.session.ledger.TableLedger``, as ``table``."""


@hookspec
def register_column_kinds(register: Callable[..., None]) -> None:
    """Register instances of ``dpcore.data.schema.keys.ColumnKind``: the keys of a kind of column,
    and a function that reads them."""


@hookspec
def register_readers(register: Callable[..., None]) -> None:
    """Register functions ``open(source, facts)`` of rows of a format, by its ``suffixes`` and
    ``schemes``."""


@hookspec
def register_row_stores(register: Callable[..., None]) -> None:
    """Register stores of encoded rows in a file, four functions each, by their ``suffixes``."""


@hookspec
def register_file_loaders(register: Callable[..., None]) -> None:
    """Register an instance of ``dpcore.data.loader.FileLoader``, as ``files``."""


@hookspec
def register_steps(register: Callable[..., None]) -> None:
    """Register classes that follow ``dpcore.fitting.steps.step.RunStep``; ``options`` : a
    ``StepOption`` for each option of ``dpcore train`` that one has."""
