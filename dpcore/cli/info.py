"""``dpcore info NAME``: what can be set, what it needs, and what it guarantees; without a name,
which names there are."""

from __future__ import annotations

import inspect
import math
import os
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from dpcore.cli.terminal.printing import print_json, print_lines
from dpcore.data.schema.keys import ColumnKind
from dpcore.fitting.planning.losses import has_parameters
from dpcore.fitting.planning.slots import others_for
from dpcore.registry.catalogue import KINDS, Registration, Registry, load_registry, plural
from dpcore.registry.commands import Argument, CommandGroup, Option
from dpcore.registry.parameters import describe_parameters
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from dpcore.data.loader import FileLoader

__all__ = ["describe", "info_command"]

_DEFINITION = (
    "(epsilon, delta)-differential privacy with the unit of one row; epsilon and delta are the "
    "budget that the accountant's filter enforces"
)
_PURE = (
    "epsilon-differential privacy with the unit of one row; epsilon is --epsilon-max, the worst "
    "case that the filter enforces; beside it the run reports the ex-post epsilon of its outcome"
)
_WITH_DELTA = f"(epsilon, delta){_PURE.removeprefix('epsilon')}"
_KNOWN = (
    "epsilon-differential privacy with the unit of one row; epsilon is what the target asks for, a "
    "function of public facts that the filter enforces; at most --epsilon-max"
)
_SHOWN = (
    *("needs", "unit", "fully_adaptive", "classification", "multiclass", "lipschitz"),
    "smoothness",
)
"""Facts of parts that are no optimizers, as they are shown where a part states them."""
# Data of registrations, and the commands of a group of them, as they are shown.
_DATA = ("group", "suffixes", "schemes", "commands")
# Letters of a line of names.
_WIDTH = 78
# Ends of the names of files: no registered name has a point, or a separator of folders.
_OF_FILES = (".json", ".toml")
_NOT_PRIVATE = "none: NOT PRIVATE, whatever epsilon and delta are"


