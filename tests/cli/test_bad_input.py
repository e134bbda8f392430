"""Every mistake of a caller: one clear line, status 2, nothing spent and nothing written."""

import json

import pytest
from refusals import refused

pytestmark = pytest.mark.usefixtures("charged")

BUDGETS = [
    (["--epsilon", "0"], "epsilon"),
    (["--epsilon", "-1"], "epsilon"),
    (["--epsilon", "nan"], "epsilon"),
    (["--epsilon", "inf"], "epsilon"),
    (["--epsilon", "much"], "epsilon"),
    (["--delta", "0"], "delta"),
    (["--delta", "-1e-8"], "Expected delta=-1e-08 >= 0."),
    (["--delta", "1"], "delta"),
    (["--delta", "2"], "delta"),
    (["--delta", "nan"], "delta"),
    (["--delta", "inf"], "delta"),
    (["--l2", "-1"], "l2"),
    (["--l2", "nan"], "l2"),
]
NAMES = [
    (["--algo", "stubb"], "Did you mean stub"),
    (["--loss", "logistics"], "Did you mean logistic"),
    (["--accountant", "zcpd"], "Did you mean zcdp"),
    (["--accountant", "zcdp", "--conversion", "loose"], "tight"),
    (["--relation", "replace"], "replace-one"),
    (["--engine", "locals"], "Did you mean local"),
    (["--set", "count=3"], "Did you mean counts"),
    (["--set", "counts=many"], "counts='many' to be a whole number"),
    (["--set", "counts=1.5"], "a whole number"),
    (["--set", "noise=inf"], "a finite number"),
    (["--set", "mode=wild"], "plain or fancy"),
    (["--set", "smooth=2"], "true or false"),
    (["--set", "counts"], "NAME=VALUE"),
    (["--set", "counts=1", "--set", "counts=2"], "twice"),
    (["--use", "counter=laplace"], "no slot"),
    (["--use", "count=laplac"], "Did you mean laplace"),
    (["--preset", "papers"], "Did you mean paper"),
    (["--loss", "ridge"], "two classes"),
    (["--seed", "-3"], "seed"),
    (["--bogus"], "bogus"),
    (["--as-published", "--set", "counts=3"], "without --set"),
    (["--as-published", "--use", "count=laplace"], "without --use"),
    (["--as-published", "--preset", "paper"], "without --preset"),
]
DATA = [
    (["--data", "none.csv"], "none.csv"),
    (["--data", "adlt"], "Did you mean adult"),
    (["--schema", "none.toml"], "none.toml"),
    (["--data", "."], "has no Parquet file"),
    (["--data", "z*.parquet"], "z*.parquet"),
    (["--data", "-"], "-: the file is empty"),
    (["--target", "lable"], "lable"),
    (["--test", "none.csv"], "none.csv"),
    (["--test-fraction", "0"], "test"),
    (["--test-fraction", "1"], "test"),
    (["--test-fraction", "nan"], "test"),
    (["--test-fraction", "0.5", "--test", "rows.csv"], "test"),
    (["--bad-rows", "keep"], "drop"),
    (["--bad-rows", "drop", "--relation", "replace-one"], "take add-or-remove-one"),
    (["--schema-from-data"], "schema"),
    (["--out", "."], "directory"),
    (["--out", "no/such/folder/m.json"], "Cannot write"),
    (["--out", "rows.csv/m.json"], "Cannot write"),
    (["--out", "rows.csv"], "is the file of --data"),
    (["--out", "./schema.toml"], "is the file of --schema"),
    (["--test", "test.csv", "--out", "test.csv"], "is the file of --test"),
    (["--out", "test.csv"], "is not a model file; choose another path"),
]
FILES = {
    "label-missing": ("age,city\n1,Bern\n", "label"),
    "label-outside-the-classes": ("age,city,label\n1,Bern,maybe\n", "label"),
    "nan": ("age,city,label\n1,Bern,no\nnan,Bern,no\n", "age"),
    "infinity": ("age,city,label\n1,Bern,no\ninf,Bern,no\n", "age"),
    "text-for-a-number": ("age,city,label\nold,Bern,no\n", "age"),
    "too-few-fields": ("age,city,label\n1,Bern\n", "rows.csv"),
    "duplicate-columns": ("age,age,city,label\n1,1,Bern,no\n", "age"),
    "semicolons": ("age;city;label\n1;Bern;no\n", 'separator = ";" in the schema'),
    "tabs": ("age\tcity\tlabel\n1\tBern\tno\n", "tab-separated"),
    "a-decimal-comma": ('age,city,label\n"1,5",Bern,no\n', 'decimal = "," in the schema'),
    "a-word-for-no-value": ("age,city,label\nNA,Bern,no\n", "list it in missing"),
    "an-empty-number": ("age,city,label\n,Bern,no\n", "set fill = VALUE"),
    "nothing": ("", "rows.csv"),
    "binary": ("\x00\x01\x02\x7f", "rows.csv"),
}


