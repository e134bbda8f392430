"""``dpcore train`` from arguments to report and model file, with the stub optimizer."""

import decimal
import json

import pytest

from dpcore.cli.training import _UP

KEYS = {
    *("algo", "data", "n_features", "loss", "l2", "epsilon", "delta", "neighboring_relation"),
    *("accountant", "conversion", "spent", "budget", "releases", "status", "private"),
    *("why_not_private", "seconds", "coef_norm"),
}


DIAGNOSTICS = {
    *("train_loss", "test_loss", "test_accuracy", "majority_accuracy", "majority_class", "verdict"),
    *("test_auc", "test_log_loss", "test_brier", "test_calibration"),
    *("test_macro_f1", "test_recall", "test_precision", "test_confusion"),
}


def report(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_json_has_the_promised_keys(train):
    shown = report(train("--epsilon", "0.4", "--json"))
    assert set(shown) >= KEYS
    assert not {"n_train", "diagnostics"} & set(shown)
    assert (shown["epsilon"], shown["delta"]) == (0.4, 1e-8)
    assert shown["releases"] == {"count": 2}
    assert shown["private"] is True and shown["why_not_private"] == []
    assert shown["n_features"] == 3
    assert 0 < shown["spent"] < shown["budget"]
    assert shown["details"] == {"steps": 2, "odd": None}


def test_the_first_lines_say_it_all(train):
    shown = train("--epsilon", "0.4").stdout
    head = "\n".join(shown.splitlines()[:10])
    assert "Fitted stub on rows" in head
    assert "coefficients have norm" in head and "count (2 times)" in head
    assert (
        "Rows: Columns are encoded by the bounds and categories of the schema. No encoded row has a"
        in head
    )
    assert "This model is (0.4, 1e-08)-differentially private under add-or-remove-one" in head
    assert "--test-fraction" in head


def test_rows_are_counted_under_replace_one_only(train):
    assert report(train("--relation", "replace-one", "--json"))["n_train"] == 6
    assert "6 rows" in train("--relation", "replace-one").stdout
    assert "6" not in train("--seed", "1").stdout.split("Noisy answers")[0]


def test_units_are_named_on_the_command_line_and_their_rows_are_not_counted(train, folder):
    rows = folder / "rows.csv"
    lines = rows.read_text().splitlines()
    ids = ["id", *(f"p{i // 2}" for i in range(len(lines) - 1))]
    rows.write_text("".join(f"{id},{line}\n" for id, line in zip(ids, lines, strict=True)))
    units = ("--unit", "id", "--rows-per-unit", "2", "--relation", "replace-one")
    refused = train(*units)
    assert refused.exit_code == 2 and "stub has a guarantee for one row" in refused.stderr
    shown = train(*units, "--algo", "dp-gd", "--epsilon", "9").stdout
    assert "3 units" in shown and "6 rows" not in shown
    assert "all rows of any one value of 'id' by others (at most 2 of either)" in shown
    pure = report(train(*units, "--algo", "auto", "--epsilon", "9", "--delta", "0", "--json"))
    assert pure["algo"] == "privgene" and pure["chosen_by"]["name"] == "auto"


def test_a_foreign_query_is_named(train):
    shown = report(train("--json"))
    assert shown["parts_not_from_dpcore"] == ["dpcore_stub:RowCount"]
    assert "dpcore_stub:RowCount" in shown["sentence"]


def test_seed_repeats_and_marks(train):
    first, second = (report(train("--seed", "7", "--json")) for _ in range(2))
    assert first["coef_norm"] == second["coef_norm"]
    assert first["private"] is False and "seed" in first["why_not_private"][0]
    assert "NOT PRIVATE" in train("--seed", "7").stdout


def test_as_published_marks(train):
    shown = report(train("--as-published", "--json"))
    assert shown["private"] is False and "published" in shown["why_not_private"][0]


def test_as_published_records_no_parameters_that_did_not_run(train, folder):
    shown = train("--as-published", "--out", "m.json").stdout
    algo = json.loads((folder / "m.json").read_text())["algo"]
    assert algo["parameters"] is None and algo["slots"] is None
    assert "Book-keeping" not in shown and "Book-keeping" in train().stdout


def test_a_model_is_written_over_but_nothing_else(train, folder):
    (folder / "m.json").write_text("")
    for seed in ("1", "2"):
        assert train("--out", "m.json", "--seed", seed).exit_code == 0
    (folder / "notes.txt").write_text("mine")
    assert train("--out", "notes.txt").exit_code == 2
    assert (folder / "notes.txt").read_text() == "mine"


def test_predict_tells_that_a_model_is_not_private(train, run, folder):
    train("--out", "m.json", "--seed", "1")
    result = run("predict", "m.json", "--data", "rows.csv", "--out", "-")
    assert result.stderr == "dpcore: the model is not private: the noise came from a seed\n"
    assert len(result.stdout.splitlines()) == 7 and not (folder / "-").exists()
    assert result.exit_code == 0
    train("--out", "m.json")
    assert run("predict", "m.json", "--data", "rows.csv").stderr == ""


def test_the_majority_stands_beside_the_accuracy(train, folder):
    rows = (folder / "rows.csv").read_text().splitlines()
    (folder / "test.csv").write_text("\n".join([rows[0], *[rows[1]] * 3, rows[2]]) + "\n")
    shown = report(train("--test", "test.csv", "--json"))["diagnostics"]
    assert (shown["majority_accuracy"], shown["majority_class"]) == (0.75, "no")
    line = next(x for x in train("--test", "test.csv").stdout.splitlines() if "WITHOUT" in x)
    assert line.endswith("always predicting 'no': 75.00%.")


def test_a_model_below_the_constant_one_is_told_in_words(train, folder):
    # sgd-maj came out at 22 % where the majority had 75.7 %, and nothing said so in words.
    verdicts = []
    for label in ("no", "yes"):  # The stub's coefficients are all of one sign: one is all wrong.
        (folder / "test.csv").write_text("age,city,label\n" + f"10,Bern,{label}\n" * 4)
        words = ("--test", "test.csv", "--seed", "1")
        verdict = report(train(*words, "--json"))["diagnostics"]["verdict"]
        assert ("below the constant model" in train(*words).stdout) == (verdict is not None)
        verdicts.append(verdict)
    assert verdicts.count(None) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--epsilon", "10"], ""),
        (["--epsilon", "10.5"], "epsilon = 10.5 is a factor of e^10.5: next to no protection."),
        (["--delta", "0.001"], ""),
        (["--delta", "0.01"], "delta = 0.01 is large"),
        (["--epsilon", "10.5", "--quiet"], ""),
        (["--epsilon", "10.5", "--json"], "next to no protection"),
        (["--epsilon", "10.5", "--seed", "1"], ""),
    ],
)
def test_a_weak_guarantee_is_warned_of(train, arguments, text):
    result = train(*arguments)
    assert result.exit_code == 0 and text in result.stderr
    assert bool(result.stderr) == bool(text)


