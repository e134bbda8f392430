"""Labels of several classes: what a schema says of them, and what rows hold."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore import Schema
from dpcore.data.schema.columns import Label
from dpcore.data.schema.notation import Notation
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.cells.features import coded_layout
from dpcore_tables.coded import CodedRows
from dpcore_tables.schemas.from_data import schema_from_data
from dpcore_tables.store import convert, open_store
from dpcore_tables.store.reader import _is_sound

COLUMNS = """
[columns]
x = {{ kind = "numeric", lower = 0, upper = 9 }}
y = {{ kind = "label", {} }}
"""
THREE = 'classes = ["a", "b", ["c", "c2"]]'
CELLS = ["a", "b", "c", "c2", " b "]


def schema_of(label):
    return Schema.from_toml(COLUMNS.format(label))


def labels(label, cells):
    """Return what rows hold, and which cells are faults."""
    column = schema_of(label).label
    read = pa.chunked_array([pa.array(cells, pa.string())])
    y, fault, reason = convert_column(read, column, Notation(), "rows")
    return y.tolist(), fault.tolist(), reason


def test_a_label_is_the_place_of_its_class():
    y, fault, _ = labels(THREE, CELLS)
    assert y == [0.0, 1.0, 2.0, 2.0, 1.0] and not any(fault)
    label = schema_of(THREE).label
    assert label.names == ("a", "b", "c") and (label.n_classes, label.n_margins) == (3, 3)
    assert schema_of(THREE).w_shape == (3, 2)


def test_two_classes_are_signs_and_a_number_has_none():
    two = schema_of('classes = ["a", ["b", "c"]]').label
    assert labels('classes = ["a", ["b", "c"]]', ["a", "b", "c"])[0] == [-1.0, 1.0, 1.0]
    assert (two.n_classes, two.n_margins, two.places_of(np.array([-1.0, 1.0])).tolist()) == (
        2,
        1,
        [0, 1],
    )
    real = schema_of("lower = 0, upper = 1")
    assert (real.label.n_classes, real.label.names, real.w_shape) == (0, (), (2,))


@pytest.mark.parametrize(
    ("label", "names", "y"),
    [
        ('classes = ["a", "b"], other = "a"', ("a", "b"), [-1.0, 1.0, -1.0]),
        ('classes = ["a", "b", "c"], other = "c"', ("a", "b", "c"), [0.0, 1.0, 2.0]),
        ('classes = ["a", ["b", "b2"], "c"], other = "b2"', ("a", "b", "c"), [0.0, 1.0, 1.0]),
        ('classes = ["a", "b"], other = "rest"', ("a", "b", "rest"), [0.0, 1.0, 2.0]),
        ('positive = ["b"], other = "no"', ("no", "b"), [-1.0, 1.0, -1.0]),
        ('positive = ["b"]', ("not b", "b"), [-1.0, 1.0, -1.0]),
    ],
)
def test_other_says_where_values_belong_that_none_lists(label, names, y):
    assert schema_of(label).label.names == names
    assert labels(label, ["a", "b", "zzz"])[:2] == (y, [False] * 3)
    # A cell without a value is of no class.
    assert labels(label, ["a", "", "b"])[1:] == ([False, True, False], "the label is missing")


def test_without_other_a_value_that_is_not_listed_is_a_fault():
    y, fault, reason = labels(THREE, ["a", "zzz", "", "c"])
    assert fault == [False, True, True, False] and y[3] == 2.0
    assert reason == (
        "the label is not one of the classes 'a', 'b', 'c', 'c2', which `classes` sets: list it "
        "there, or let a schema's `other` name a class for all other values"
    )
    # What fit takes where nobody says, and its caller may not know.
    _, _, reason = labels("classes = [-1, 1]", ["1", "yes"])
    assert "-1, 1, which `classes` sets (fit's default; name your own, as in classes=(" in reason


@pytest.mark.parametrize(
    "label",
    [
        THREE,
        "classes = [0, 1, 2.5]",
        'classes = [1, 2], other = "rest"',
        'classes = ["a", "b", "c"], other = "b"',
        'positive = ["b"], other = "no"',
        'classes = [1, 2], other = 2, missing = ["-9"]',
    ],
)
def test_a_schema_keeps_its_classes(label):
    schema = schema_of(label)
    assert Schema.from_toml(schema.to_toml()) == schema == Schema.from_dict(schema.to_dict())


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ('classes = ["a"]', r"to be two or more.*for one class and every other.*positive"),
        ('classes = ["a"], other = "b"', "to be two or more"),
        ('classes = ["a", "b", "a"]', "Duplicate values among the classes"),
        ('classes = ["a", ["b", "a"], "c"]', "Duplicate values"),
        ('classes = ["a", [], "c"]', "A class of column 'y' has no values"),
        ('classes = ["a", "b", ["FILL-IN"]]', "still to be filled in"),
        ('positive = ["b"], other = "b"', "to name another class than the positive one"),
        ("lower = 0, upper = 1, other = 3", "names a class, and the target is a number"),
        ('lower = "private", upper = 1, other = 3', "names a class, and the target is a number"),
        ('other = "rest"', "needs classes"),
        ('classes = ["a", "b", ""]', "also in missing"),
        ('classes = ["a", "b"], other = ["c"]', "to hold text or numbers"),
        (f"classes = {[*range(1001)]}", "2 to 1,000 classes of label column 'y', found 1,001"),
    ],
)
def test_classes_that_cannot_be_are_refused_in_a_line(label, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        schema_of(label)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("classes", "other", "message"),
    [
        ((("a",), (), ("b",)), "rest", "no values"),
        ((("a",), ("b",), ()), None, "has no name"),
        (((), ()), "rest", "needs classes"),
        ((("a",), ()), "rest", "no values"),
    ],
)
def test_a_label_that_no_file_could_say_is_refused(classes, other, message):
    with pytest.raises(InvalidInputError, match=message):
        Label("y", classes, other)


def test_numbers_are_classes_by_their_value():
    assert labels("classes = [1, 2, 30]", ["1.0", "30", "2"])[0] == [0.0, 2.0, 1.0]
    data = dataset_from_arrays(np.eye(3), np.array([7, 5, 6]), classes=(5, 6, 7))
    assert data.y.tolist() == [2.0, 0.0, 1.0] and data.schema.w_shape == (3, 4)
    with pytest.raises(DataError, match="not one of the classes 5, 6, 7"):
        dataset_from_arrays(np.eye(3), [5, 6, 8], classes=(5, 6, 7))
    for classes in ({5, 6, 7}, "567", 7):
        with pytest.raises(InvalidInputError, match="or three and more, in an order"):
            dataset_from_arrays(np.eye(3), [5, 6, 7], classes=classes)


def test_a_word_among_numbers_is_no_class_even_with_another_class_for_the_rest():
    y, fault, reason = labels('classes = [1, 2], other = "rest"', ["1", "7", "banana", ""])
    assert y[:2] == [0.0, 2.0] and fault == [False, False, True, True]
    assert reason == "the label is missing, or no number"


def test_a_frame_and_a_file_hold_the_same_classes(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 4.5, 9.0, 1.0], "y": ["c2", "a", "b", "other"]})
    schema = schema_of(THREE + ', other = "rest"')
    frame.to_csv(tmp_path / "r.csv", index=False)
    for data in (
        dataset_from_arrays(frame, schema=schema),
        Dataset.from_file(tmp_path / "r.csv", schema),
    ):
        assert data.y.tolist() == [2.0, 0.0, 1.0, 3.0]
        assert data.schema.w_shape == (4, 2)


def test_a_store_holds_places_and_no_other_numbers(tmp_path):
    rows = "".join(f"{i % 9},{CELLS[i % 4]}\n" for i in range(40))
    (tmp_path / "r.csv").write_text("x,y\n" + rows)
    schema = schema_of(THREE)
    convert(tmp_path / "r.csv", tmp_path / "r.dpcore", schema)
    _, y, description = open_store(tmp_path / "r.dpcore")
    assert y.tolist() == [0.0, 1.0, 2.0, 2.0] * 10 and description.schema == schema
    assert Dataset.from_file(tmp_path / "r.dpcore", None).schema.label.names == ("a", "b", "c")
    layout = coded_layout(schema)
    piece = CodedRows(layout, np.zeros((2, 2), np.float32), np.zeros((2, 0), layout.code_type))
    for label, sound in ((2.0, True), (3.0, False), (-1.0, False), (0.5, False), (np.nan, False)):
        assert _is_sound(np.array([0.0, label]), piece, layout, schema.label) == sound


def test_a_schema_off_the_rows_has_a_class_for_each_text(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("x,y\n1,b\n2,a\n3,c\n4,\n")
    assert schema_from_data(path, "y").label.names == ("a", "b", "c")
    path.write_text("x,y\n1,b\n2,b\n")
    with pytest.raises(InvalidInputError, match="has no two values"):
        schema_from_data(path, "y")
    path.write_text("x,y\n" + "".join(f"1,k{i}\n" for i in range(1001)))
    with pytest.raises(InvalidInputError, match="more than 1000 distinct values"):
        schema_from_data(path, "y")