@pytest.mark.parametrize(("arguments", "text"), [*BUDGETS, *NAMES, *DATA])
def test_arguments(train, folder, arguments, text):
    (folder / "test.csv").write_text((folder / "rows.csv").read_text())
    before = sorted(folder.iterdir())
    arguments = ["--json", *([] if "--out" in arguments else ["--out", "m.json"]), *arguments]
    refused(train(*arguments), text, folder, before)


@pytest.mark.parametrize("case", FILES)
def test_files(train, folder, case):
    content, text = FILES[case]
    (folder / "rows.csv").write_text(content)
    before = sorted(folder.iterdir())
    refused(train("--out", "m.json"), text, folder, before)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".svm"])
def test_unreadable_files(train, folder, suffix):
    (folder / f"rows{suffix}").write_bytes(b"PAR1\x00 this is no table\n")
    before = sorted(folder.iterdir())
    refused(train("--data", f"rows{suffix}", "--out", "m.json"), "", folder, before)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_under_replace_one(train, folder, rows):
    lines = (folder / "rows.csv").read_text().splitlines(keepends=True)
    (folder / "rows.csv").write_text("".join(lines[: rows + 1]))
    before = sorted(folder.iterdir())
    result = train("--relation", "replace-one", "--out", "m.json")
    refused(result, "at least 2 rows", folder, before)


def test_a_data_file_needs_a_schema(run, folder):
    before = sorted(folder.iterdir())
    result = run("train", "--algo", "stub", "--data", "rows.csv", "--out", "m.json")
    refused(result, "--schema", folder, before)


def test_a_schema_without_columns(train, folder):
    (folder / "schema.toml").write_text('[columns]\nlabel = { kind = "label", classes = [0, 1] }\n')
    refused(train("--out", "m.json"), "no columns", folder, sorted(folder.iterdir()))


def test_a_budget_too_small_for_one_release_says_what_would_be_enough(train, folder):
    before = sorted(folder.iterdir())
    result = train("--epsilon", "0.001", "--set", "noise=1", "--out", "m.json")
    refused(result, "enough", folder, before)


def test_the_output_path_is_tried_before_the_data(train):
    result = train("--out", "no/such/m.json", "--data", "none.csv")
    assert "Cannot write" in result.stderr


def test_a_failed_run_leaves_the_earlier_model(train, folder):
    (folder / "m.json").write_text("earlier")
    assert train("--epsilon", "0", "--out", "m.json").exit_code == 2
    assert (folder / "m.json").read_text() == "earlier"


@pytest.fixture
def saved(train, folder, charged):
    assert train("--out", "m.json", "--quiet").exit_code == 0
    assert len(charged) == 2
    charged.clear()
    return folder / "m.json"


def test_predict_writes_scores_and_labels(run, saved, folder):
    (folder / "new.csv").write_text("age,city\n10,Bern\n99,Zug\n")
    lines = run("predict", saved, "--data", "new.csv").stdout.splitlines()
    assert lines[0] == "log_odds,label" and len(lines) == 3
    assert all(line.split(",")[1] in ("no", "yes") for line in lines[1:])
    assert run("predict", saved, "--data", "rows.csv", "--out", "p.csv").stdout == ""
    assert len((folder / "p.csv").read_text().splitlines()) == 7


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_predict_refuses_a_model_cut_short(run, saved, folder, part):
    text = saved.read_text()
    saved.write_text(text[: int(len(text) * part)])
    before = sorted(folder.iterdir())
    refused(run("predict", saved, "--data", "rows.csv"), "m.json", folder, before)


def test_predict_refuses_another_version_and_altered_content(run, saved, folder):
    content = json.loads(saved.read_text())
    before = sorted(folder.iterdir())
    saved.write_text(json.dumps({**content, "format_version": 3}))
    refused(run("predict", saved, "--data", "rows.csv"), "version 3", folder, before)
    content["privacy"]["epsilon"] = 0.01
    saved.write_text(json.dumps(content))
    refused(run("predict", saved, "--data", "rows.csv"), "altered", folder, before)


def test_predict_never_writes_over_what_it_reads(run, saved, folder):
    before, text = sorted(folder.iterdir()), saved.read_text()
    for out, option in (("m.json", "the model"), ("rows.csv", "--data")):
        result = run("predict", saved, "--data", "rows.csv", "--out", out)
        refused(result, f"is the file of {option}", folder, before)
    assert saved.read_text() == text


def test_predict_advises_on_a_column_too_many(run, saved, folder):
    (folder / "new.csv").write_text("id,age,city\n1,10,Bern\n")
    before = sorted(folder.iterdir())
    result = run("predict", saved, "--data", "new.csv")
    refused(
        result, "'id' is not among those that the model was trained with; remove", folder, before
    )


def test_predict_refuses_missing_files_and_bad_rows(run, saved, folder):
    before = sorted(folder.iterdir())
    refused(run("predict", "none.json", "--data", "rows.csv"), "none.json", folder, before)
    refused(run("predict", saved, "--data", "none.csv"), "none.csv", folder, before)
    refused(run("predict", "rows.csv", "--data", "rows.csv"), "rows.csv", folder, before)
