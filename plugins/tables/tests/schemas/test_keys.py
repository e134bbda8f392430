"""The table of a schema's keys: each is known to the schema, those at the top named by the page."""

import re
import tomllib
from pathlib import Path

import pytest

from dpcore import Schema
from dpcore.data.schema.keys import TOP_KEYS
from dpcore_tables.kinds.crosses import CROSS_KEYS
from dpcore_tables.schemas.key_reference import column_kinds

DOCUMENT = Path(__file__).parents[4] / "docs" / "schema.md"
WHOLE = {
    "numeric": ["lower", "upper"],
    "categorical": ["categories"],
    "ordinal": ["levels"],
    "date": ["lower", "upper"],
    "hashed": ["buckets"],
    "label": ["classes"],
}
INSTEAD = {"bins", "knots", "positive"}


def column_of(data):
    others = {"n": {"kind": "numeric", "lower": 0, "upper": 1}}
    if data["kind"] != "label":
        others["y"] = {"kind": "label", "classes": [0, 1]}
    return Schema.from_dict({"columns": {"x": data, **others}}).columns[0]


@pytest.mark.parametrize("kind", column_kinds())
def test_every_key_of_a_kind_is_read_as_its_example_says(kind):
    keys = {key.name: tomllib.loads(f"x = {key.example}")["x"] for key in column_kinds()[kind][1]}
    for name, value in keys.items():
        data = {key: keys[key] for key in WHOLE.get(kind, [])} | {name: value}
        if name in INSTEAD:
            data = {name: value}
        if name in ("lower", "upper"):
            data = {"lower": keys["lower"], "upper": keys["upper"]}
        if name == "fill" and kind == "hashed":
            value = data["fill"] = "02139"
        column = column_of({"kind": kind} | data)
        assert name in column.to_dict()
    assert column_of({"kind": kind} | {k: keys[k] for k in WHOLE.get(kind, [])})


def test_the_examples_of_other_keys_are_toml():
    for key in (*TOP_KEYS, *CROSS_KEYS):
        assert key.name in tomllib.loads(f"{key.name} = {key.example}")
    text = "".join(f"{k.name} = {k.example}\n" for k in TOP_KEYS if k.name != "width")
    columns = '[columns]\nx = { kind = "boolean" }\ny = { kind = "label", classes = [0, 1] }\n'
    assert Schema.from_toml(text + columns).capacity == 1000000


@pytest.mark.skipif(not DOCUMENT.is_file(), reason="needs the documents of a checkout")
def test_the_document_names_every_key_at_the_top():
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    named = re.findall("`([a-z_]+)`", " ".join(line.split("|")[1] for line in lines))
    assert sorted(named) == sorted(key.name for key in TOP_KEYS)
