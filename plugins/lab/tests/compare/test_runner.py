"""A comparison: every fit once, whatever the processes and interruptions; failures are rows."""

import errno
import json
import multiprocessing
from dataclasses import replace

import pytest

from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin import Solution
from dpcore.plugin.commands import Run
from dpcore_lab.compare import fits, runner
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.journal import journal_path
from dpcore_lab.compare.notes import notes_of
from dpcore_lab.compare.results import read_results
from dpcore_lab.compare.runner import check_out, run
from dpcore_lab.compare.settings import cells_of
from dpcore_lab.compare.table import means_of

CELLS = 2 * (2 + 2 * 2)


def untimed(results):
    """Return the rows without what differs between two runs."""
    return [{k: v for k, v in row.items() if k != "exact_seconds"} for row in results.rows]


class Stop:
    """Interrupts a run after some fits."""

    def __init__(self, after):
        self.after = after

    def __call__(self, done, total, row):
        if done == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("algorithms", [("stub",), ("nonprivate",)])
def test_the_losses_parameters_are_those_of_every_fit(compared, tmp_path, algorithms):
    narrow, wide = (
        compared(
            loss="huber-svm",
            params={"loss": {"half-width": width}},
            algorithms=algorithms,
            epsilons=(1.0,),
            repeats=1,
            l2=0.1,
        )
        for width in ("0.25", "1")
    )
    found = []
    for name, asked in (("narrow.parquet", narrow), ("wide.parquet", wide)):
        settings, _ = admit(asked)
        run(settings, tmp_path / name)
        found.append(read_results(tmp_path / name).rows)
    assert {row["loss"] for row in found[0]} == {"huber-svm (half_width=0.25)"}
    assert {row["status"] for row in found[0]} == {"fitted"}
    least = [[r["exact_objective"] for r in rows if r["algorithm"] == "nonprivate"]
             for rows in found]  # fmt: skip
    assert all(one < other for one, other in zip(*least, strict=True)) and least[0]
    with pytest.raises(InvalidInputError, match="The loss huber-svm has no parameter 'widht'"):
        admit(compared(loss="huber-svm", params={"loss": {"widht": "1"}}, algorithms=algorithms))


def test_one_tidy_row_per_fit(compared, tmp_path):
    out = tmp_path / "r.parquet"
    settings, left_out = admit(compared())
    run(settings, out)
    assert left_out == {} and list(tmp_path.iterdir()) == [out]
    found = read_results(out)
    assert found.settings == settings.to_dict()
    cells = [
        (row["data"], row["fold"], row["algorithm"], row["epsilon"], row["repeat"])
        for row in found.rows
    ]
    assert cells == [tuple(vars(cell).values()) for cell in cells_of(settings)]
    assert len(set(cells)) == CELLS
    row = found.rows[2]
    assert (row["algorithm"], row["epsilon"], row["delta"]) == ("stub", 0.5, 1e-8)
    assert (row["loss"], row["relation"], row["status"]) == (
        "logistic",
        "add-or-remove-one",
        "fitted",
    )
    assert json.loads(row["releases"]) == {"count": 2}
    assert json.loads(row["parameters"])["counts"] == 2
    assert json.loads(row["versions"])["dpcore-stub"] == "0.3"
    assert 0 < row["spent"] < row["budget"] and row["unit"] == "rho"
    assert row["private"] is False and row["seed"] is not None  # from a seed
    assert (
        0 <= row["exact_accuracy"] <= 1 and row["exact_objective"] > 0 and row["exact_seconds"] > 0
    )
    assert row["message"] == "All counts were made."
    for name in ("majority", "nonprivate"):
        row = next(row for row in found.rows if row["algorithm"] == name)
        assert (row["epsilon"], row["spent"], row["private"]) == (None, None, False)


def test_without_a_seed_every_fit_is_private_and_draws_anew(compared):
    loud = {"stub": {"noise": "1e9"}}
    rows = run(admit(compared(seed=None, params=loud))[0], None).rows
    fits = [row for row in rows if row["algorithm"] == "stub"]
    assert all(row["private"] is True and row["seed"] is None for row in fits)
    # The counts are whole numbers of standard deviation 10^9, and of the 8 means some 28 pairs
    # could be equal: by chance in less than 10^-8.
    assert len({row["exact_objective"] for row in fits}) == len(fits)


def test_all_processes_have_some_of_the_fits(compared):
    cells = [cell for cell in cells_of(compared(repeats=20)) if cell.epsilon is not None]
    for jobs, sizes in ((1, [40] * 2), (2, [20, 20] * 2), (8, [5] * 16)):
        groups = list(runner._groups(cells, jobs))
        assert [len(group) for group in groups] == sizes
        assert [cell for group in groups for cell in group] == cells


