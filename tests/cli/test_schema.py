"""``dpcore schema``: a template without data, or a schema that says what it leaks."""

import subprocess
import sys

import pytest

from dpcore import Schema


def test_a_template_holds_names_and_no_value_of_the_rows(run, folder):
    shown = run("schema", "rows.csv", "--target", "label").stdout
    assert all(name in shown for name in ("age", "city", "label"))
    assert not any(value in shown for value in ("Bern", "Basel", "60"))


def test_without_a_schema_the_command_that_writes_one_is_named(run, folder):
    told = run("train", "--data", "rows.csv", "--target", "label").stderr
    assert "write one from `dpcore schema rows.csv --target label > schema.toml`" in told
    assert (
        "from `dpcore schema rows.csv > schema.toml`" in run("train", "--data", "rows.csv").stderr
    )


def test_from_data_says_what_leaks_and_trains_marked(run, folder):
    result = run("schema", "rows.csv", "--target", "label", "--from-data")
    assert "not private" in result.stdout and "not private" in result.stderr
    (folder / "derived.toml").write_text(result.stdout)
    assert Schema.read(folder / "derived.toml").from_data
    arguments = ("--data", "rows.csv", "--schema", "derived.toml")
    assert "NOT PRIVATE" in run("train", "--algo", "stub", *arguments).stdout


def test_from_data_tells_of_text_that_may_be_meant_otherwise(run, folder, caplog):
    rows = (f"a{j};1,{j % 10};b{j % 3};{j % 2}\n" for j in range(110))
    (folder / "odd.csv").write_text("zip;bmi;city;label\n" + "".join(rows))
    assert run("schema", "odd.csv", "--target", "label", "--from-data").exit_code == 0
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert told[0] == (
        "dpcore: warning: numbers with a comma, as in column 'bmi', are taken for decimals: the "
        'schema has decimal = ",".'
    )
    assert told[1].startswith("dpcore: warning: column 'zip' is text of more than 100 values")
    assert 'kind = "hashed"' in told[1]


@pytest.mark.parametrize(
    ("rows", "kind", "decimal"),
    [
        (["1.234,5;2", "3;5"], "numeric", ","),  # Points between thousands.
        (["1,5;2.5", "2,5;3.5"], "categorical", "."),  # Two notations: text stays text.
        (["1,5;1.000", "2,5;2.000"], "numeric", ","),
        (["1,5 m;2", "2,5;5"], "categorical", "."),
    ],
)
def test_from_data_reads_decimal_commas_where_all_numbers_have_them(
    run, folder, rows, kind, decimal
):
    lines = [f"{row};{j % 2}" for j, row in enumerate(rows * 3)]
    (folder / "c.csv").write_text("a;b;label\n" + "\n".join(lines) + "\n")
    made = run("schema", "c.csv", "--target", "label", "--from-data").stdout
    schema = Schema.from_toml(made)
    assert (schema.columns[0].kind, schema.decimal) == (kind, decimal)
    (folder / "c.toml").write_text(made)
    done = run("train", "--algo", "stub", "--data", "c.csv", "--schema", "c.toml")
    assert done.exit_code == 0, done.stderr


def shares(text, column):
    """Return the words of a column's line of the table."""
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [column])


def test_check_tells_what_the_schema_clamps_and_does_not_know(run, folder):
    # Bounds and categories that fit no row were swallowed in silence.
    schema = (folder / "schema.toml").read_text().replace("100", "25").replace("Bern", "Berne")
    (folder / "other.toml").write_text(schema)
    result = run("schema", "--check", "rows.csv", "other.toml")
    assert result.exit_code == 0 and "rows.csv: 6 rows" in result.stdout
    assert shares(result.stdout, "age")[2:] == ["0.00%", "66.67%", "0.00%", "0.00%"]
    assert shares(result.stdout, "city")[2:] == ["66.67%", "0.00%"]
    assert shares(result.stdout, "label")[2:] == ["0.00%", "0.00%"]
    assert "not private. If you change bounds, categories or another key of the" in result.stdout
    assert "frame[NAME].value_counts(dropna=False)" in result.stdout
    assert "`from_data = true` in it, which marks models" in result.stdout


def test_check_tells_what_a_choice_of_rows_per_unit_leaves_out(run, folder):
    schema = (folder / "schema.toml").read_text()
    units = 'unit = "who"\nrows_per_unit = 2\n'
    (folder / "u.toml").write_text(units + schema)
    header, *rows = (folder / "rows.csv").read_text().splitlines()
    ids = ["a", "a", "a", "b", "b", ""]
    lines = [f"{id},{row}" for id, row in zip(["who", *ids], [header, *rows], strict=True)]
    (folder / "u.csv").write_text("\n".join(lines) + "\n")
    shown = run("schema", "--check", "u.csv", "u.toml").stdout
    assert "Units by 'who': 2 in 6 rows; without an id 16.67% of the rows, malformed" in shown
    assert "1: 60.00%, 2 (as it is): 20.00%, 3: 0.00%." in shown


