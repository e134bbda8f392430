"""Formats of dates in text."""

from __future__ import annotations

import re
from datetime import date

from dpcore.errors import InvalidInputError

__all__ = ["EPOCH", "date_pattern"]

EPOCH = date(1970, 1, 1).toordinal()
"""The day that is 0 among plain numbers."""

_ZONE = "(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?"
_TIME = f"(?:[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.,][0-9]+)?)?{_ZONE})?"
_ISO = f"(?P<Y>[0-9]{{4}})-(?P<m>[0-9]{{2}})-(?P<d>[0-9]{{2}}){_TIME}"
_DIRECTIVES = {
    "%Y": "(?P<Y>[0-9]{4})",
    "%m": "(?P<m>[0-9]{1,2})",
    "%d": "(?P<d>[0-9]{1,2})",
    "%H": "[0-9]{1,2}",
    "%M": "[0-9]{1,2}",
    "%S": "[0-9]{1,2}",
}


def date_pattern(name: str, format: str | None) -> re.Pattern[str]:
    """Return what texts of a format match, with the groups Y, m and d."""
    if format is None:
        return re.compile(_ISO)
    words = re.split("(%.)", format)
    known = [word for word in words if word in _DIRECTIVES]
    if any(w.startswith("%") and w not in _DIRECTIVES for w in words) or not all(
        known.count(directive) == 1 for directive in ("%Y", "%m", "%d")
    ):
        raise InvalidInputError(
            f"Expected format of column {name!r} to have %Y, %m and %d once each, and else %H, %M "
            'and %S alone, as in "%d.%m.%Y".'
        )
    return re.compile("".join(_DIRECTIVES.get(word, re.escape(word)) for word in words))