@pytest.mark.slow
def test_two_processes_make_the_same_rows(compared, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "dpcore_lab.compare.runner.LocalEngine.available_threads", staticmethod(lambda: 2)
    )
    settings, _ = admit(compared())
    here, there = run(settings, None), run(settings, tmp_path / "r.parquet", jobs=2)
    assert untimed(here) == untimed(there)


@pytest.mark.slow
def test_the_noise_of_a_fit_does_not_depend_on_what_else_is_compared(compared):
    few = run(admit(compared(epsilons=(1.0,), repeats=1))[0], None)
    many = run(admit(compared())[0], None)
    assert all(row in untimed(many) for row in untimed(few))


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 4, CELLS - 1, CELLS])
def test_an_interrupted_comparison_goes_on_where_it_ended(compared, tmp_path, after):
    settings, _ = admit(compared())
    whole = run(settings, None)
    out, fitted = tmp_path / "r.parquet", []
    with pytest.raises(KeyboardInterrupt):
        run(settings, out, on_row=Stop(after))
    assert list(tmp_path.iterdir()) == [journal_path(out)]
    with journal_path(out).open("a") as file:  # killed while it wrote
        file.write('{"data": "stub-r')
    results = run(settings, out, on_row=lambda done, total, row: fitted.append((done, total)))
    assert fitted == [(done, CELLS) for done in range(after + 1, CELLS + 1)]
    assert untimed(results) == untimed(whole) == untimed(read_results(out))
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.slow
def test_two_runs_do_not_write_one_journal(compared, tmp_path):
    settings, _ = admit(compared())
    out, seen = tmp_path / "r.parquet", []

    def run_it_again(done, total, row):
        if not seen:
            with pytest.raises(InvalidInputError, match="Another run is writing"):
                run(settings, out)
            seen.append(done)

    whole = run(settings, out, on_row=run_it_again)
    assert seen == [1] and untimed(whole) == untimed(run(settings, None))


@pytest.mark.slow
def test_an_interrupt_gives_up_the_fits_under_way_in_other_processes(
    compared, tmp_path, monkeypatch
):
    """They would take hours: whoever waited for them would not come back."""
    monkeypatch.setattr(
        "dpcore_lab.compare.runner.LocalEngine.available_threads", staticmethod(lambda: 2)
    )
    endless = {"stub": {"counts": "1000000000", "noise": "1e7"}}
    settings, _ = admit(compared(params=endless))
    out = tmp_path / "r.parquet"
    with pytest.raises(KeyboardInterrupt):
        run(settings, out, jobs=2, on_row=Stop(2))
    kept = [json.loads(line) for line in journal_path(out).read_text().splitlines()[1:]]
    assert {row["algorithm"] for row in kept} == {"majority", "nonprivate"}
    assert multiprocessing.active_children() == []


