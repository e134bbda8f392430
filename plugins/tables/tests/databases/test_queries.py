"""Which queries are row by row, which need a claim, and which are never asked."""

import re

import pytest

from dpcore.errors import InvalidInputError
from dpcore_tables.databases import never_asked
from dpcore_tables.databases.address import Address, with_query
from dpcore_tables.databases.queries import read_query

DIALECTS = "sqlite", "postgres", "duckdb"


def read(text, dialect="sqlite", unit=None, claimed=False):
    return read_query(Address.of(with_query("sqlite:///x.db", text, claimed)), dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "select * from people",
        "SELECT age, paid FROM people WHERE age > 3 AND city IN ('a', 'b') -- LIMIT",
        "select p.age as a, -age * 2 + 1, age / 7 % 3 from people as p where not paid is null;",
        "select case when age between 1 and 2 then 'x' else city end c from people",
        "select cast(age as text), coalesce(city, 'limit'), lower(city) || 'x' from people",
        "select \"age\" from people where city like 'a%' or city = 'distinct'",
    ],
)
def test_rows_of_one_table_need_no_claim(dialect, text):
    query = read(text, dialect)
    assert [table.name for table in query.tables] == ["people"]
    assert {name for name, _ in query.columns} <= {"age", "paid", "city"}


NOT_ROW_WISE = {
    "select age from people limit 5": "LIMIT",
    "select age from people order by age": "ORDER BY",
    "select age from people limit 5 offset 2": "LIMIT|OFFSET",
    "select distinct age from people": "DISTINCT",
    "select age from people, visits": "a JOIN",
    "select age from people join visits using (id)": "a JOIN",
    "select age from people natural join visits": "a JOIN",
    "select age, count(*) from people group by age": "COUNT|GROUP BY",
    "select max(age) from people": "MAX",
    "select avg(age) over () from people": "window|AVG",
    "select row_number() over (order by age) from people": "window|ROW",
    "with p as (select age from people) select age from p": "WITH",
    "select age from (select age from people) p": "subquery",
    "select age from people where age > (select 3)": "subquery",
    "select age from people where exists (select 1 from visits)": "subquery",
    "select age from people union select age from visits": "UNION",
    "select age from people where city in (age) and age in city": "IN of a name",
    "select age from people /* LIMIT 3 */": "a comment",
    "select my_own(age) from people": "a function that is not known",
    "select age from json_each('[1]')": "claim",
    "select 1": "no table",
    "values (1)": "claim|one SELECT",
}


@pytest.mark.some_fast
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", NOT_ROW_WISE)
def test_what_is_not_row_by_row_needs_the_claim(dialect, text):
    with pytest.raises(InvalidInputError, match=NOT_ROW_WISE[text]) as caught:
        read(text, dialect)
    if text.startswith(("select", "with")):
        assert "--row-wise-claim" in str(caught.value)
        assert read(text, dialect, claimed=True).text == text


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("select ctid::text::int from people for update", "postgres"),
        ("select age into copy from people", "postgres"),
        ("with d as (delete from people returning age) select age from d", "postgres"),
        ("select nextval('s') from people", "postgres"),
        ("select pg_read_file('x') from people", "postgres"),
        ("select age from people where random() < 0.5", "postgres"),
        ("select age from people order by random() limit 5", "sqlite"),
        ("select age, gen_random_uuid() from people", "duckdb"),
        ("select age from people using sample 10%", "duckdb"),
        ("select age from people tablesample system (10)", "postgres"),
    ],
)
def test_what_changes_something_or_draws_is_never_asked(text, dialect):
    for claimed in (False, True):
        with pytest.raises(InvalidInputError, match="reads rows as they are"):
            read(text, dialect, claimed=claimed)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "delete from people",
        "select age from people; drop table people",
        "drop table people",
        "Ypsilanti",
        "attach 'x' as y",
        "pragma user_version",
    ],
)
def test_what_is_no_single_select_is_refused_without_its_text(dialect, text, capfd, caplog):
    for claimed in (False, True):
        with pytest.raises(
            InvalidInputError, match="one SELECT|reads rows as they|a syntax"
        ) as caught:
            read(text, dialect, claimed=claimed)
        assert "Ypsilanti" not in str(caught.value) and "\n" not in str(caught.value)
    assert not caplog.text and not "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("text", "place"),
    {
        "select 'Ypsilanti from people": "",
        "(" * 5000 + "select 1": "",
        "select Ypsilanti form people where": "at line 1, letter",
        "select age, from people)": "at line 1, letter",
    }.items(),
)
def test_a_syntax_error_is_called_one_without_the_text(text, place):
    for dialect in DIALECTS:
        with pytest.raises(InvalidInputError, match=f"has a syntax error.*{place}") as caught:
            read(text, dialect)
        assert not re.search("Ypsilanti|people", str(caught.value))


DRAWN = {
    "postgres": [
        "cast('now' as timestamp)",
        "timestamp ' Today '",
        "'tomorrow'::date",
        "born < 'now'",
        "current_date",
        "localtimestamp",
        "now()",
        "clock_timestamp()",
        "txid_current()",
        "age(born)",
    ],
    "sqlite": [
        "date('now')",
        "datetime()",
        "date()",
        "time()",
        "strftime('%Y', 'now')",
        "CURRENT_TIMESTAMP",
        "unixepoch('subsec')",
        "datetime('subsecond')",
        "strftime('%s', 'subsec')",
    ],
    "duckdb": [
        "age(born)",
        "today()",
        "get_current_timestamp()",
        "current_localtime()",
        "age(born, now())",
    ],
}


