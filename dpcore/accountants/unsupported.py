"""The refusal of an event that an accountant has no rule for: its kind, and who can bound it."""

from dpcore.privacy.events import DpEvent, NonPrivateDpEvent

__all__ = ["described", "unsupported"]


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


def unsupported(name: str, event: DpEvent) -> str:
    """Return why an accountant refuses an event, and which others can bound it."""
    from dpcore.accountants.registered import which_support

    others, kind = which_support(event), described(event)
    hint = f"{', '.join(others)} can" if others else "no accountant that is installed can"
    if isinstance(event, NonPrivateDpEvent):
        hint = (
            "it is an exact answer: --accountant none (accountant='none'), which guarantees "
            "nothing, counts those"
        )
    article = "an" if kind[0] in "AEIOU" else "a"
    return f"The {name} accountant cannot bound the cost of {article} {kind}; {hint}."
