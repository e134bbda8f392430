"""Schemas: what they say, what they refuse, and that TOML and JSON bring them back."""

import json
import math
import tomllib
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Schema
from dpcore.data.schema.columns import Drop, Label, Numeric
from dpcore.data.schema.notation import Notation
from dpcore.errors import InvalidInputError
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.datasets import adult, bank, kddcup99
from dpcore_tables.kinds import Categorical

TOML = """
rows = 100
[columns]
age = { kind = "numeric", lower = 17, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
id = { kind = "drop" }
income = { kind = "label", classes = ["<=50K", [">50K", ">50K."]] }
"""


def test_what_follows_from_the_columns():
    schema = Schema.from_toml(TOML)
    assert schema.feature_names == ("age", "city=Bern", "city=Basel", "intercept")
    assert schema.n_features == 4
    assert schema.rows == 100
    assert schema.label == Label("income", (("<=50K",), (">50K", ">50K.")))
    assert schema.raw_norm_bound == schema.row_norm >= math.sqrt(3)
    assert replace(schema, intercept=False).n_features == 3
    assert replace(schema, norm=1.5).row_norm == 1.5


def test_the_norm_bound_is_rounded_up():
    numbers = [Numeric(f"c{i}", 0.0, 1.0) for i in range(199)]
    for k in (*range(1, 50), 199):
        columns = (*numbers[:k], Label("y", ((), (1.0,))))
        bound = Schema(columns, intercept=False).raw_norm_bound
        assert Fraction(bound) ** 2 >= k
        assert Fraction(math.nextafter(bound, 0)) ** 2 < k


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip)
WORDS = NAMES.filter(lambda s: s not in ("", "FILL-IN"))
NUMBERS = st.floats(-1e300, 1e300)


@st.composite
def schemas(draw):
    names = draw(st.lists(WORDS.filter(lambda s: s != "intercept"), min_size=2, unique=True))
    values = st.one_of(
        st.lists(WORDS, min_size=1, max_size=4, unique=True),
        st.lists(NUMBERS.map(lambda x: x + 0.0), min_size=1, max_size=4, unique=True),
    ).map(tuple)
    columns = [Label(names[0], ((), draw(values))), Numeric(names[1], *sorted(draw(PAIRS)))]
    for name in names[2:]:
        columns.append(draw(st.sampled_from([Drop(name), Categorical(name, draw(values))])))
    return Schema(
        tuple(draw(st.permutations(columns))),
        rows=draw(st.none() | st.integers(1, 2**39)),
        norm=draw(st.none() | st.floats(0.01, 1000)),
        header=draw(st.booleans()),
        separator=draw(st.sampled_from([",", ";", "\t", "whitespace"])),
    )


PAIRS = st.tuples(st.floats(-1e300, 0, exclude_max=True), st.floats(0, 1e300))


@pytest.mark.slow
@given(schemas())
def test_toml_and_json_bring_a_schema_back(schema):
    assert Schema.from_toml(schema.to_toml()) == schema
    # A writer of JSON that sorts keys must not reorder the features.
    text = json.dumps(schema.to_dict(), sort_keys=True)
    assert Schema.from_dict(json.loads(text)) == schema


def column(text):
    return f'[columns]\nx = {{ {text} }}\ny = {{ kind = "label", classes = [0, 1] }}\n'


