"""The address of a ledger in a PostgreSQL database: ``postgresql://host/database?ledger=NAME``.

It is libpq's, with one key more, and without a password: an address is seen in messages, lists of
processes, histories of shells, schemas and whatever prints an estimator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

from dpcore.errors import InvalidInputError

__all__ = ["Address", "is_address"]

_WHOLE = re.compile(
    r"postgres(ql)?://((?P<user>[^:@/?#]*)(?P<password>:[^@/?#]*)?@)?(?P<place>[^@?#]*)"
    r"(\?(?P<query>[^@?#]*))?"
)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_USUAL = "dpcore_ledger"
_SECRETS = {"password", "sslpassword", "oauth_client_secret"}


def is_address(place: str) -> bool:
    """Return whether a ledger's name is an address, and not the path of a file."""
    return place.startswith(("postgresql:", "postgres:"))


@dataclass(frozen=True)
class Address:
    """An address, taken apart.

    Parameters
    ----------
    text : as it was given.
    server : what libpq is told of it.
    ledger : the ledger's name, that of a schema of the database.
    """

    text: str
    server: str
    ledger: str

    @classmethod
    def of(cls, text: str) -> Address:
        """Return an address, taken apart.

        Raises InvalidInputError, which does not repeat it, where it is wrong or has a password.
        """
        found = _WHOLE.fullmatch(text)
        if found is None:
            raise InvalidInputError(
                "Expected the address of a ledger as postgresql://user@host:port/database?"
                "ledger=NAME, with %-escapes for other letters, and without a password."
            )
        asked = dict(parse_qsl(found["query"] or "", keep_blank_values=True))
        if found["password"] or _SECRETS & asked.keys():
            raise InvalidInputError(
                "Expected the address of a ledger without a password, which would be seen in "
                "messages and lists of processes: put it into PGPASSWORD or the file ~/.pgpass."
            )
        ledger = asked.pop("ledger", _USUAL)
        if not _NAME.fullmatch(ledger) or ledger.startswith("pg_"):
            raise InvalidInputError(
                f"Expected ledger={ledger!r} in an address to be a name of at most 63 small "
                "letters, digits and underscores, which does not begin with a digit or pg_."
            )
        user = f"{found['user']}@" if found["user"] else ""
        query = f"?{urlencode(asked, quote_via=quote)}" if asked else ""
        return cls(text, f"postgresql://{user}{found['place']}{query}", ledger)