def test_a_noisy_check_is_stated(run, folder):
    result = run("schema", "--check", "rows.csv", "schema.toml", "--epsilon", "50")
    told = "This table of shares is (50, 1e-08)-differentially private under add-or-remove-one"
    assert told in result.stdout and "not private" not in result.stdout
    assert "have noise of standard deviation 0." in result.stdout and "about" in result.stdout
    pure = run("schema", "--check", "rows.csv", "schema.toml", "--epsilon", "2", "--delta", "0")
    assert "(2, 0)-differentially private" in pure.stdout


def test_help_teaches_the_check(run):
    shown = " ".join(run("schema", "--help").stdout.split())
    assert "--check" in shown and "not private" in shown and "comes from the data" in shown


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--check", "rows.csv"], "dpcore schema --check rows.csv schema.toml"),
        (["--check", "rows.csv", "schema.toml", "--from-data"], "schema alone"),
        (["--check", "rows.csv", "schema.toml", "--target", "age"], "schema alone"),
        (["--check", "rows.csv", "schema.toml", "--delta", "0"], "--delta with --epsilon only"),
        (["--check", "rows.csv", "schema.toml", "--epsilon", "0"], "epsilon"),
        (["--check", "none.csv", "schema.toml"], "none.csv"),
        (["--check", "rows.csv", "none.toml"], "none.toml"),
        (["--check", "rows.npz", "schema.toml"], "its schema needs a width"),
        (["rows.csv", "schema.toml"], "with --check only"),
        (["rows.csv", "--epsilon", "1"], "with --check only"),
        (["none.csv"], "none.csv"),
        (["rows.csv", "--target", "nope"], "nope"),
        (["rows.csv", "--from-data"], "--target"),
        (["adult", "--target", "income"], "a shipped schema"),
        (["--check", "rows.csv", "adul"], "Did you mean adult"),
    ],
)
def test_mistakes(run, folder, arguments, text):
    result = run("schema", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert text in result.stderr and len(result.stderr.splitlines()) == 1


@pytest.mark.slow
def test_noisy_shares_that_could_not_be_printed_say_what_was_charged(tmp_path):
    (tmp_path / "f.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "s.toml").write_text(
        '[columns]\na = { kind = "numeric", lower = 0, upper = 9 }\n'
        'y = { kind = "label", classes = [0, 1] }\n'
    )
    command = [sys.executable, "-m", "dpcore", "schema", "--check", "f.csv", "s.toml"]
    with open("/dev/full", "w") as full:
        run = subprocess.run([*command, "--epsilon", "1"], cwd=tmp_path, stdout=full,
                             stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert run.returncode != 0
    assert "Charged, and spent:" in run.stderr and "may not have been printed" in run.stderr


def test_shipped_schemas_are_listed_and_printed(run, folder):
    listed = run("schema", "--list")
    assert listed.exit_code == 0 and "\nipums-br " in listed.stdout
    printed = run("schema", "ipums-br").stdout
    assert Schema.from_toml(printed) == Schema.read("ipums-br")


def test_a_shipped_schema_goes_by_its_name(run, folder):
    rows = [["0"] * 52 + [str(i % 2)] for i in range(6)]
    (folder / "ipums.dat").write_text("".join(f"{' '.join(row)}\n" for row in rows))
    asked = ("--data", "ipums.dat", "--schema", "ipums-br")
    trained = run("train", "--algo", "stub", *asked, "--out", "model.json")
    assert trained.exit_code == 0, trained.stderr
    predicted = run("predict", "model.json", "--data", "ipums.dat")
    assert len(predicted.stdout.splitlines()) == 7
    assert run("schema", "--check", "ipums.dat", "ipums-br").exit_code == 0
    compared = (
        "compare",
        "--algos",
        "stub",
        *asked,
        "--quick",
        "--epsilon",
        "1",
        "--out",
        "r.parquet",
    )
    told = run(*compared, "--folds", "2")
    assert told.exit_code == 0, told.stderr
    assert run("convert", "ipums.dat", "ipums.dpcore", "--schema", "ipums-us").exit_code == 0
    (folder / "ipums.dat").write_text(f"{' '.join(rows[0])}\n{' '.join(['x', *rows[1][1:]])}\n")
    refused = run("train", "--algo", "stub", *asked)
    assert refused.exit_code == 2 and "ipums.dat, line 2" in refused.stderr
    assert "'c0'" in refused.stderr


def test_all_keys_are_explained_without_a_file(run):
    from dpcore_tables.schemas import reference

    done = run("schema", "--help-keys")
    assert done.exit_code == 0 and done.stdout == reference()
