"""Texts that someone else wrote, as a terminal may have them."""

import unicodedata

__all__ = ["visible"]


def visible(text: object) -> str:
    r"""Return a text in one line in which nothing is a command and nothing is hidden: control
    characters (those above 127 and line breaks included), marks that turn the direction of letters
    and signs without a width are Python's escapes, such as ``\x1b``.

    Names of columns, classes and files, and what models, ledgers and plugins say, are whatever
    someone chose.

    Examples
    --------
    >>> from dpcore.plugin.parts import visible
    >>> print(visible("age\x1b[2J"))
    age\x1b[2J
    """
    given = str(text)
    if given.isprintable():
        return given
    return "".join(sign if _is_shown(sign) else _escaped(sign) for sign in given)


def _is_shown(sign: str) -> bool:
    # A blank of another width is none of Python's printable signs, and harmless.
    return sign.isprintable() or unicodedata.category(sign) == "Zs"


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
