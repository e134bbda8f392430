"""All that a fit asks of weights, in one place: the step ``balanced`` hands it out."""

from dpcore_tables.weights.of_classes import unweighted, weighted, weights_asked, weights_by_name
from dpcore_tables.weights.of_rows import require_bound, with_sample_weight
from dpcore_tables.weights.values import checked_bound, checked_weights, public_weights

__all__ = [
    "checked_bound",
    "checked_weights",
    "public_weights",
    "require_bound",
    "unweighted",
    "weighted",
    "weights_asked",
    "weights_by_name",
    "with_sample_weight",
]