X = 'kind = "numeric", lower = 0, upper = 1'
BAD = [
    ("row = 5\n" + column(X), "Unknown key 'row' in the schema. Did you mean 'rows'"),
    (column('kind = "numeric", lower = 0, uper = 1'), "Unknown key 'uper'.*Did you mean 'upper'"),
    (column('kind = "numeric", bounds = [0, 1]'), "'bounds'.*Did you mean 'lower' and 'upper'"),
    (column('kind = "numeric", lower = 1, upper = 1'), "lower=1.0 < upper=1.0"),
    (column('kind = "numeric", lower = 0, upper = inf'), "finite"),
    (column('kind = "numeric", lower = -1.7e308, upper = 1.7e308'), "too far apart"),
    (
        column('kind = "numeric", lower = 0'),
        'Missing upper.*: upper = "private", or dpcore train --private-b',
    ),
    (
        column('kind = "numeric", lower = "FILL-IN"'),
        "a fit of one model releases it, and nothing else does: lower =",
    ),
    (column('kind = "numeric", lower = 0, upper = true'), "finite number"),
    (column('kind = "categorical", categories = []'), "not empty"),
    (column('kind = "categorical"'), "categories"),
    (column('kind = "categorical", categories = ["a", "a"]'), "Duplicate"),
    (column('kind = "categorical", categories = [" a"]'), "outer spaces"),
    (column('kind = "categorical", categories = [""]'), "missing"),
    (column('kind = "categorical", categories = ["FILL-IN"]'), "still to be filled in"),
    (column('kind = "categorical", categories = [nan]'), "finite"),
    (column('kind = "number"'), "kind of column 'x'"),
    (column('kind = ["numeric"]'), "kind of column 'x'"),
    (column('kind = "label", classes = [0, 1]'), "one column of kind label"),
    (column('kind = "drop"'), "no columns to learn from"),
    ('[columns]\nx = { kind = "drop" }', "kind label"),
    ('[columns]\ny = { kind = "label" }', "needs classes"),
    ('[columns]\ny = { kind = "label", classes = [0] }', "two"),
    ('[columns]\ny = { kind = "label", classes = [0, 0] }', "Duplicate"),
    ('[columns]\ny = { kind = "label", classes = [[], 0] }', "no values"),
    ('[columns]\ny = { kind = "label", positive = [1], classes = [0, 1] }', "not both"),
    ('[columns]\ny = { kind = "label", lower = 3, upper = 2 }', "lower"),
    ("[columns]\nx = 3", "table with a kind"),
    ("columns = 3", "Expected columns"),
    ("columns = [{ kind = 'drop' }]", "have a name"),
    ("", "Expected columns"),
    ("[columns\n", "is not TOML"),
    (column(X) + "x = { kind = 'drop' }", "is not TOML"),
    ("rows = 0\n" + column(X), "rows"),
    ("rows = " + "9" * 5000 + "\n" + column(X), "is not TOML"),
    ("rows = 0x" + "f" * 5000 + "\n" + column(X), "Expected 1 <= rows < 2"),
    ("rows = " + "[" * 5000 + "\n" + column(X), "is not TOML"),
    ("rows = 1.5\n" + column(X), "wrong type"),
    ("rows = true\n" + column(X), "wrong type"),
    ("row_norm = nan\n" + column(X), "row_norm"),
    ("row_norm = 0\n" + column(X), "row_norm"),
    ("header = 1\n" + column(X), "wrong type"),
    ("separator = ',,'\n" + column(X), "separator"),
    ("separator = '\"'\n" + column(X), "separator"),
    ("width = 3\n" + column(X), "no columns but the label"),
    ("width = 'FILL-IN'\n" + column(X), "width in the schema is still to be filled in"),
    ("missing = [3]\n" + column(X), "missing of the schema to be a list of texts"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_wrong_schema_is_refused_in_one_line(text, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        Schema.from_toml(text)
    assert "\n" not in str(caught.value)


@settings(deadline=None)
@given(PAIRS, st.floats())
def test_a_target_is_scaled_by_its_bounds_and_back(bounds, cell):
    label = Label("y", lower=bounds[0], upper=bounds[1])
    middle, half = label.scale
    assert math.isfinite(middle) and math.isfinite(half)
    array = pa.chunked_array([[cell, *bounds]], pa.float64())
    y, fault, _ = convert_column(array, label, Notation(()), "f")
    assert fault is not None and fault.tolist() == [not math.isfinite(cell), False, False]
    assert y[1:].tolist() == [-1, 1]
    if math.isfinite(cell):
        clamped = min(max(cell, bounds[0]), bounds[1])
        assert middle + half * y[0] == pytest.approx(clamped, rel=1e-9, abs=1e-9 * half + 1e-300)


def test_duplicate_columns_in_a_list_are_refused():
    entry = {"name": "x", "kind": "numeric", "lower": 0, "upper": 1}
    label = {"name": "y", "kind": "label", "classes": [0, 1]}
    with pytest.raises(InvalidInputError, match="Duplicate column 'x'"):
        Schema.from_dict({"columns": [entry, entry, label]})


KEYS = st.sampled_from(
    ["columns", "kind", "lower", "upper", "categories", "classes", "rows", "width", "row_norm", "x"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=20)
@given(JUNK)
def test_junk_is_refused_and_never_crashes(data):
    columns = {"y": {"kind": "label", "classes": [0, 1]}, "x": data}
    for junk in (data, {"columns": data}, {"columns": columns}, {"width": data, "columns": {}}):
        try:
            Schema.from_dict(junk)
        except InvalidInputError:
            pass


@given(st.text())
def test_junk_toml_is_refused_and_never_crashes(text):
    try:
        Schema.from_toml(text)
    except InvalidInputError:
        pass


def test_a_schema_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidInputError, match="Cannot read schema"):
        Schema.read(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        Schema.read(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("schema", "n_features"),
    [
        (adult.schema(), 109),
        (bank.schema(), 33),
        (kddcup99.schema(), 119),
        (kddcup99.numeric_schema(), 39),
    ],
)
def test_the_published_schemas(schema, n_features):
    assert schema.n_features == n_features
    assert len(set(schema.feature_names)) == n_features
    assert tomllib.loads(schema.to_toml())["rows"] == schema.rows
