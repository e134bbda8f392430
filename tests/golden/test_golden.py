"""What users and their files see is as it was when it was last looked at (``record.py``)."""

import copy
import itertools
import json
import re

import pytest
from golden import record, store
from golden.command import empty_folder
from golden.commands import refusals
from golden.comparing import differences
from golden.ledgers import entries, stored
from golden.models import said
from golden.training import reports
from golden.training.pairs import covering, pairs_of

KINDS = [*record.FAST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in record.SLOW)]


def known(kind):
    return store.read(record.file_of(kind))


def show(lines):
    if lines:
        kind = lines[0].partition(":")[0]
        told = (
            "If that is meant, commit the records with it, which this writes: "
            f"uv run --all-packages python tests/golden/record.py {kind} --write"
        )
        pytest.fail("\n".join([*lines, told]), pytrace=False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_seen_is_as_it_was(kind):
    if not record.is_stated_here(kind):
        pytest.skip("these values are stated for x86-64")
    show(differences(kind, known(kind), record.found(kind)))


@pytest.mark.slow
def test_a_ledger_in_a_database_has_the_same_entries(server):
    of_file = known("ledgers/entries")
    with empty_folder():
        found = entries.of_database(server.address())
    show(differences("ledgers/entries", {name: of_file[name] for name in found}, found))


def altered(value):
    """Return a record that differs in its first value or text."""
    if isinstance(value, dict):
        first = next(iter(value), "new")
        return {**value, first: altered(value.get(first))}
    if isinstance(value, list):
        return [altered(value[0]), *value[1:]] if value else ["new"]
    return f"{value}." if isinstance(value, str) else not value if value in (True, False) else -1


def test_a_difference_is_told_with_what_to_do():
    before = known("commands/help")
    other = {**before, "dpcore list --help": altered(before["dpcore list --help"])}
    with pytest.raises(pytest.fail.Exception, match="record.py commands/help --write$") as told:
        show(differences("commands/help", before, other))
    assert "changed: dpcore list --help" in str(told.value)


@pytest.mark.parametrize("kind", [*record.FAST, *record.SLOW])
def test_a_record_that_is_altered_is_seen(kind):
    records = known(kind)
    for name in [*records][:: max(1, len(records) // 5)]:
        other = {**records, name: altered(records[name])}
        head, of_it, *lines = differences(kind, records, other)
        assert head == f"{kind}: 1 changed, of {len(records)} records"
        assert of_it == f"  changed: {name}"
        assert any(line.startswith("    -") for line in lines)
        assert any(line.startswith("    +") for line in lines)
    assert differences(kind, records, copy.deepcopy(records)) == []


def test_records_that_are_gone_or_new_are_seen_and_those_that_differ_alike_are_told_once():
    before = {"a": "one\ntwo", "b": ["one", "two"], "c": {"x": 1}, "d": "gone"}
    after = {"a": "one\n2", "b": ["one", "2"], "c": {"x": 1}, "e": "new"}
    assert differences("kind", before, after) == [
        "kind: 2 changed, 1 new, 1 gone, of 4 records",
        "  changed: a",
        "  changed: b",
        *("    @@ -1,2 +1,2 @@", "     one", "    -two", "    +2"),
        "  gone: d",
        *("    @@ -1 +0,0 @@", "    -gone"),
        "  new: e",
        *("    @@ -0,0 +1 @@", "    +new"),
    ]


def test_the_script_tells_writes_and_knows_its_kinds(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(record, "HERE", tmp_path)
    (tmp_path / "pages").mkdir()
    assert record.main(["pages"])
    assert "new: README.md" in capsys.readouterr().out
    assert not record.main(["pages/imports", "--write"])
    assert not record.main(["pages"])
    assert capsys.readouterr().out.endswith("records, as they were\n")
    with pytest.raises(SystemExit):
        record.main(["page"])
    assert "there are no records 'page'" in capsys.readouterr().err


def test_every_kind_has_records_and_every_file_of_records_its_kind():
    files = {record.file_of(kind) for kind in (*record.FAST, *record.SLOW)}
    found = {*record.HERE.glob("*/*.json")} - {reports.COMBINATIONS}
    assert files == found
    assert sum(path.stat().st_size for path in found) < 430_000
    assert sum(path.stat().st_size for path in said.FILES) < 120_000


def test_records_are_read_as_they_were_written(tmp_path):
    long = "a text that is longer than what a line of its own is worth, by some words"
    records = {"a": [long, {"b": long}], "c": {"b": long}, "d": [1, 2.5, None, True, "ü"]}
    store.write(tmp_path / "r.json", records)
    text = (tmp_path / "r.json").read_text("utf-8")
    assert store.read(tmp_path / "r.json") == records
    assert text.count(long) == 1 and '"d": [1, 2.5, null, true, "ü"]' in text


def test_every_import_of_a_page_works():
    shown = list(itertools.chain(*known("pages/imports").values()))
    assert len(shown) > 90 and [told for told in shown if ": " in told] == []


def test_every_format_of_a_model_file_that_is_read_has_a_file():
    (refused,) = known("commands/refusals")["dpcore predict newer.json --data rows.csv"][1:]
    read = {int(version) for version in re.findall(r"reads (.*)\.$", refused)[0].split(" and ")}
    assert read == {json.loads(path.read_text())["format_version"] for path in said.FILES}
    assert len(read) == 2


def test_refusals_are_refusals_and_leave_all_files_as_they_are():
    records = known("commands/refusals")
    assert records.pop("files that were changed") == []
    accepted = refusals.ACCEPTED, [refusals.ACCEPTED]
    assert [name for name, told in records.items() if told in accepted] == []
    assert len(records) > 240


def test_files_that_are_refused_are_all_named():
    lines = f"{refusals.COMMANDS} {refusals.EXPRESSIONS}"
    assert [name for name in refusals.BROKEN if name not in lines] == []


def test_every_pair_is_in_a_report_or_there_is_a_refusal_of_it():
    fitted, never = reports.combinations()
    records = known("training/reports")
    for row in fitted:
        assert isinstance(records[", ".join(row)], dict), row
    for pair, row in never:
        assert pair in pairs_of(row) and isinstance(records[", ".join(row)], list), row
    shown = frozenset().union(*map(pairs_of, fitted))
    of_all = frozenset().union(*map(pairs_of, itertools.product(*reports.FACTORS)))
    assert len(fitted) >= 40
    assert shown | {pair for pair, _ in never} == of_all
    assert not shown & {pair for pair, _ in never}


def test_pairs_that_go_together_are_covered_and_others_shown():
    factors = [["a", "b", "c"], [1, 2], ["x", "y"], [7, 8]]
    rows, never = covering(factors, lambda row: row[:2] != ("a", 2) and row[2:] != ("y", 8))
    assert len(rows) < 3 * 2 * 2
    assert never == {((0, "a"), (1, 2)): ("a", 2, "x", 7), ((2, "y"), (3, 8)): ("a", 1, "y", 8)}
    covered = frozenset().union(*map(pairs_of, rows))
    of_all = frozenset().union(*map(pairs_of, itertools.product(*factors)))
    assert covered == of_all - never.keys()


def test_entries_of_a_ledger_are_held_against_their_digests():
    rows = entries.rows_of(known("ledgers/entries"))
    models = [json.loads(text)["digest"] for _, kind, _, text, _ in rows.entry if kind == "model"]
    assert stored.steadied(rows, models) == rows
    number, kind, at, text, digest = rows.entry[1]
    wrong = rows._replace(entry=[rows.entry[0], (number, kind, at, f"{text} ", digest)])
    with pytest.raises(AssertionError):
        stored.steadied(wrong, models)


def test_the_records_do_not_depend_on_the_environment(monkeypatch):
    for name in ("COLUMNS", "HOME", "DPCORE_LEDGER", "DPCORE_ENGINE"):
        monkeypatch.setenv(name, "200")
    kind = "commands/help"
    before, now = known(kind), record.found(kind)
    show(differences(kind, before, now))
    name = "dpcore list --help"
    other = {**before, name: before[name][:-1]}
    assert differences(kind, other, now)[1] == f"  changed: {name}"
