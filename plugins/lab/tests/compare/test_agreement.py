"""A run goes on with a file only where both are of the same settings, the schema's included."""

import json

import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.agreement import settings_of
from dpcore_lab.compare.journal import journal_path
from dpcore_lab.compare.runner import run

CHANGES = {
    "bounds": ("upper = 100", "upper = 90", r"other settings \(schema\.digest\)"),
    "unit": (
        "rows = 6",
        'rows = 6\nunit = "id"\nrows_per_unit = 2',
        r"schema\.rows_per_unit: None then, 2 now, schema\.unit: None then, 'id' now\)",
    ),
}


@pytest.fixture
def asked(compared, folder):
    """A comparison over a private file."""
    return admit(compared(data=("rows.csv",), schema="schema.toml", epsilons=(1.0,), repeats=1))[0]


def stopped(done, total, row):
    raise KeyboardInterrupt


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_schema_that_says_something_else_is_refused(asked, folder, finished, change):
    if finished:
        run(asked, "r.parquet")
    else:
        with pytest.raises(KeyboardInterrupt):
            run(asked, "r.parquet", on_row=stopped)
    kept = (folder / "schema.toml").read_text()
    before, after, message = CHANGES[change]
    (folder / "schema.toml").write_text(kept.replace(before, after))
    with pytest.raises(InvalidInputError, match=message):
        run(asked, "r.parquet")


def test_a_schema_that_says_the_same_in_other_words_goes_on(asked, folder):
    rows = run(asked, "r.parquet").rows
    (folder / "schema.toml").write_text("# six rows\n" + (folder / "schema.toml").read_text())
    assert run(asked, "r.parquet").rows == rows


def test_without_a_schema_the_settings_are_the_comparisons_own(compared, asked):
    public = compared()
    assert settings_of(public) == public.to_dict()
    assert settings_of(asked).items() > asked.to_dict().items()


def test_the_journal_has_them_too(asked, folder):
    with pytest.raises(KeyboardInterrupt):
        run(asked, "r.parquet", on_row=stopped)
    header = json.loads(journal_path("r.parquet").read_text().splitlines()[0])
    assert header["settings"] == json.loads(json.dumps(settings_of(asked)))