def test_schema_from_data_marks(run, folder):
    arguments = ("--data", "rows.csv", "--schema-from-data", "--target", "label", "--json")
    shown = report(run("train", "--algo", "stub", *arguments))
    assert shown["private"] is False
    assert len(shown["why_not_private"]) == 1


def test_set_use_and_preset(train, folder):
    train("--set", "counts=4", "--set", "mode=fancy", "--use", "count=laplace", "--out", "m.json")
    algo = json.loads((folder / "m.json").read_text())["algo"]
    assert algo["parameters"] == {"counts": 4, "noise": None, "mode": "fancy", "smooth": True}
    assert algo["slots"] == {"count": "laplace"}
    shown = report(train("--preset", "paper", "--set", "noise=50", "--json"))
    assert shown["releases"] == {"count": 3} and shown["conversion"] == "bun-steinke"
    assert (
        report(train("--preset", "paper", "--conversion", "tight", "--json"))["conversion"]
        == "tight"
    )
    assert (
        report(train("--preset", "paper", "--accountant", "gdp", "--json"))["conversion"] == "exact"
    )


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_diagnostics_are_printed_and_in_no_file(train, folder, relation):
    arguments = ("--relation", relation, "--test-fraction", "0.5", "--out", "m.json", "--json")
    shown = report(train(*arguments))
    assert set(shown["diagnostics"]) == DIAGNOSTICS
    written = (folder / "m.json").read_text()
    for word in ("test_", "train_loss", "seconds", "n_train", "diagnostics"):
        assert word not in written
    assert "WITHOUT privacy" in train("--test-fraction", "0.5").stdout


def test_a_second_file_is_tested_with_the_same_schema(train):
    shown = report(train("--test", "rows.csv", "--json"))
    assert set(shown["diagnostics"]) == DIAGNOSTICS


def test_no_row_count_under_add_or_remove(train, folder):
    """Two tables of 6 and 600 rows: nothing public differs but the released values."""
    rows = (folder / "rows.csv").read_text().splitlines()
    (folder / "many.csv").write_text("\n".join([rows[0], *rows[1:] * 100]) + "\n")
    keys = []
    for name in ("rows.csv", "many.csv"):
        shown = report(train("--data", name, "--out", "m.json", "--json", "--test-fraction", "0.5"))
        for released in ("seconds", "coef_norm", "data", "diagnostics"):
            del shown[released]
        keys.append(shown)
    assert keys[0] == keys[1]


