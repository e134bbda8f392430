"""The refusal of an event that an accountant has no rule for: its kind, and who can bound it."""

from dpcore.privacy.events import DpEvent, NonPrivateDpEvent
from dpcore.privacy.stated_events import ApproximateDpEvent

__all__ = ["described", "unsupported", "which_can"]


def described(event: DpEvent) -> str:
    """Return the name of an event's type, and of the event that it is a sample of."""
    inner = getattr(event, "event", None)
    relation = getattr(event, "relation", None)
    return "".join(
        (
            type(event).__name__,
            "" if inner is None else f" of a {type(inner).__name__}",
            "" if relation is None else f" under {relation.value}",
        )
    )


def which_can(event: DpEvent) -> str:
    """Return which accountants can bound an event, as a clause: where none can that is fully
    adaptive, those that hold a schedule fixed beforehand."""
    from dpcore.accountants.registered import registered_accountants, which_support

    names = which_support(event)
    # Of an (epsilon, delta) release every filter keeps a part of delta, taken from a schedule.
    is_stated = not names or type(event) is ApproximateDpEvent
    names = names or [each.name for each in registered_accountants() if each.supports(event)]
    if not names:
        return "no accountant that is installed can" + (
            ", since theorems of samples are of normal noise: --use SLOT=gaussian (use=)"
            if hasattr(event, "event")
            else ""
        )
    stated = ", where the algorithm states its schedule beforehand" if is_stated else ""
    return f"{', '.join(names)} can{stated}"


def unsupported(name: str, event: DpEvent) -> str:
    """Return why an accountant refuses an event, and which others can bound it."""
    kind, hint = described(event), which_can(event)
    if isinstance(event, NonPrivateDpEvent):
        hint = (
            "it is an exact answer: --accountant none (accountant='none'), which guarantees "
            "nothing, counts those"
        )
    article = "an" if kind[0] in "AEIOU" else "a"
    return f"The {name} accountant cannot bound the cost of {article} {kind}; {hint}."
