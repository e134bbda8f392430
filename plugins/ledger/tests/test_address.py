"""The address of a ledger in a database, as a schema states it."""

import pytest

from dpcore.errors import InvalidInputError
from dpcore_ledger.stores.address import Address


def test_an_address_is_taken_apart():
    whole = "postgresql://ann@db.example:5433/tables?sslmode=require&ledger=stays"
    found = Address.of(whole)
    assert found.server == "postgresql://ann@db.example:5433/tables?sslmode=require"
    assert (found.ledger, found.text) == ("stays", whole)
    assert Address.of("postgres://db/tables").ledger == "dpcore_ledger"


@pytest.mark.parametrize("name", ["", "Stays", "a-b", 'a"; DROP', "1st", "pg_toast", "a" * 64])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InvalidInputError, match="to be a name"):
        Address.of(f"postgresql://db/tables?ledger={name}")
