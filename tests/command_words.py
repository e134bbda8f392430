"""The words of a command that tests share, some of them given anew."""

__all__ = ["overridden"]


def overridden(words, more):
    """Return pairs of an option and its value, without those that ``more`` has too, and then
    ``more``: a command refuses an option that is given twice."""
    again = {word.partition("=")[0] for word in map(str, more) if word.startswith("--")}
    pairs = zip(words[::2], words[1::2], strict=True)
    return [*(word for pair in pairs if pair[0] not in again for word in pair), *more]
