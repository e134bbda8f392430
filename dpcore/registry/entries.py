"""Registered names, and what cannot be used of what was registered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pluggy

from dpcore.privacy.first_party import DISTRIBUTIONS
from dpcore.registry.kinds import kind_of

__all__ = ["Registration", "Failure", "claimed_twice", "clash_failure", "one_line"]


@dataclass(frozen=True, slots=True)
class Registration:
    """One registered name. ``target`` is ``"package.module:Attribute"``; ``data`` are those of its
    kind (``dpcore.registry.kinds``); ``registered_by`` is the module that registered it.

    Examples
    --------
    >>> from dpcore.plugin.parts import load_registry
    >>> load_registry("accountant").get("accountant", "gdp").target
    'dpcore.accountants.gdp:GdpAccountant'
    """

    kind: str
    name: str
    target: str
    summary: str
    reference: str
    distribution: str
    version: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    registered_by: str = ""

    def shown(self) -> dict[str, str]:
        """Return what ``dpcore list`` and ``dpcore info`` say: all but the last two fields."""
        return {each.name: getattr(self, each.name) for each in fields(self)[:-2]}

    def named_parts(self) -> tuple[str, ...]:
        """Return the names of a reader that the statement checks: its target, and the package that
        registered it if that is another one, since its data say what the rows' types rest on. Whose
        a package is its files say, and no distribution of itself."""
        package = self.target.partition(":")[0].partition(".")[0]
        others = {*DISTRIBUTIONS.values()} - {self.registered_by.partition(".")[0]}
        return self.target, *([f"{self.distribution}:{self.name}"] if package in others else ())


@dataclass(frozen=True, slots=True)
class Failure:
    """A plugin, or a name, that cannot be used, and why, in one line."""

    name: str
    distribution: str
    version: str
    reason: str

    @property
    def owners(self) -> str:
        """Each distribution with its version."""
        pairs = zip(self.distribution.split(", "), self.version.split(", "), strict=True)
        return " and ".join(f"{name} {version}" for name, version in pairs)


def clash_failure(claim: list[Registration], what: str = "") -> Failure:
    first = claim[0]
    owners = " and ".join(f"{entry.distribution} {entry.version}" for entry in claim)
    what = what or f"The {first.kind} {first.name!r}"
    return Failure(
        first.name,
        ", ".join(entry.distribution for entry in claim),
        ", ".join(entry.version for entry in claim),
        f"{what} is registered by both {owners}; uninstall one.",
    )


def claimed_twice(entries: Iterable[Registration]) -> dict[tuple[str, str, str], Failure]:
    """Return the failure of each value of data that belongs to one entry of a kind, and has two."""
    claims: dict[tuple[str, str, str], list[Registration]] = {}
    for entry in entries:
        for key in kind_of(entry.kind).alone:
            for value in entry.data[key]:
                claims.setdefault((entry.kind, key, value), []).append(entry)
    twice = {claim: those for claim, those in claims.items() if len(those) > 1}
    return {
        (kind, key, value): clash_failure(those, f"{value!r} ({key} of the kind {kind})")
        for (kind, key, value), those in twice.items()
    }


def one_line(error: BaseException) -> str:
    """Return an exception as one line: its type and the first line of its text, or all of it where
    the rest says what is wrong."""
    text = str(error).strip().splitlines()
    if isinstance(error, pluggy.PluginValidationError):
        text = [" ".join(map(str.strip, text))]
    return f"{type(error).__name__}: {text[0].strip()}" if text else type(error).__name__