def test_an_empty_table_trains_under_add_or_remove(train, folder):
    (folder / "empty.csv").write_text("age,city,label\n")
    assert report(train("--data", "empty.csv", "--json"))["private"] is True
    shown = report(train("--data", "empty.csv", "--test-fraction", "0.5", "--json"))
    assert set(shown["diagnostics"].values()) == {None}


def test_legal_tables_are_not_refused(train, folder):
    (folder / "constant.csv").write_text("age,city,label\n5,Bern,no\n5,Bern,no\n")
    assert train("--data", "constant.csv").exit_code == 0


def test_bad_rows_can_be_dropped(train, folder):
    with (folder / "rows.csv").open("a") as file:
        file.write("seventy,Bern,no\n")
    assert train().exit_code == 2
    assert report(train("--bad-rows", "drop", "--json"))["private"] is True
    # The line is the same whether any row was dropped, and how many: a count would be an output.
    for extra in ("", "eighty,Bern,no\n"):
        with (folder / "rows.csv").open("a") as file:
            file.write(extra)
        assert train("--bad-rows", "drop").stderr == (
            "Any rows that do not satisfy the schema were left out, and were not counted. "
            "--bad-rows refuse (of convert, for a store) shows the owner the first.\n"
        )
    for silent in ("--quiet", "--json"):
        assert train("--bad-rows", "drop", silent).stderr == ""


def test_a_data_set_by_name(run, folder):
    shown = report(run("train", "--algo", "stub", "--data", "stub-rows", "--json"))
    assert shown["parts_not_from_dpcore"] == ["dpcore_stub:RowCount", "dpcore_stub:load"]


def test_quiet_prints_nothing(train):
    result = train("--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_what_is_said_of_a_run_beforehand_goes_to_standard_error(capsys):
    import logging

    from dpcore.cli.terminal.streams import hush, tell_outlook

    for quiet in (False, True):
        tell_outlook(quiet)
        logging.getLogger("dpcore").info("dpcore: long")
    hush(False)
    logging.getLogger("dpcore").info("dpcore: long")
    assert capsys.readouterr().err == "dpcore: long\n"


def test_private_bounds_are_asked_for_by_a_flag(run, folder):
    rows = "".join(f"{20 + j % 50},{j % 2}\n" for j in range(500))
    (folder / "ages.csv").write_text(f"age,label\n{rows}")
    bare = '[columns]\nage = { kind = "numeric" }\nlabel = { kind = "label", classes = [0, 1] }\n'
    (folder / "bare.toml").write_text(bare)
    quick = ("--algo", "dp-gd", "--set", "steps=3")
    asked = ("train", "--data", "ages.csv", "--schema", "bare.toml", "--epsilon", "5", *quick)
    assert (
        "Missing lower in column 'age'; where nobody knows it, a fit of one" in run(*asked).stderr
    )
    shown = report(run(*asked, "--private-bounds", "--out", "m.json", "--json"))
    assert shown["private_bounds"] == {"columns": ["age"], "share": 0.1}
    assert (
        shown["releases"]["bounds"] == 1 and "bounds of 'age' were not public" in shown["sentence"]
    )
    (age, _) = json.loads((folder / "m.json").read_text())["schema"]["columns"]
    assert shown["released_bounds"] == {"age": [age["lower"], age["upper"]]}
    printed = run(*asked, "--private-bounds", "--out", "n.json").stdout
    (age, _) = json.loads((folder / "n.json").read_text())["schema"]["columns"]
    bounds = f"age {age['lower']:g} to {age['upper']:g}"
    assert f"Bounds released: {bounds}.\n" in printed
    assert f"  bounds released: {bounds}\n" in run("info", "n.json").stdout
    lines = run("predict", "m.json", "--data", "ages.csv", "--out", "-").stdout.splitlines()
    assert len(lines) == 501
    assert "Expected --schema" in run("train", "--data", "ages.csv", "--private-bounds").stderr
    half = bare.replace('numeric" }', 'numeric", lower = 30, upper = "private" }')
    (folder / "m.toml").write_text(half)
    checked = run("schema", "--check", "ages.csv", "m.toml")
    assert checked.exit_code == 0, checked.stderr


def test_a_value_is_rounded_up_whatever_the_process_has_set():
    with decimal.localcontext(prec=2):
        assert +decimal.Decimal("0.1235") < decimal.Decimal("0.12344")  # what a twin would print
        assert str(_UP.create_decimal(0.12344).normalize(_UP)) == "0.1235"
