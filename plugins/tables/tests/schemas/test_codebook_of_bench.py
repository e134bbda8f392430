"""Schemas of bench/schemas from codebooks: at most three lines, or answers, beyond them.

A codebook (bench/codebooks) has every column of its table, by the table's documentation. Beyond it
are what the analyst wants: which columns to leave out (one ``--drop``), what of a number is the
positive class, the public number of rows, and where empty cells are expected.
"""

import csv
from pathlib import Path

import pytest
from golden.command import dpcore

from dpcore import Schema
from dpcore_tables.schemas import schema_template

BENCH = Path(__file__).parents[4] / "bench"
MOST = 3
# Of each table: the target, --drop, and lines that replace those of the template, or are new.
TABLES = {
    "401ksubs": ("e401k", "p401k", ["rows = 9275"]),
    "anes96": ("vote", "popul", ["rows = 944"]),
    "cps91": (
        "inlf",
        "earns,union,faminc,hours",
        ["rows = 5634", '"husunion" = { kind = "boolean", indicator = true }'],
    ),
    "fair": (
        "affairs",
        "",
        ["rows = 6366", '"affairs" = { kind = "label", positive = [0] }'],
    ),
    "randhie": (
        "mdvis",
        "",
        ["rows = 20190", '"mdvis" = { kind = "label", positive = [0] }'],
    ),
}
# Answers to --interactive, after the same --drop.
ANSWERS = {"401ksubs": ["9275"], "anes96": ["944"], "fair": ["p", "0", "6366"]}
ANSWERS |= {"cps91": ["5634"], "randhie": ["p", "0", "20190"]}


def rows_of(name, folder):
    with (BENCH / "codebooks" / f"{name}.csv").open(newline="") as file:
        names = [entry["column"] for entry in csv.DictReader(file)]
    (folder / f"{name}.csv").write_text(",".join(names) + "\n")
    return folder / f"{name}.csv", names


def columns_of(schema, names):
    return {c.name: c.to_dict() for c in schema.for_names(names).columns}


@pytest.mark.parametrize("name", TABLES)
def test_a_template_by_a_codebook_lacks_three_lines_at_most(name, tmp_path):
    target, drop, lines = TABLES[name]
    rows, names = rows_of(name, tmp_path)
    dropped = [word for word in drop.split(",") if word]
    text = schema_template(rows, target, BENCH / "codebooks" / f"{name}.csv", dropped)
    for line in lines:
        key = line.partition(" = ")[0]
        old = next((x for x in text.splitlines() if x.startswith(f"{key} = ")), None)
        text = f"{line}\n{text}" if old is None else text.replace(old, line)
    wanted = Schema.read(BENCH / "schemas" / f"{name}.toml")
    found = Schema.from_toml(text)
    assert columns_of(found, names) == columns_of(wanted, names)
    assert found.rows == wanted.rows
    assert len(lines) + bool(drop) <= MOST


@pytest.mark.parametrize("name", TABLES)
def test_questions_beside_a_codebook_take_three_answers_at_most(name, tmp_path):
    target, drop, lines = TABLES[name]
    rows, names = rows_of(name, tmp_path)
    line = f"dpcore schema {rows} --target {target} --interactive"
    line += f" --codebook {BENCH}/codebooks/{name}.csv" + (f" --drop {drop}" if drop else "")
    said = dpcore(line, "".join(f"{answer}\n" for answer in ANSWERS[name]).encode())
    assert said.status == 0, said.err
    left = [line for line in lines if "indicator" in line]  # of the file that is written
    text = said.out
    for line in left:
        key = line.partition(" = ")[0]
        text = "\n".join(line if x.startswith(f"{key} = ") else x for x in text.splitlines())
    found, wanted = Schema.from_toml(text), Schema.read(BENCH / "schemas" / f"{name}.toml")
    assert columns_of(found, names) == columns_of(wanted, names) and found.rows == wanted.rows
    assert len(ANSWERS[name]) + bool(drop) + len(left) <= MOST
