"""``dpcore schema``: a template without data, or a schema that says what it leaks."""

import pytest

from dpcore.data.schema import Schema


def test_a_template_holds_names_and_no_value_of_the_rows(run, folder):
    shown = run("schema", "rows.csv", "--target", "label").stdout
    assert all(name in shown for name in ("age", "city", "label"))
    assert not any(value in shown for value in ("Bern", "Basel", "60"))


def test_from_data_says_what_leaks_and_trains_marked(run, folder):
    result = run("schema", "rows.csv", "--target", "label", "--from-data")
    assert "not private" in result.stdout and "not private" in result.stderr
    (folder / "derived.toml").write_text(result.stdout)
    assert Schema.read(folder / "derived.toml").from_data
    arguments = ("--data", "rows.csv", "--schema", "derived.toml")
    assert "NOT PRIVATE" in run("train", "--algo", "stub", *arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.csv"], "none.csv"),
        (["rows.csv", "--target", "nope"], "nope"),
        (["rows.csv", "--from-data"], "--target"),
    ],
)
def test_mistakes(run, folder, arguments, text):
    result = run("schema", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert text in result.stderr and len(result.stderr.splitlines()) == 1
