"""The words of a check."""

from dpcore_lab.checks.coverage_text import Tested


def test_what_was_left_open_is_said_last():
    words = Tested("40 draws", "would see half the noise", ("rare outcomes", "time"))
    assert str(words) == "40 draws. would see half the noise. not tested: rare outcomes; time"


def test_what_is_empty_is_left_out():
    assert str(Tested("40 draws")) == "40 draws"