def info_command(
    name: Annotated[
        str | None,
        Argument(help="Any registered name, or a model file; without one, all names."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what is known of an algorithm, a part or a model: parameters, slots, needs, relations,
    theorem and departures, or what a model predicts, from which columns, and its guarantee."""
    if name is None:
        _print_names(load_registry(), as_json=as_json)
        return
    if name.endswith(_OF_FILES) or os.sep in name:
        _files().info(name, as_json=as_json)
        return
    registry = load_registry()
    entries = registry.find(name)
    described = [describe(entry, registry.load(entry.kind, entry.name)) for entry in entries]
    if as_json:
        # A plugin's default may be infinite.
        print_json(described[0] if len(described) == 1 else described, allow_nan=True)
        return
    for facts in described:
        print_lines(*_lines(facts))


def _files() -> FileLoader:
    from dpcore.data.loader import file_loader

    return file_loader()


def _print_names(registry: Registry, *, as_json: bool) -> None:
    """Print what there is to be asked about, by kind."""
    names = {plural(kind): list(registry.names(kind)) for kind in KINDS}
    if as_json:
        print_json(names)
        return
    print_lines("dpcore info NAME tells of one of these, dpcore info model.json of a model.")
    for kind, of_kind in names.items():
        listed = f"{kind}: {', '.join(of_kind) or 'none installed'}"
        print_lines(*textwrap.wrap(listed, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def describe(entry: Registration, target: Any) -> dict[str, Any]:
    """Return what is known of an entry as JSON-able data; ``target`` is its class or function."""
    facts: dict[str, Any] = entry.shown()
    if entry.kind == "dataset":
        from dpcore.data.dataset import Dataset

        schema = Dataset.declared_schema(target)
        return facts if schema is None else {**facts, "schema": schema.to_dict()}
    facts |= {key: _plain(value) for key, value in entry.data.items() if value}
    if isinstance(target, CommandGroup):
        return {**facts, "doc": target.help, "commands": [name for name, _ in target.commands]}
    facts["doc"] = inspect.getdoc(target) or ""
    if entry.kind == "step":
        module = "dpcore" if entry.distribution == "dpcore" else target.__module__
        facts["in Python"] = f"from {module} import {target.__name__}"
    if isinstance(target, ColumnKind):
        told = (f"{key.name} = {key.example}: {key.meaning}" for key in target.keys)
        return {**facts, "doc": "\n".join(told)}
    if entry.kind == "optimizer":
        return {**facts, **_describe_optimizer(target)}
    if entry.kind == "loss" and has_parameters(target):
        facts["parameters"] = [asdict(parameter) for parameter in describe_parameters(target)]
        target = target()
    for name in _SHOWN:
        value = getattr(target, name, None)
        if isinstance(value, float) and not math.isfinite(value):
            value = "unbounded"
        if isinstance(value, (str, bool, int, float)):
            facts[name] = value
    return facts


def _plain(value: Any) -> Any:
    """Return data of a registration as JSON has them."""
    held = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return [_plain(each) for each in held] if isinstance(held, tuple) else held


def _describe_optimizer(target: Any) -> dict[str, Any]:
    stated = optimizer_facts(target)
    return {
        "parameters": [asdict(parameter) for parameter in describe_parameters(target)],
        "accountant": stated.accountant,
        "targets": list(stated.targets),
        "adaptive_accountants": list(stated.adaptive_accountants),
        "slots": {
            name: {
                "names": list(slot.names),
                "others": list(others_for(slot, load_registry())),  # installed, beside those
                "takes": list(slot.takes),
                "closed": slot.closed,
                "beside": slot.beside_its_names,
            }
            for name, slot in stated.slots.items()
        },
        "presets": {name: dict(values) for name, values in stated.presets.items()},
        "preset_sources": {name: dict(told) for name, told in stated.preset_sources.items()},
        "needs": list(stated.needs),
        "privacy_definition": _privacy_definition(target),
        "neighboring_relations": list(stated.relations),
        "for_units": stated.for_units,
        "multiclass": stated.multiclass,
        "theorem": stated.theorem,
        "departures": list(stated.departures),
        "as_published": "as_published" in inspect.signature(target).parameters,
    }


def _privacy_definition(target: Any) -> str:
    stated = optimizer_facts(target)
    if stated.accountant == "none" or stated.without_noise:
        return _NOT_PRIVATE
    if not stated.targets:
        return _DEFINITION
    if stated.needed_epsilon is not None:
        return _KNOWN
    return _WITH_DELTA if "delta" in stated.targets else _PURE


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['name']}: {facts['summary']}"
    yield f"  {facts['kind']} of {facts['distribution']} {facts['version']}"
    if facts["reference"]:
        yield f"  paper: {facts['reference']}"
    if facts["kind"] == "optimizer":
        yield from _of_optimizer(facts)
        return
    if "schema" in facts:
        yield from _files().schema_lines(facts["schema"])
    for name in (*_SHOWN, *_DATA, "in Python"):
        if name in facts:
            told = facts[name]
            yield f"  {name}: {', '.join(told) if isinstance(told, list) else told}"
    yield from (f"  {line}".rstrip() for line in facts.get("doc", "").splitlines())
    if facts.get("parameters"):
        yield "parameters (--set loss.NAME=VALUE); the values above are of the defaults"
        yield from _of_parameters(facts["parameters"])


def _of_parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    for p in parameters:
        unit = f", in {p['unit']}" if p["unit"] not in ("", "1") else ""
        ends = f"; within {p['range']}" if p["range"] else ""
        default = "" if p["default"] is None else f"; default {p['default']}"
        yield f"  {p['name']}: {p['type']}{unit}{ends}{default}"
        yield from [f"    {p['help']}"] * bool(p["help"])
        yield from [f"    by default: {p['rule'] or 'chosen from public facts'}"] * (not default)


def _of_optimizer(facts: dict[str, Any]) -> Iterator[str]:
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in facts["targets"])
    others = " or ".join(facts["adaptive_accountants"])
    lines = {
        f"  privacy: {facts['privacy_definition']}": True,
        f"  neighboring relations: {', '.join(facts['neighboring_relations'])}": True,
        "  a unit of several rows can be protected: unit in the schema": facts["for_units"],
        "  the label may have three classes and more": facts["multiclass"],
        f"  theorem: {facts['theorem'] or 'not stated'}": True,
        f"  needs: {', '.join(facts['needs']) or 'nothing'}": True,
        f"  accountant: {facts['accountant']}, unless you or a preset names another": True,
        f"  epsilon is an output, at most --epsilon-max; the target is set by {flags}": flags,
        f"  under {others} each release is charged as made; no ex-post epsilon is told": others,
        "parameters (--set NAME=VALUE)": facts["parameters"],
    }
    yield from (line for line, is_so in lines.items() if is_so)
    yield from [] if facts["parameters"] else facts["doc"].splitlines()
    yield from _of_parameters(facts["parameters"])
    slots = (
        f"  {slot}: {', '.join(held['names'])}; {held['beside']}"
        + (f" ({', '.join(held['others'])})" if held["others"] else "")
        for slot, held in facts["slots"].items()
    )
    yield from _under("slots (--use SLOT=NAME; the first is the default)", slots)
    sets = (
        line
        for one, values in facts["presets"].items()
        for of in (facts["preset_sources"].get(one, {}),)
        for line in (
            f"  {one}",
            *(f"    {k}={v}" + (f": {of[k]}" if k in of else "") for k, v in values.items()),
        )
    )
    yield from _under("presets (--preset NAME)", sets)
    if facts["as_published"]:
        yield "as its authors published it (marked not private): --as-published"
    departures = (f"  - {departure}" for departure in facts["departures"])
    yield from _under("departures from the paper", departures)


def _under(heading: str, lines: Iterable[str]) -> list[str]:
    """Return lines under their heading; nothing where there are none."""
    found = [*lines]
    return [heading, *found] if found else []