def test_processes_that_cannot_be_started_are_told_of(compared, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(
        "dpcore_lab.compare.runner.LocalEngine.available_threads", staticmethod(lambda: 2)
    )
    monkeypatch.setattr("dpcore_tables.spawned.ProcessPoolExecutor", full)
    with pytest.raises(DpcoreError, match="Cannot start 2 processes: Too many open files"):
        run(admit(compared())[0], None, jobs=2)


@pytest.mark.slow
def test_a_process_that_ends_by_itself_stops_the_run_and_loses_no_row(
    compared, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "dpcore_lab.compare.runner.LocalEngine.available_threads", staticmethod(lambda: 2)
    )
    settings, _ = admit(compared())
    out = tmp_path / "r.parquet"

    def kill(done, total, row):
        for child in multiprocessing.active_children():
            child.kill()

    with pytest.raises(DpcoreError, match="A process that was fitting ended by itself"):
        run(settings, out, jobs=2, on_row=kill)
    assert len(journal_path(out).read_text().splitlines()) > 1
    assert untimed(run(settings, out)) == untimed(run(settings, None))


def test_a_finished_comparison_is_not_run_again(compared, tmp_path):
    settings, _ = admit(compared())
    first = run(settings, tmp_path / "r.parquet")
    again = run(settings, tmp_path / "r.parquet", on_row=Stop(1))
    assert list(again.rows) == list(first.rows)


@pytest.mark.parametrize("finished", [True, False])
def test_other_settings_under_the_same_name_are_refused(compared, tmp_path, finished):
    out = tmp_path / "r.parquet"
    if finished:
        run(admit(compared())[0], out)
    else:
        with pytest.raises(KeyboardInterrupt):
            run(admit(compared())[0], out, on_row=Stop(3))
    other, _ = admit(compared(repeats=3, epsilons=(0.5,)))
    with pytest.raises(InvalidInputError, match=r"\(epsilons, repeats: 2 then, 3 now\)\. Choose"):
        run(other, out)


@pytest.mark.slow
def test_failures_are_rows_and_the_rest_goes_on(compared, monkeypatch):
    import dpcore_stub

    def minimize(self, problem, session):
        if session.accountant.epsilon == 0.5:
            raise ValueError("a private 42")
        return Solution([0.0] * problem.n_features, "Done.")

    # The control: without the stub's own error, no fit fails.
    assert {row["status"] for row in run(admit(compared())[0], None).rows} == {"fitted"}
    monkeypatch.setattr(dpcore_stub.Stub, "minimize", minimize)
    rows = run(admit(compared())[0], None).rows
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(rows) == CELLS and len(failed) == 4
    for row in failed:
        assert (row["epsilon"], row["exact_accuracy"], row["private"]) == (0.5, None, None)
        assert "ValueError in" in row["message"] and "42" not in row["message"]


def test_an_exhausted_budget_is_a_failure(compared):
    rows = run(admit(compared(params={"stub": {"counts": "1000000", "noise": "20"}}))[0], None).rows
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(failed) == 8 and "budget" in failed[0]["message"]
    # What was released before is charged all the same.
    assert all(0 < row["spent"] <= row["budget"] and row["unit"] == "rho" for row in failed)


def test_private_rows_have_folds_of_their_own_and_no_secret_in_the_results(compared, folder):
    asked = compared(data=("rows.csv",), schema="schema.toml", seed=None, folds=10, repeats=1)
    settings, _ = admit(asked)  # 10 folds of 6 rows: no refusal, which would tell their number
    with pytest.raises(KeyboardInterrupt):
        run(settings, "r.parquet", on_row=Stop(9))
    journal = journal_path(folder / "r.parquet")
    assert journal.stat().st_mode & 0o077 == 0
    key = json.loads(journal.read_text().splitlines()[0])["key"]
    assert len(bytes.fromhex(key)) == 32
    rows = run(settings, "r.parquet").rows
    assert bytes.fromhex(key) not in (content := (folder / "r.parquet").read_bytes())
    assert key.encode() not in content and not journal.exists()
    empty = {row["fold"] for row in rows if row["exact_accuracy"] is None}
    # Six rows fill at most six of ten folds; every row is in one.
    assert len(empty) >= 4
    assert {row["status"] for row in rows} == {"fitted"}
    means = means_of(rows, "accuracy")
    assert {mean.untested for mean in means} == {len(empty)}
    (note,) = [note for note in notes_of(rows, means) if "no row to measure on" in note]
    assert note.startswith(f"rows.csv: {4 * len(empty)} of 40 fits had")


def test_private_rows_where_their_number_is_public(compared, folder):
    asked = compared(
        data=("rows.csv",), schema="schema.toml", relation="replace-one", folds=3, seed=None
    )
    rows = run(admit(asked)[0], None).rows
    # Two rows in each fold, so every accuracy is of two.
    assert {2 * row["exact_accuracy"] for row in rows} <= {0, 1, 2}
    with pytest.raises(InvalidInputError, match=r"folds=7 <= 6, the rows of rows\.csv"):
        admit(compared(data=("rows.csv",), schema="schema.toml", relation="replace-one", folds=7))


def test_a_regression_has_an_objective_and_no_accuracy(compared, folder):
    schema = (folder / "schema.toml").read_text()
    real = schema.replace('classes = ["no", "yes"]', "lower = 0, upper = 1")
    (folder / "schema.toml").write_text(real)
    (folder / "rows.csv").write_text("age,label\n" + "10,0.5\n50,1\n" * 6)
    asked = compared(data=("rows.csv",), schema="schema.toml", loss="ridge", l2=0.1)
    rows = run(admit(asked)[0], None).rows
    assert {row["algorithm"] for row in rows} == {"stub", "nonprivate"}
    assert all(row["exact_accuracy"] is None and row["exact_objective"] > 0 for row in rows)
    assert all(0 <= row["exact_mae"] <= row["exact_rmse"] <= 1 for row in rows)
    best = {row["fold"]: row["exact_objective"] for row in rows if row["algorithm"] == "nonprivate"}
    assert all(row["exact_objective"] >= best[row["fold"]] - 1e-9 for row in rows)


def test_rows_that_were_changed_in_between_are_refused(compared, folder):
    settings, _ = admit(compared(data=("rows.csv",), schema="schema.toml", folds=2))
    with pytest.raises(KeyboardInterrupt):
        run(settings, "r.parquet", on_row=Stop(3))
    (folder / "rows.csv").write_text((folder / "rows.csv").read_text() + "70,no\n")
    with pytest.raises(InvalidInputError, match=r"'rows\.csv' was changed since 'r\.parquet\.j"):
        run(settings, "r.parquet")


def test_a_schema_that_was_changed_in_between_is_named(compared, folder):
    settings, _ = admit(compared(data=("rows.csv",), schema="schema.toml", folds=2))
    with pytest.raises(KeyboardInterrupt):
        run(settings, "r.parquet", on_row=Stop(3))
    (folder / "schema.toml").write_text((folder / "schema.toml").read_text() + "\n")
    with pytest.raises(InvalidInputError, match=r"^'schema\.toml' was changed since"):
        run(settings, "r.parquet")


def test_a_file_that_is_no_results_file_is_left_alone(compared, folder):
    with pytest.raises(InvalidInputError, match=r"'rows\.csv' as \.parquet"):
        check_out("rows.csv")
    (folder / "rows.csv").rename("rows.parquet")
    with pytest.raises(InvalidInputError, match="not a whole results file.*Choose another --out"):
        check_out("rows.parquet")
    settings, _ = admit(compared())
    journal_path("r.parquet").write_text("a shopping list\n")
    with pytest.raises(DataError, match=r"'r\.parquet\.journal' is no journal of a comparison"):
        run(settings, "r.parquet")


def test_what_stood_for_a_name_that_chooses_and_what_a_guarantee_asks_for(compared):
    asked = compared(algorithms=("auto", "objpert", "stub"), epsilons=(0.5,), repeats=1)
    rows = run(admit(asked)[0], None).rows
    assert {(row["algorithm"], row["chosen"]) for row in rows if row["chosen"]} == {
        ("auto", "dp-gd")
    }
    assert {row["algorithm"] for row in rows if row["most_rows"]} == {"objpert"}
    assert {r["parts_not_from_dpcore"] for r in rows if r["algorithm"] == "stub"} == {
        '["dpcore_stub:RowCount", "dpcore_stub:load"]'
    }
    notes = " ".join(notes_of(rows, means_of(rows, "accuracy")))
    assert "auto stood for dp-gd." in notes
    assert "The guarantee of objpert is for tables of at most " in notes
    assert "Parts of stub that are not from dpcore and have to be right: dpcore_stub:Ro" in notes


def test_references_are_warmed_up_before_they_are_timed(compared, monkeypatch):

    sizes = []

    def recorded(table, *rest):
        sizes.append(table.n_rows)
        return fit_nonprivate(table, *rest)

    fit_nonprivate = fits.fit_nonprivate
    monkeypatch.setattr(fits, "fit_nonprivate", recorded)
    run(admit(compared(algorithms=("nonprivate",)))[0], None)
    assert len(sizes) == 3  # once for each fold, and once before


@pytest.mark.slow
def test_folds_are_the_same_for_all_algorithms(compared, monkeypatch):

    seen = {}

    def recorded(self, **asked):
        if self.table is not None:  # not the warming up
            name = self.plan.entry.name + str(self.plan.settings.preset)
            seen.setdefault(name, []).append(self.dataset.X.tobytes())
        return fitted(self, **asked)

    fitted = Run.model
    monkeypatch.setattr(Run, "model", recorded)
    run(admit(compared(algorithms=("stub", "stub:paper")))[0], None)
    assert seen["stubNone"] == seen["stubpaper"] and len(set(seen["stubNone"])) == 2


def test_numbers_become_curves_where_somebody_set_them(compared, folder):
    """A comparison on adult had 85.0 % by lines where ``dpcore train`` has 85.6 % by curves."""
    asked = compared(
        algorithms=("dp-gd",),
        data=("rows.csv",),
        schema="schema.toml",
        epsilons=(1e4,),
        repeats=1,
        params={"dp-gd": {"steps": "1"}},
    )
    lines = run(asked, None).rows
    notes = " ".join(notes_of(lines, means_of(lines, "accuracy"), asked.params))
    assert "dp-gd: numbers stayed lines" in notes and "--set dp-gd.curves=auto here" in notes
    params = {"dp-gd": {"steps": "1", "curves": "all"}}
    bent = run(replace(asked, params=params), None).rows
    of_gd = [row for row in bent if row["algorithm"] == "dp-gd"]
    assert all("1 numeric column has a curve, as set" in row["message"] for row in of_gd)
    assert all(row["exact_accuracy"] is not None for row in of_gd)
    assert "lines" not in " ".join(notes_of(bent, means_of(bent, "accuracy"), params))
    assert not any("curve" in row["message"] for row in lines)
