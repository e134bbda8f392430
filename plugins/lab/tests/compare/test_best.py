"""Which algorithms are best, as far as intervals tell them apart."""

from dpcore_lab.compare.best import Best, best_lines, best_of
from dpcore_lab.compare.table import Mean


def mean(algorithm, value, width=0.5, epsilon=1.0, **other):
    return Mean("a", algorithm, epsilon, value, width, 5, 0, **other)


THREE = [mean("low", 79.0), mean("near", 79.6), mean("top", 80.0, 0.1)]


def test_all_whose_interval_reaches_the_best_mean_are_named_the_best_first():
    assert best_of(THREE, "accuracy") == [Best("a", 1.0, ("top", "near"))]
    # The best interval's own lower end is not what has to be reached.
    assert "near" not in best_of([mean("near", 79.4), THREE[2]], "accuracy")[0].algorithms
    # Without an interval an algorithm reaches no further than its mean.
    alone = [mean("near", 79.99, None), mean("top", 80.0, None), mean("same", 80.0, None)]
    assert best_of(alone, "accuracy")[0].algorithms == ("top", "same")


def test_of_an_objective_less_is_better():
    assert best_of(THREE, "objective")[0].algorithms == ("low",)


def test_what_has_no_guarantee_is_not_chosen_from():
    others = [mean("nonprivate", 90.0, epsilon=None), mean("agd:as-published", 95.0, unsound=True)]
    assert best_of([*THREE, *others], "accuracy") == best_of(THREE, "accuracy")
    failed = mean("failed", None, None)
    assert best_of([*THREE, failed], "accuracy") == best_of(THREE, "accuracy")


def test_one_line_for_a_data_set_and_none_without_a_choice():
    assert list(best_lines(THREE[:1], "accuracy")) == []
    both = [*THREE, mean("low", 85.0, epsilon=0.5), mean("top", 80.0, epsilon=0.5)]
    choosing, line = best_lines(both, "accuracy")
    assert "itself a release" in choosing
    assert line == "  a, at epsilon 0.5: low; at epsilon 1: top, near."
