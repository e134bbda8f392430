"""Settings of a fit by words that name the options of its steps, as a command line has them."""

from dpcore import BalancedWeights, Evaluation, Intervals
from dpcore.plugin import Settings


def settings(*args, test_fraction=None, **words):
    """Return the settings, with the steps that the words ask for."""
    also = list(words.pop("also", ()))
    if words.get("class_weight") == "balanced":
        largest = {"largest": words.pop("largest_weight")} if "largest_weight" in words else {}
        del words["class_weight"]
        also.append(BalancedWeights(**largest))
    share, epsilon = words.pop("evaluate_share", None), words.pop("evaluate_epsilon", None)
    if share is not None or epsilon is not None:
        also.append(Evaluation(share, epsilon, test_fraction))
    intervals, anyway = words.pop("intervals_share", None), words.pop("intervals_anyway", False)
    if intervals is not None:
        also.append(Intervals(intervals, anyway))
    return Settings(*args, **words, also=tuple(also))
