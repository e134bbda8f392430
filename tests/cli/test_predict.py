"""``dpcore predict``: in pieces, whole or not at all, of all that ``train`` takes."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpcore import load_model
from dpcore_tables.readers import pieces

NAME = "rows.csv"


@pytest.fixture
def saved(train, folder):
    assert train("--out", "m.json", "--quiet").exit_code == 0
    return "m.json"


@pytest.fixture
def some(monkeypatch):
    """How many rows were predicted at a time; a piece of a file is a line or two."""
    from dpcore.plugin.parts import Model

    monkeypatch.setattr(pieces, "PIECE_BYTES", 16)
    real, sizes = Model.margins, []

    def margins(self, rows):
        sizes.append(rows.shape[0])
        return real(self, rows)

    monkeypatch.setattr(Model, "margins", margins)
    return sizes


def test_a_file_goes_through_in_pieces_with_the_output_of_one(run, saved, folder, some):
    pieces.PIECE_BYTES = 2**20
    whole = run("predict", saved, "--data", NAME).stdout
    assert some == [6]
    pieces.PIECE_BYTES = 16
    assert run("predict", saved, "--data", NAME).stdout == whole
    assert len(some) > 3 and max(some[1:]) < 4
    assert run("predict", saved, "--data", NAME, "--out", "p.csv").stdout == ""
    assert Path("p.csv").read_text() == whole


@pytest.mark.parametrize("out", [(), ("--out", "p.csv"), ("--out", "/dev/stdout")])
def test_a_bad_row_at_the_end_leaves_no_output_if_so_asked(run, saved, folder, some, out):
    with (folder / NAME).open("a") as file:
        file.write(",Bern,no\n")
    before = sorted(folder.iterdir())
    done = run("predict", saved, "--data", NAME, "--bad-rows", "refuse", *out)
    assert some and done.exit_code == 2 and done.stdout == ""
    assert sorted(folder.iterdir()) == before
    assert done.stderr == (
        "dpcore: rows.csv, line 8, column 'age': the cell is empty; fill it in, or set fill = "
        "VALUE or indicator = true for the column in a schema. Without --bad-rows refuse such a "
        "row has an empty score.\n"
    )


@pytest.mark.parametrize("out", [(), ("--out", "p.csv")])
def test_a_row_without_a_score_has_its_line(run, saved, folder, some, out):
    whole = run("predict", saved, "--data", NAME).stdout.splitlines()
    lines = (folder / NAME).read_text().splitlines()
    bad = [",Bern,no", "inf,Bern,yes", "old,Bern,", "nan,,"]
    rows = [lines[0], bad[0], *lines[1:4], bad[1], *lines[4:], *bad[2:]]
    (folder / NAME).write_text("\n".join(rows) + "\n")
    done = run("predict", saved, "--data", NAME, *out)
    assert done.exit_code == 0 and max(some[1:]) < 4
    told = "4 of 10 rows have no score: a cell is empty, or not what the schema says. --bad-rows"
    assert told in done.stderr
    text = Path("p.csv").read_text() if out else done.stdout
    expected = [whole[0], ",", *whole[1:4], ",", *whole[4:], ",", ","]
    assert text.splitlines() == expected


def test_a_line_of_another_width_is_refused_where_bad_rows_are_blank(run, saved, folder):
    with (folder / NAME).open("a") as file:
        file.write("1,Bern\n")
    done = run("predict", saved, "--data", NAME)
    assert done.exit_code == 2 and "line 8: 2 cells, expected 3" in done.stderr
    assert "blank or refuse" in run("predict", saved, "--data", NAME, "--bad-rows", "drop").stderr


def test_python_reads_in_pieces_too(run, saved, folder, some):
    assert load_model(saved).decision_function(NAME).shape == (6,)
    assert len(some) > 3
    Path("none.csv").write_text("age,city\n")
    assert load_model(saved).predict("none.csv").shape == (0,)


def test_every_source_that_train_takes(run, train, saved, folder):
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    pq.write_table(pacsv.read_csv(NAME), "rows.parquet")
    assert not run("convert", NAME, "rows.dpcore", "--schema", "schema.toml").exit_code
    Path("header.csv").write_text("age,city,label\n")
    assert not run("convert", "header.csv", "none.dpcore", "--schema", "schema.toml").exit_code
    whole = run("predict", saved, "--data", NAME).stdout
    for source in ("rows.parquet", "rows.dpcore"):
        assert run("predict", saved, "--data", source).stdout == whole
    assert run("predict", saved, "--data", "none.dpcore").stdout == "log_odds,label\n"


def test_a_registered_data_set(run, folder):
    assert not run("train", "--algo", "stub", "--data", "stub-rows", "--out", "m.json").exit_code
    done = run("predict", "m.json", "--data", "stub-rows")
    assert done.exit_code == 0, done.stderr
    scores = [float(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    from dpcore_stub import load

    assert np.array_equal(scores, load_model("m.json").margins(load().X))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("stub-rows", "are not those that the model takes: it has 2 unnamed or encoded features"),
        ("census-sim", "are not those that the model takes: its column 'age' has other bounds"),
        ("adlt", "neither a file nor a data set. Did you mean adult"),
    ],
)
def test_a_data_set_of_another_encoding_is_refused(run, saved, data, text):
    done = run("predict", saved, "--data", data)
    assert done.exit_code == 2 and done.stdout == "" and text in done.stderr


def test_a_column_too_many_is_to_be_removed_from_the_file(run, saved, folder):
    Path("more.csv").write_text("age,city,note\n1,Bern,x\n")
    told = run("predict", saved, "--data", "more.csv").stderr
    assert told == (
        "dpcore: more.csv: column 'note' is not among those that the model was trained with; "
        "remove the column.\n"
    )


def test_a_column_that_the_data_set_has_not(run, folder):
    for name in ("schema.toml", NAME):
        (folder / name).write_text((folder / name).read_text().replace("age", "length"))
    asked = ("--algo", "stub", "--data", NAME, "--schema", "schema.toml", "--out", "m.json")
    assert run("train", *asked).exit_code == 0
    assert "no column 'length'" in run("predict", "m.json", "--data", "census-sim").stderr


@pytest.mark.parametrize("command", ["train", "convert", "compare", "fit", "fit a file"])
def test_what_can_be_done_about_a_bad_row_is_what_the_command_can_do(run, folder, command):
    import pandas as pd

    from dpcore import fit
    from dpcore.errors import DataError

    with (folder / NAME).open("a") as file:
        file.write(",Bern,no\n")
    schema, drop = ("--schema", "schema.toml"), "Or --bad-rows drop leaves such rows out."
    if command.startswith("fit"):
        rows = NAME if "file" in command else pd.read_csv(NAME)
        with pytest.raises(DataError, match="the cell is empty; fill it in") as caught:
            fit(rows, schema="schema.toml")
        (note,) = caught.value.__notes__
        assert ("--bad-rows drop" in note) == ("file" in command) and "add-or-remove-one" in note
        return
    asked = {
        "train": ("train", "--data", NAME, *schema),
        "convert": ("convert", NAME, "r.dpcore", *schema),
        "compare": ("compare", "--algos", "stub", "--data", NAME, *schema),
    }
    told = run(*asked[command]).stderr
    assert "the cell is empty; fill it in, or" in told
    assert (drop in told) == (command != "compare")


def test_labels_are_utf_8_whatever_the_terminal_says(run, folder):
    for name in ("schema.toml", NAME):
        text = (folder / name).read_text().replace("yes", "ja é").replace("no", "né")
        (folder / name).write_text(text, encoding="utf-8")
    asked = ("--algo", "stub", "--data", NAME, "--schema", "schema.toml", "--out", "m.json")
    assert run("train", *asked).exit_code == 0
    labels = run("predict", "m.json", "--data", NAME).stdout_bytes.decode("utf-8")
    assert {line.split(",")[1] for line in labels.splitlines()[1:]} <= {"ja é", "né"}
    assert json.loads(Path("m.json").read_text())["classes"] == ["né", "ja é"]


def test_the_raw_column_is_named_by_the_loss(run, train, folder):
    assert train("--out", "svm.json", "--loss", "huber-svm", "--quiet").exit_code == 0
    assert run("predict", "svm.json", "--data", NAME).stdout.startswith("margin,label\n")


def test_probabilities_and_a_threshold(run, train, folder):
    assert train("--out", "m.json", "--seed", "1", "--quiet").exit_code == 0
    saved = "m.json"
    (folder / NAME).write_text((folder / NAME).read_text() + ",Bern,no\n")
    model = load_model(saved)
    with pytest.warns(UserWarning, match="no score"):
        chances, odds = model.predict_proba(NAME), model.decision_function(NAME)
    lines = run("predict", saved, "--data", NAME, "--proba").stdout.splitlines()
    assert lines[0] == "probability_no,probability_yes,label" and lines[-1] == ",,"
    rows = [line.split(",") for line in lines[1:-1]]
    assert np.array_equal(np.array([row[:2] for row in rows], float), chances[:-1])
    # A threshold between two scores: the labels change, the scores do not.
    least = float(np.median(chances[:-1, 1]))
    done = run("predict", saved, "--data", NAME, "--threshold", least).stdout.splitlines()
    assert done[0] == "log_odds,label" and done[-1] == ","
    said = [line.split(",") for line in done[1:-1]]
    assert np.array_equal([float(z) for z, _ in said], odds[:-1])
    expected = ["yes" if chance > least else "no" for chance in chances[:-1, 1]]
    assert [label for _, label in said] == expected and len({*expected}) == 2
    half = run("predict", saved, "--data", NAME, "--threshold", 0.5).stdout
    assert half == run("predict", saved, "--data", NAME).stdout


@pytest.mark.parametrize(
    ("loss", "asked", "text"),
    [
        ("huber-svm", ("--proba",), "are no log odds"),
        ("huber-svm", ("--threshold", "0.5"), "are no log odds"),
        ("logistic", ("--threshold", "1"), "Expected 0 < threshold=1.0 < 1."),
    ],
)
def test_probabilities_that_a_model_has_not_are_refused(run, train, folder, loss, asked, text):
    assert train("--out", "m.json", "--loss", loss, "--quiet").exit_code == 0
    done = run("predict", "m.json", "--data", NAME, *asked)
    assert done.exit_code == 2 and done.stdout == "" and text in done.stderr


@pytest.mark.parametrize("names", ["0, 1", "1.5, 2.5", '"01", "1"', '"False", "True"'])
def test_classes_are_written_as_they_were(run, train, folder, names):
    first, second = (name.strip(' "') for name in names.split(","))
    for name, (no, yes) in {NAME: (first, second), "schema.toml": names.split(",")}.items():
        text = (folder / name).read_text()
        quote = '"' if name == "schema.toml" else ""
        text = text.replace(f"{quote}no{quote}", no.strip()).replace(f"{quote}yes{quote}", yes)
        (folder / name).write_text(text)
    assert train("--out", "m.json", "--seed", "1", "--quiet").exit_code == 0
    low, high = (
        {row.split(",")[1] for row in run("predict", "m.json", *rest).stdout.splitlines()[1:]}
        for rest in (("--data", NAME, "--threshold", t) for t in (0.999999, 0.000001))
    )
    assert (low, high) == ({first}, {second})


def test_a_number_is_predicted_in_its_own_unit_and_no_other(run, train, folder):
    text = (folder / "schema.toml").read_text()
    text = text.replace('classes = ["no", "yes"]', "lower = 1000, upper = 3000")
    (folder / "schema.toml").write_text(text)
    rows = (folder / NAME).read_text().replace("no", "1500").replace("yes", "2500")
    (folder / NAME).write_text(rows + ",Bern,1500\n")
    # No --loss: the label can only mean a regression.
    done = train("--out", "m.json", "--bad-rows", "drop")
    assert done.exit_code == 0 and "ridge loss" in done.stdout, done.stderr
    head, *lines, blank = run("predict", "m.json", "--data", NAME).stdout.splitlines()
    assert (head, blank) == ("label", '""')
    model = load_model("m.json")
    with pytest.warns(UserWarning, match="no score"):
        values = model.predict(NAME)
    assert np.array_equal(np.array(lines, float), values[:-1])
    refused = run("predict", "m.json", "--data", NAME, "--proba")
    assert refused.exit_code == 2 and "which has no probabilities" in refused.stderr


def test_a_predicted_number_is_within_the_bounds_of_the_target(run, folder):
    # A file of an earlier state, which said 10.3 of the second row.
    model = Path(__file__).parents[1] / "golden" / "models" / "files" / "clipped-errors.json"
    (folder / NAME).write_text("age,city\n20,Bern\n85,Genf\n0,Bern\n")
    head, *lines = run("predict", str(model), "--data", NAME).stdout.splitlines()
    assert head == "label" and [float(line) for line in lines[1:]] == [10.0, 0.0]
    assert 0 < float(lines[0]) < 10


def test_a_file_in_another_notation_is_said_to_be(run, saved, folder):
    whole = run("predict", saved, "--data", NAME).stdout
    lines = (folder / NAME).read_text().replace(",", ";").replace("0;", "0,0;")
    Path("other.csv").write_text(lines)
    told = run("predict", saved, "--data", "other.csv").stderr
    assert "looks semicolon-separated" in told and "--separator ';' of dpcore predict" in told
    blank = run("predict", saved, "--data", "other.csv", "--separator", ";")
    assert "6 of 6 rows have no score" in blank.stderr
    assert "The first: other.csv, line 2, column 'age': the cell looks like a num" in blank.stderr
    assert "dpcore predict --decimal, --thousands" in blank.stderr
    asked = ("predict", saved, "--data", "other.csv", "--separator", ";", "--decimal", ",")
    assert run(*asked).stdout == whole
    grouped = lines.replace("0,0;", "0.000,0;").replace(";0.000,0;", ";0;")
    Path("grouped.csv").write_text(grouped)
    asked = ("predict", saved, "--data", "grouped.csv", "--separator", ";", "--decimal", ",")
    assert " rows have no score" in run(*asked).stderr
    scored = run(*asked, "--thousands", ".")
    assert scored.stdout.count("\n") == 7 and "no score" not in scored.stderr
    Path("tabs.csv").write_text((folder / NAME).read_text().replace(",", "\t"))
    assert run("predict", saved, "--data", "tabs.csv", "--separator", r"\t").stdout == whole
    wrong = run("predict", saved, "--data", "tabs.csv", "--separator", "xx")
    assert "to be one character" in wrong.stderr


def test_dates_that_are_written_otherwise_are_said_to_be(run, folder):
    (folder / "dates.toml").write_text(
        "capacity = 10\n[columns]\n"
        "born = { kind = 'date', lower = 1900-01-01, upper = 2020-01-01 }\n"
        "seen = { kind = 'date', lower = 1900-01-01, upper = 2020-01-01, format = '%d.%m.%Y' }\n"
        "label = { kind = 'label', classes = ['no', 'yes'] }\n"
    )
    Path("own.csv").write_text("born,seen,label\n1950-03-02,01.02.1990,no\n1990-11-12,,yes\n")
    Path("other.csv").write_text("born,seen\n02/03/1950,1990-02-01\n12/11/1990,\n")
    asked = (
        "train --algo nonprivate --data own.csv --schema dates.toml --out d.json --bad-rows drop"
    )
    assert run(*asked.split()).exit_code == 0
    whole = run("predict", "d.json", "--data", "own.csv").stdout
    assert whole.endswith("\n,\n") and not whole.startswith("log_odds,label\n,")
    asked = "predict", "d.json", "--data", "other.csv"
    told = run(*asked).stderr
    assert "2 of 2 rows have no score" in told and "dpcore predict --date-format" in told
    for formats in (("born=%d/%m/%Y", "seen=iso"), ("born=%d/%m/%Y", "iso")):
        more = [word for text in formats for word in ("--date-format", text)]
        assert run(*asked, *more).stdout == whole
    for wrong, text in (("bor=%Y", "Did you mean born"), ("%d", "to have %Y, %m and %d once each")):
        done = run(*asked, "--date-format", wrong)
        assert done.exit_code == 2 and done.stdout == "" and text in done.stderr


def test_formats_of_dates_that_a_model_has_not_are_refused(run, saved):
    done = run("predict", saved, "--data", NAME, "--date-format", "iso")
    assert done.exit_code == 2 and "the schema has none" in done.stderr


def test_a_column_is_kept_beside_the_scores(run, saved, folder, some):
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = (folder / NAME).read_text().splitlines()
    names, cells = lines[0].split(","), [line.split(",") for line in lines[1:]]
    scores = run("predict", saved, "--data", NAME).stdout.splitlines()
    done = run("predict", saved, "--data", NAME, "--keep", "city")
    assert done.exit_code == 0, done.stderr
    cities = ["city", *(row[names.index("city")] for row in cells)]
    expected = [f"{city},{score}" for city, score in zip(cities, scores, strict=True)]
    assert done.stdout.splitlines() == expected and len(some) > 3
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))), "r.parquet"
    )
    assert run("predict", saved, "--data", "r.parquet", "--keep", "city").stdout == done.stdout
    # A row without a score, and one that a quoted line break spreads over two lines.
    (folder / NAME).write_text(f'{lines[0]}\n,"B\nern",no\n{lines[1]}\n')
    short = run("predict", saved, "--data", NAME, "--keep", "city").stdout
    assert short == f'city,log_odds,label\n"B\nern",,\n{expected[1]}\n'


@pytest.mark.parametrize(
    ("data", "column", "text"),
    [
        (NAME, "town", "The schema has no column 'town' to keep"),
        (NAME, "label", "The schema has no column 'label' to keep, beside the label"),
        ("stub-rows", "age", "Cannot tell the format of 'stub-rows'"),
        ("rows.db", "age", "named by its address, such as sqlite:///FILE"),
        ("rows.dpcore", "age", "Expected a file with named columns"),
        ("-", "city", "standard input can be read once only"),
    ],
)
def test_a_column_that_cannot_be_kept_is_refused(run, saved, data, column, text):
    done = run("predict", saved, "--data", data, "--keep", column)
    assert done.exit_code == 2 and done.stdout == "" and text in done.stderr


def test_quiet_leaves_the_scores_alone(run, saved, folder):
    with (folder / NAME).open("a") as file:
        file.write(",Bern,no\n")
    told = run("predict", saved, "--data", NAME)
    hushed = run("predict", saved, "--data", NAME, "--quiet")
    assert "have neither" in told.stderr or "no score" in told.stderr
    assert (hushed.stdout, hushed.stderr) == (told.stdout, "")


@pytest.mark.parametrize("asked", [(), ("--keep", "city"), ("--proba", "--keep", "age")])
def test_parquet_holds_what_csv_says(run, saved, folder, some, asked):
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    with (folder / NAME).open("a") as file:
        file.write(",Bern,no\n")
    text = run("predict", saved, "--data", NAME, *asked).stdout_bytes
    done = run("predict", saved, "--data", NAME, *asked, "--out", "p.parquet")
    assert done.exit_code == 0 and done.stdout == "" and "1 of 7 rows have no" not in done.stdout
    # CSV had been written under that name.
    written = pq.ParquetFile("p.parquet")
    assert written.num_row_groups > 3 and written.read().column("label").null_count == 1
    names = written.schema_arrow.names
    types = {name: pa.float64() if "_" in name else pa.string() for name in names}
    options = pacsv.ConvertOptions(column_types=types, strings_can_be_null=True)
    expected = pacsv.read_csv(pa.BufferReader(text), convert_options=options).to_pylist()
    assert written.read().to_pylist()[:6] == expected[:6]
    assert [written.schema_arrow.field(name).type for name in names] == [*types.values()]
    assert list(folder.glob(".dpcore-*")) == []


@pytest.mark.parametrize("classes", [("no", "yes"), (-1, 1), (0, 1.5), (False, True)])
def test_labels_in_parquet_have_the_type_of_their_classes(run, folder, classes):
    import pyarrow.parquet as pq

    import dpcore

    X, y = np.arange(8.0).reshape(8, 1), [classes[at % 2] for at in range(8)]
    model = dpcore.fit(X, y, classes=classes, bounds=(0, 7), algo="majority")
    model.save("m.json")
    Path(NAME).write_text("\n".join([model.schema.features[0].name, *map(str, range(8))]) + "\n")
    done = run("predict", "m.json", "--data", NAME, "--out", "p.parquet")
    assert done.exit_code == 0, done.stderr
    found = pq.read_table("p.parquet").column("label").to_pylist()
    assert found == model.predict(X).tolist()
    assert {*map(type, found)} <= {*map(type, classes)} | ({float} if 1.5 in classes else set())


def test_a_format_that_is_not_written_is_refused(run, saved, folder):
    for name in ("p.xlsx", "p.tsv", "p.csv.gz", "p.json"):
        done = run("predict", saved, "--data", NAME, "--out", name)
        assert done.exit_code == 2 and f"Expected --out '{name}' to end in .csv" in done.stderr
        assert not Path(name).exists()
    for name in ("p", "p.CSV", "p.txt"):
        assert run("predict", saved, "--data", NAME, "--out", name).exit_code == 0
    done = run("predict", saved, "--data", NAME, "--out", "p.parquet", "--spreadsheet-safe")
    assert done.exit_code == 2 and "Parquet has no formulas" in done.stderr


def test_two_columns_of_one_name_are_refused_in_parquet(run, train, folder):
    for name, before in (("schema.toml", "\n"), (NAME, ",")):
        text = (folder / name).read_text().replace(f"{before}city", f"{before}log_odds")
        (folder / name).write_text(text)
    done = train("--out", "m.json")
    assert done.exit_code == 0, done.stderr
    asked = ("predict", "m.json", "--data", NAME, "--keep", "log_odds", "--out")
    assert run(*asked, "p.csv").exit_code == 0
    done = run(*asked, "p.parquet")
    assert done.exit_code == 2 and "'log_odds' is there twice" in done.stderr


@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_scores_are_readable_by_their_owner_only(run, saved, folder, out):
    Path(out).write_text("an older one, which all may read")
    Path(out).chmod(0o644)
    assert run("predict", saved, "--data", NAME, "--keep", "city", "--out", out).exit_code == 0
    assert Path(out).stat().st_mode & 0o777 == 0o600


def test_no_cell_is_a_formula_if_so_asked(run, folder):
    import csv

    cells = ["=1+1", "+a", "-b", "@c", "\td", "\re", "-5", "+4.5e-3", "-1-1", "f=", "'=g", ""]
    safe = ["'=1+1", "'+a", "'-b", "'@c", "'\td", "'\re", *cells[6:8], "'-1-1", *cells[9:]]
    header, name = ["=id", "age", "label"], "ids.csv"
    schema = (folder / "schema.toml").read_text().replace("\ncity", '\n"=id"')
    (folder / "schema.toml").write_text(schema.replace('"no", "yes"', '"=no", "@yes"'))
    rows = [[cell, 10 * at, "=no" if at % 2 else "@yes"] for at, cell in enumerate(cells)]
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    asked = ("--data", name, "--schema", "schema.toml", "--seed", "1", "--out", "m.json")
    done = run("train", "--algo", "stub", *asked)
    assert done.exit_code == 0, done.stderr
    scoring = ("predict", "m.json", "--data", name, "--keep", "=id", "--out", "p.csv")
    found = {}
    for option in ((), ("--spreadsheet-safe",)):
        assert run(*scoring, *option).exit_code == 0
        with open("p.csv", newline="") as file:
            found[option] = [*csv.reader(file)]
    plain, quoted = found.values()
    assert [row[0] for row in plain] == ["=id", *cells]
    assert [row[0] for row in quoted] == ["'=id", *safe]
    assert [row[1] for row in quoted] == [row[1] for row in plain]
    assert {row[2] for row in quoted[1:]} <= {"'=no", "'@yes"}
