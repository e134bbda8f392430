"""What a fitted estimator shows of its guarantee: that it is of its own part of a pipeline."""

import re
from html import unescape

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpcore_sklearn import PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge, PrivateSearch
from dpcore_sklearn.own_part import OwnPart

X = np.random.default_rng(2).uniform(-1, 1, (300, 2))
Y = (X[:, 0] > 0).astype(int)
PUBLIC = {"bounds": (-1, 1), "epsilon": 5.0, "algo": "dp-gd"}
NOT_COVERED = "what a step before it learnt from the rows is not covered"
SEARCH = PrivateSearch(
    estimator=PrivateLinearSVC(bounds=(-1, 1)), candidates={"l2": [0.01]}, search="list"
)


def text_of(html):
    bare = re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(bare).split())


LONG = PrivateLinearSVC(**PUBLIC, l2=0.01, n_public=300, accountant="gdp", evaluate_share=None)


@pytest.mark.parametrize("estimator", [LONG, SEARCH], ids=lambda one: type(one).__name__)
def test_a_fit_in_a_plain_pipeline_says_what_it_does_not_cover(estimator):
    unfitted = repr(estimator)
    pipe = make_pipeline(StandardScaler(), clone(estimator)).fit(X, Y)
    assert pipe[-1].model_.privacy["private"]
    code, _, told = repr(pipe[-1]).partition("\n# ")
    assert code == unfitted and "\n#" not in unfitted
    shown = " ".join(told.replace("\n# ", " ").split())
    assert NOT_COVERED in shown.lower() and "check_pipeline(pipeline)" in shown
    assert max(map(len, repr(pipe[-1]).splitlines())) <= 80
    again = eval(repr(pipe[-1]), {type(one).__name__: type(one) for one in (LONG, SEARCH)})
    assert again.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()
    for html in (pipe[-1]._repr_html_(), pipe[-1]._repr_mimebundle_()["text/html"]):
        assert text_of(html).startswith("private: this estimator") and shown in text_of(html)
    assert type(estimator).__name__ in repr(pipe) and type(estimator).__name__ in str(pipe)
    assert NOT_COVERED not in repr(clone(pipe[-1])) + clone(pipe[-1])._repr_html_()


@pytest.mark.parametrize("estimator", [LONG, SEARCH], ids=lambda one: type(one).__name__)
def test_its_box_in_a_plain_pipeline_has_a_caption(estimator):
    pipe = make_pipeline(StandardScaler(), clone(estimator))
    caption = "private: its own fit, not the steps before it"
    assert caption not in text_of(pipe._repr_html_())
    pipe.fit(X, Y)
    (shown,) = re.findall(r'<div class="caption">(.*?)</div>', pipe._repr_html_())
    assert shown == caption and type(estimator).__name__ in text_of(pipe._repr_html_())
    seeded = make_pipeline(StandardScaler(), PrivateLinearSVC(**PUBLIC, random_state=1)).fit(X, Y)
    assert re.findall(r'<div class="caption">(.*?)</div>', seeded._repr_html_()) == ["not private"]


def test_all_estimators_show_it():
    for kind in (PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge, PrivateSearch):
        for name in ("__repr__", "_repr_html_", "_repr_mimebundle_", "_sk_visual_block_"):
            assert getattr(kind, name) is getattr(OwnPart, name)


def test_a_model_that_is_not_private_says_so_and_points_to_why():
    clf = PrivateLinearSVC(**PUBLIC, random_state=1).fit(X, Y)
    assert repr(clf).endswith("\n# not private: model_.privacy['sentence'] says why.")
    assert "not private" in text_of(clf._repr_html_())[:20]


def test_it_is_shown_as_scikit_learns_display_is_set():
    clf = PrivateLinearSVC(**PUBLIC).fit(X, Y)
    with config_context(display="text"):
        assert not hasattr(clf, "_repr_html_") and [*clf._repr_mimebundle_()] == ["text/plain"]
    with config_context(print_changed_only=False):
        assert "weight_bound=None" in repr(clf) and "is not covered" in repr(clf)
    assert repr(clf).startswith("PrivateLinearSVC(algo='dp-gd', bounds=(-1, 1), epsilon=5.0)\n")
    assert "is not covered" not in repr(LogisticRegression())
