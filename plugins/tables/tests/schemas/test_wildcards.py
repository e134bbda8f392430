"""Wildcards: one line of a schema for columns that are alike, by the header alone."""

import itertools
from dataclasses import replace
from fnmatch import fnmatchcase

import pandas as pd
import pytest

from dpcore import Schema, fit, load_model, schema_template
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.schemas.wildcards import expanded
from dpcore_tables.statistics import check_schema
from dpcore_tables.store import convert

TOML = """
[columns]
"x*" = { kind = "numeric", lower = 0, upper = 4 }
x2 = { kind = "boolean" }
"*b" = { kind = "categorical", categories = ["u", "v"] }
"*" = { kind = "drop" }
y = { kind = "label", classes = [0, 1] }
"""
SCHEMA = Schema.from_toml(TOML)
ROWS = "id,x10,x2,b,y,x1,xb\n7,4,1,u,0,0,2\n8,1,0,v,1,3,4\n"
NAMES = ("x10", "x1", "xb", "x2", "b=u", "b=v", "intercept")


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(ROWS)
    return path


def test_a_wildcard_stands_for_what_is_not_named_otherwise(csv, tmp_path):
    data = Dataset.from_file(csv, SCHEMA)
    assert data.feature_names == NAMES and data.schema.wildcards == ()
    assert data.X.toarray()[0].tolist() == [1, 0, 0.5, 1, 1, 0, 1]
    frame = pd.read_csv(csv)
    assert dataset_from_arrays(frame, schema=SCHEMA).schema == data.schema
    frame.to_parquet(tmp_path / "f.parquet")
    assert Dataset.from_file(tmp_path / "f.parquet", SCHEMA).schema == data.schema
    convert(csv, tmp_path / "f.dpcore", SCHEMA)
    assert Dataset.from_file(tmp_path / "f.dpcore", SCHEMA).schema == data.schema
    assert [name for name, _ in check_schema(str(csv), SCHEMA).columns] == [
        "x10", "x1", "xb", "x2", "b", "y"
    ]  # fmt: skip


def test_a_model_names_the_columns(csv, tmp_path):
    model = fit(str(csv), schema=SCHEMA, epsilon=1.0, seed=0)
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.feature_names == NAMES[:-1]
    assert again.decision_function(str(csv)).tolist() == model.decision_function(str(csv)).tolist()


def test_a_schema_with_wildcards_comes_back():
    assert SCHEMA.wildcards == ("x*", "*b", "*")
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA == Schema.from_dict(SCHEMA.to_dict())
    named = SCHEMA.for_names(["x*", "y", "xb", "b"])
    assert [c.name for c in named.columns] == ["x*", "xb", "x2", "b", "y"] and not named.wildcards
    assert Schema.from_toml(named.to_toml()) == named == Schema.from_dict(named.to_dict())


def test_a_wildcard_that_is_of_no_use_is_refused(csv):
    none = Schema.from_toml(TOML.replace('"*b"', '"*c"'))
    with pytest.raises(InvalidInputError, match=r"'\*c' stands for no column: no name"):
        Dataset.from_file(csv, none)
    for name in ("z*", "y"):
        with pytest.raises(InvalidInputError, match="names of columns, not of the label"):
            Schema.from_toml(f"wildcards = ['{name}']\n{TOML}")
    csv.write_text(ROWS.split("\n", 1)[1])
    with pytest.raises(InvalidInputError, match="has no header .header = false."):
        Dataset.from_file(csv, Schema.from_toml("header = false\n" + TOML))
    with pytest.raises(InvalidInputError, match="these rows have none"):
        dataset_from_arrays([[1.0]], [0], schema=SCHEMA)


def test_crosses_are_of_the_columns_that_there_are(csv):
    crossed = TOML + '\n[[crosses]]\ncolumns = ["b", "x2"]\n'
    assert Dataset.from_file(csv, Schema.from_toml(crossed)).feature_names[6] == "b*x2=u*false"
    with pytest.raises(InvalidInputError, match="no column 'c' to cross"):
        Dataset.from_file(csv, Schema.from_toml(crossed.replace('"b", "x2"', '"c", "x2"')))


def test_a_template_proposes_one_line_for_many_columns_that_are_alike(tmp_path):
    names = ["id", *(f"x{j}" for j in range(31)), "xray", *(f"x1_{j}" for j in range(9)), "z1", "y"]
    (tmp_path / "f.csv").write_text(",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    template = schema_template(tmp_path / "f.csv")
    assert '# 31 columns that are alike, "x0" to "x30"; one that' in template
    lines = [line.split(" = ")[0] for line in template.split("\n[columns]\n")[1].splitlines()]
    own = ["id", "xray", *(f"x1_{j}" for j in range(9)), "z1", "y"]
    assert [name.strip('"') for name in lines if "#" not in name] == ["id", "x*", *own[1:]]
    unknown = 'kind = "FILL-IN", lower = "FILL-IN", upper = "FILL-IN", categories = ["FILL-IN"]'
    filled = template.replace(unknown, 'kind = "numeric", lower = 0, upper = 1')
    schema = Schema.from_toml(filled.replace('["FILL-IN", "FILL-IN"]', "[0, 1]"))
    assert [column.name for column in schema.for_names(names).columns] == names


def test_a_template_keeps_lines_of_their_own_for_few_columns_and_other_types():
    frame = pd.DataFrame({**{f"a{j}": [1.0] for j in range(7)}, "b": ["x"], "y": [True]})
    assert "*" not in schema_template(frame, "y").split("\n[columns]\n")[1]
    mixed = {f"a{j}": [1.0 if j < 9 else "text"] for j in range(18)}
    made = schema_template(pd.DataFrame({**mixed, "y": [True]}), "y").split("\n[columns]\n")[1]
    assert made.count("*") == 1 and made.count("categorical") == 9


def meant(wildcard, names):
    dropped = replace(SCHEMA.columns[3], name=wildcard)
    return [column.name for column in expanded([dropped], [wildcard], names)]


def test_wildcards_mean_what_they_mean_in_a_shell():
    names = ["".join(letters) for n in range(6) for letters in itertools.product("ab", repeat=n)]
    names += ["a\nb", "\n", "a*b", "[a]", "a.b"]
    signs = [letters for n in range(6) for letters in itertools.product("ab*", repeat=n)]
    for wildcard in ["".join(letters) for letters in signs if "*" in letters]:
        assert meant(wildcard, names) == [n for n in names if fnmatchcase(n, wildcard)], wildcard
    assert meant("a.*", names) == ["a.b"] and meant("[a]*", names) == ["[a]"]
    assert meant("ab", names) == ["ab"]


@pytest.mark.parametrize("stars", [8, 2000])
def test_a_wildcard_of_many_stars_takes_no_time(stars):
    # A regular expression took hours: it is exponential in the number of stars.
    names = ["a" * 60, "a" * 100_000, "a" * 100_000 + "b"]
    assert meant("*a" * stars + "*b", names) == names[2:]
