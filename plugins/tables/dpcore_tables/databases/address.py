"""Where a query's rows are: ``sqlite:///people.db?query=select age, paid from people``.

An address is seen in lists of processes and histories of shells, so that a password in one is
refused. What a message or a model calls the rows has neither user nor query in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlencode

from dpcore.errors import InvalidInputError

__all__ = ["CLAIM", "QUERY", "Address", "refuse_password", "refuse_query", "with_query"]

QUERY, CLAIM = "query", "row-wise-claim"
"""Keys of an address, and options of commands."""
_SECRETS = {"password", "sslpassword", "oauth_client_secret"}
_PASSWORD = re.compile(r"[^:]*://[^/?#]*:[^/?#]*@")
_SERVER = re.compile(r"postgres(?:ql)?://([^/?#]*)", re.IGNORECASE)
_NO_PORT, _V6 = re.compile(r":(?!\d*(,|$))"), re.compile(r"\[[^]]*\]")
_CODED = re.compile("%[0-9a-fA-F]{2}")
_SUCH_AS = "sqlite:///FILE, postgresql://USER@HOST/DATABASE or duckdb:///FILE"


@dataclass(frozen=True)
class Address:
    """An address, taken apart.

    Parameters
    ----------
    source : what messages call the rows.
    place : what follows ``scheme://``, without keys, with its %-escapes.
    query : what is asked there.
    is_claimed : whether each row of the result is claimed to come from one row of a table.
    others : further keys, for the database's own client.
    """

    source: str
    place: str
    query: str
    is_claimed: bool
    others: dict[str, str]

    @classmethod
    def of(cls, text: str, is_promised: bool = True) -> Address:
        """Return an address, taken apart. ``is_promised`` : whether something is promised of its
        rows; if not, no claim of theirs is needed.

        Raises InvalidInputError, which does not repeat it, where it has a password or no query.
        """
        refuse_password(text)
        base, _, rest = text.partition("?")
        keys: dict[str, str] = {}
        scheme, _, place = base.partition("://")
        for pair in filter(None, rest.split("&")):
            key, _, value = pair.partition("=")
            if key in keys:
                raise InvalidInputError(f"An address has two values of {key!r}; leave one of them.")
            if key == QUERY and " " in value and _CODED.search(value):
                raise InvalidInputError(
                    "The query has spaces and a % before two of 0-9 and a-f, which together may be "
                    "another letter in an address: write all of it by urllib.parse.quote(query)."
                )
            keys[key] = unquote(value)
        query, claim = keys.pop(QUERY, "").strip(), keys.pop(CLAIM, "")
        server, slash, path = place.partition("/")
        source = f"{scheme}://{server.rpartition('@')[2]}{slash}{path}"
        if not query:
            raise InvalidInputError(
                f"{source} is a database: say with --query (from Python, ?query= behind the "
                "address) which rows are meant, as in --query 'select age, paid from people'."
            )
        if claim not in ("", "True"):
            raise InvalidInputError(f"Expected {CLAIM}=True in an address, or none.")
        return cls(source, place, query, bool(claim) or not is_promised, keys)


def refuse_password(text: str) -> None:
    """Raise InvalidInputError, which does not repeat it, for an address with a password."""
    server = _SERVER.match(text)
    # Of a server's address a colon comes before a port alone, and the user before the path.
    is_odd = server is not None and (
        _NO_PORT.search(_V6.sub("", server[1]))
        or "@" in text[server.end() :].partition(f"{QUERY}=")[0]
    )
    if is_odd or _PASSWORD.match(text) or any(f"{each}=" in text.lower() for each in _SECRETS):
        raise InvalidInputError(
            "Expected the address of a database without a password, which would be seen in lists "
            "of processes: put it into the environment (PGPASSWORD), the file ~/.pgpass, or the "
            "driver's own."
        )


def refuse_query(source: str) -> None:
    """Raise InvalidInputError for the query of what is no address."""
    if "://" not in source:
        raise InvalidInputError(
            f"--{QUERY} and --{CLAIM} are of a database, whose address is {_SUCH_AS}."
        )


def with_query(source: str, query: str | None, is_claimed: bool) -> str:
    """Return where the rows of a query are; InvalidInputError for a query of what is no address."""
    given = {QUERY: query, CLAIM: is_claimed or None}
    keys = urlencode({k: value for k, value in given.items() if value is not None}, quote_via=quote)
    if keys:
        refuse_query(source)
    return f"{source}{'&' if '?' in source else '?'}{keys}" if keys else source
