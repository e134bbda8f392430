"""A model's card: all that a report says, in sections, however it is shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import exact
from dpcore_report.fitted import columns_section, fitted_section, versions_section
from dpcore_report.guarantee import explained_of, meaning_section, whose_section
from dpcore_report.limits import outside_section, public_section, secrets_section
from dpcore_report.spending import ledger_section, theorems_section

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model
    from dpcore_report.sections import Section

__all__ = ["Card", "card_of"]


@dataclass(frozen=True, slots=True)
class Card:
    """A report before it is text, HTML or JSON.

    Parameters
    ----------
    title : the model in words.
    private : whether the file states a guarantee.
    headline : the guarantee, or that there is none, in one line.
    facts : the few numbers that stand first, each with its name.
    sections : all else, in order.
    figures : odds and attacks as data, empty without a guarantee.
    statement : the privacy statement of the file.
    """

    title: str
    private: bool
    headline: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    figures: dict[str, Any]
    statement: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON-able data."""
        return {"format": "dpcore-report", "format_version": 1, **asdict(self)}


def card_of(model: Model, digest: str | None = None) -> Card:
    """Return the card of a model, from what its file holds and nothing else, but for the theorem
    that its algorithm states where that version of it is installed.

    ``digest`` : the SHA-256 of the file, which the card then names.

    Raises InvalidInputError for a statement of a relation that is not known here.
    """
    privacy = dict(model.privacy)
    explained = explained_of(privacy)
    sections = (
        meaning_section(privacy, explained),
        whose_section(privacy),
        fitted_section(model),
        columns_section(model),
        ledger_section(model),
        public_section(model),
        outside_section(privacy),
        secrets_section(model),
        theorems_section(model),
        versions_section(model, digest),
    )
    return Card(
        title=f"A model that predicts {model.fitted_in_words()}",
        private=privacy["private"],
        headline=_headline(privacy),
        facts=_facts(privacy),
        sections=sections,
        figures={} if explained is None else explained.to_dict(),
        statement=privacy,
    )


def _headline(privacy: dict[str, Any]) -> str:
    if not privacy["private"]:
        return "NOT PRIVATE: no epsilon and no delta are guaranteed"
    pair = f"({exact(privacy['epsilon'])}, {exact(privacy['delta'])})"
    provided = ", on conditions that are named below" if _conditions(privacy) else ""
    return f"{pair}-differentially private, {privacy['neighboring_relation']}{provided}"


def _conditions(privacy: dict[str, Any]) -> bool:
    """Return whether the guarantee rests on more than dpcore and the schema."""
    named = ("parts_not_from_dpcore", "most_rows", "typed_by")
    return any(privacy.get(name) for name in named)


def _facts(privacy: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    if not privacy["private"]:
        return ()
    whose = privacy.get("unit_of_protection", "one row")
    return (
        ("epsilon", exact(privacy["epsilon"])),
        ("delta", exact(privacy["delta"])),
        ("protects", str(whose)),
        ("relation", privacy["neighboring_relation"]),
        ("enforced by", f"the {privacy['accountant']} filter"),
    )
