"""Losses in words."""

from dpcore.model.rendering import shown_loss


def test_a_loss_in_words():
    assert shown_loss("logistic", {}) == "logistic"
    shown = shown_loss("quantile", {"tau": 0.9, "half_width": None})
    assert shown == "quantile (tau=0.9, half_width=none)"
