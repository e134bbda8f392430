"""All that a model has released, as one word, or as metrics."""

import hashlib
import json

from golden.normal_form import normal


def digest(model):
    """Return the coefficients to the bit, and what was charged for which releases, as one word."""
    told = [model.w.tobytes().hex(), model.ledger, model.privacy["spent"], model.status]
    return word(told)


def released(model):
    """Return that word, and the metrics beside the coefficients, rounded."""
    told = {"bits": digest(model), "releases": model.privacy["releases"]}
    beside = {
        "bounds": model.released_bounds,
        "class weights": model.class_weights,
        "evaluation": model.evaluation,
        "intervals": model.intervals,
        "chosen": model.privacy.get("search", {}).get("chosen"),
        "sections": dict(model.sections),
    }
    told |= {name: value for name, value in beside.items() if value}
    return _short({name: _rounded(name, value) for name, value in told.items()})


def _rounded(name, value):
    digits = 6 if name == "intervals" else 10  # LAPACK has a part in these.
    return json.loads(normal(json.dumps(value), digits))


def _short(told):
    """Return metrics with one word for those that follow from counts beside them."""
    metrics = told.get("evaluation", {})
    names = ("calibration", "confusion", "recall", "precision")
    follow = {name: metrics.pop(name) for name in names if name in metrics}
    if follow:
        metrics["what follows"] = word(follow)
    return told


def word(value):
    """Return a word for JSON-able data: another for other data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
