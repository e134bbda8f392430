"""Private models as scikit-learn's estimators. Needs scikit-learn, which nothing else here does.

An estimator's statement is about its own fit. A step before it that learns from the rows (a scaler,
an imputer) voids the guarantee of the whole: ``check_pipeline`` says so, and ``make_pipeline``
refuses such steps.
"""

from __future__ import annotations

from importlib.metadata import version

from dpcore.errors import NOT_HERE

if NOT_HERE:
    raise ImportError(NOT_HERE)
try:
    from sklearn.utils.validation import validate_data  # noqa: F401 - since 1.6
except ImportError:
    raise ImportError(
        "dpcore_sklearn needs scikit-learn 1.6 or newer: pip install 'dpcore[sklearn]'"
    ) from None

if version("dpcore-sklearn") != version("dpcore"):
    # It converts rows before the core sees them, and no statement names it.
    raise ImportError(
        f"dpcore-sklearn {version('dpcore-sklearn')} is not of the version of dpcore, "
        f"{version('dpcore')}: install both in one version."
    )

from dpcore_sklearn.estimators import PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge
from dpcore_sklearn.pipeline import check_pipeline, make_pipeline
from dpcore_sklearn.search import PrivateSearch
from dpcore_sklearn.transformers import PublicEncoder, PublicScaler

__all__ = [
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateRidge",
    "PrivateSearch",
    "PublicEncoder",
    "PublicScaler",
    "check_pipeline",
    "make_pipeline",
]