@pytest.mark.parametrize(("dialect", "text"), [(d, t) for d, ts in DRAWN.items() for t in ts])
def test_times_of_the_moment_are_never_asked(dialect, text):
    for claimed in (False, True):
        with pytest.raises(InvalidInputError, match="function of another value each time"):
            read(f"select age, {text} as x from people", dialect, claimed=claimed)


def test_a_word_of_the_moment_may_be_a_category():
    for dialect in ("sqlite", "duckdb"):
        assert read("select age, 'now' as x from people where city = 'today'", dialect)
    assert read("select age, 'nowhere' as x from people where city = 'todays'", "postgres")
    assert read("select age, 'subsec' as x from people where city = 'subsec'", "sqlite")


def test_a_time_of_the_row_may_have_a_part_of_a_second():
    text = "select {} as x from people"
    assert read(text.format("datetime(born, 'subsec')"), "sqlite", claimed=True)
    assert read(text.format("unixepoch(born, 'subsec')"), "sqlite", claimed=True)
    assert read(text.format("age(died, born)"), "postgres", claimed=True)


@pytest.mark.parametrize(
    "text",
    [
        "select * from people pivot (sum(age) for city in ('Bern'))",
        "pivot people on city using sum(age)",
        "select * from (pivot people on city using sum(age))",
    ],
)
def test_columns_are_not_named_by_values_of_rows(text):
    with pytest.raises(InvalidInputError, match="PIVOT names columns by the values of rows"):
        read(text, "duckdb", claimed=True)


@pytest.mark.parametrize(
    "text",
    [
        # Equal ids of one table may be different ones in another: by their types, or a collation.
        "select id, age, n from people join visits using (id)",
        "select * replace (n as id) from people join visits using (id)",
        "select * from people left join visits using (id) where n > 3",
        "select id, age, n from people join visits using (city)",
        "select id, age, n from people join visits on people.id = visits.id or true",
    ],
)
def test_a_join_needs_the_claim(text):
    with pytest.raises(InvalidInputError, match="a JOIN.*--row-wise-claim.*schema with unit"):
        read(text, "duckdb")
    assert read(text, "duckdb", claimed=True).is_claimed


@pytest.mark.parametrize("blank", ["\u200b", "\ufeff", "\u2060"])
def test_a_character_that_is_not_seen_is_refused(blank):
    with pytest.raises(InvalidInputError, match="characters that are not seen"):
        read(f"select age from people as p{blank}limit{blank}1", "duckdb", claimed=True)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:Ypsilanti@host/db",
        "postgresql://host/db?password=Ypsilanti",
        "postgresql://ann:pa/Ypsilanti@host/db",
        "postgresql://ann:pa?Ypsilanti@host/db?query=select+1",
        "postgresql://ann:Ypsilanti",
        "postgres://host/db;password=Ypsilanti",
        "postgresql://host/db?sslmode=require&SSLPASSWORD=Ypsilanti",
        "mysql://ann:Ypsilanti@host/db",
    ],
)
def test_an_address_with_a_password_is_refused_without_it(address):
    from dpcore_tables.files import entry_of

    with pytest.raises(InvalidInputError, match="without a password") as caught:
        entry_of(with_query(address, "select 1", False))
    assert "Ypsilanti" not in str(caught.value)


def test_what_a_run_calls_its_rows_has_neither_user_nor_query():
    from dpcore_tables.files.input_paths import name_of

    query = "select age from people where name = 'Ypsilanti/3'"
    names = {
        "sqlite:///folder/me@home.db": "me@home.db",
        "postgresql://ann@host/people": "people",
        "postgresql://ann@host": "host",
        "postgresql://": "postgresql",
    }
    for address, name in names.items():
        asked = with_query(address, query, True)
        assert name_of(asked) == name and "ann" not in Address.of(asked).source
        assert Address.of(asked).query == query and Address.of(asked).is_claimed


def test_the_query_of_what_is_no_database_is_refused():
    with pytest.raises(InvalidInputError, match="--query and --row-wise-claim are of a database"):
        with_query("rows.csv", "select 1", False)
    for like in ("%De%", "%41%"):  # U+FFFD, or an A, where the text was meant as it is.
        with pytest.raises(InvalidInputError, match="write all of it by urllib.parse.quote"):
            Address.of(f"sqlite:///a.db?query=select age from people where city like '{like}'")
    assert Address.of("sqlite:///a.db?query=select age like '%nn%'").query.endswith("'%nn%'")
    with pytest.raises(InvalidInputError, match="two values of 'query'"):
        Address.of("sqlite:///x.db?query=select 1&query=select 2")
    with pytest.raises(InvalidInputError, match="say with --query"):
        Address.of("sqlite:///x.db")


def test_an_at_sign_within_a_query_is_no_password():
    text = "postgresql://ann@host/db?query=select age from people where mail = 'a@b'"
    assert Address.of(text).query.endswith("'a@b'")


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2028", "\x0b", "\x1f", "\0"])
@pytest.mark.parametrize("dialect", ["postgres", "sqlite", "duckdb"])
def test_a_space_that_is_a_letter_to_a_database_is_refused(dialect, space, monkeypatch):
    query = f"select age from people{space}small"  # PostgreSQL reads the view people\u00a0small
    with pytest.raises(InvalidInputError, match="type it anew"):
        read_query(Address.of(with_query("sqlite:///p.db", query, False)), dialect)
    if space != "\0":
        in_quotes = f"select age from people where city = 'La{space}Paz'"
        read_query(Address.of(with_query("sqlite:///p.db", in_quotes, False)), dialect)
        monkeypatch.setattr(never_asked, "_n_odd_spaces", lambda _: 0)
        read = read_query(Address.of(with_query("sqlite:///p.db", query, False)), dialect)
        assert read.tables[0].name == "people"  # the broken twin looks at another table
