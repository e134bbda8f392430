"""A private evaluation in words: which metric leads."""

import numpy as np

from dpcore_report.evaluation.metrics import metrics_of_cells, metrics_of_classes
from dpcore_report.evaluation.text import evaluation_in_words

EVEN = np.array([[300.0, 50.0, 50.0], [40.0, 250.0, 10.0], [20.0, 30.0, 250.0]])
RARE = np.array([[900.0, 0.0, 0.0], [60.0, 0.0, 0.0], [10.0, 0.0, 30.0]])


def lines_of(counts, without=()):
    released = np.hstack([counts, np.zeros((3, 8))])
    metrics = metrics_of_classes(released, ("no", "maybe", "yes"), 1.0, 1, 1, weighted=False)
    kept = {name: each for name, each in metrics.items() if name not in without}
    return evaluation_in_words(kept, private=True)


def test_where_a_class_is_rare_macro_f1_leads():
    # "0 % of the positives found" was behind 91.6 % of accuracy.
    _, first, second, *_ = lines_of(RARE)
    assert first.startswith("  macro F1 60.66%") and first.endswith("('yes' is rare)")
    assert second.startswith("  accuracy 93.00%")


def test_a_class_is_not_rare_by_noise_alone():
    # 'malignant' was called rare, 37 % of 80 rows by counts of deviation 50.
    counts, names = np.array([[70.0, 10.0], [0.0, 4.0]]), ("benign", "malignant")
    of = {
        deviation: metrics_of_cells(counts, np.indices((2, 2))[1], names, (deviation, 1), False)
        for deviation in (1.0, 50.0)
    }
    assert [of[deviation]["rare_class"] for deviation in of] == ["malignant", None]


def test_elsewhere_accuracy_leads():
    _, first, second, *_ = lines_of(EVEN)
    assert first.startswith("  accuracy 80.00%")
    assert second.startswith("  macro F1 80.09%") and second.endswith("counts the same")
    assert any(
        line.startswith("  class maybe: recall 83.33%") and "F1 79.37%" in line
        for line in lines_of(EVEN)
    )


def test_a_model_file_of_before_has_no_f1_and_is_shown_without():
    lines = lines_of(RARE, without=("f1", "macro_f1", "rare_class"))
    assert lines[1].startswith("  accuracy") and "F1" not in "".join(lines)
