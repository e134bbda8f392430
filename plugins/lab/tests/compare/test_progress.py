"""The progress of a comparison: its fits, and the bytes of a file while it is read."""

from dataclasses import astuple

from dpcore_lab.commands.progress import FitsMade


def test_fits_of_an_earlier_run_count():
    fits = FitsMade()
    fits.on_row(7, 60, {"algorithm": "dp-agd", "data": "adult"})
    assert astuple(fits.look()) == ("comparing", 7, 60, "7 of 60 fits, last dp-agd on adult")


def test_a_comparison_tells_the_bytes_of_a_file_until_the_next_fit_is_done():
    fits = FitsMade()
    assert fits.look() is None
    fits.reading.on_bytes("rows.csv", 10**6, None)
    assert astuple(fits.look()) == ("reading rows.csv", 10**6, None, "1.0 MB read")
    fits.on_row(1, 2, {"algorithm": "dp-agd", "data": "rows.csv"})
    assert astuple(fits.look()) == ("comparing", 1, 2, "1 of 2 fits, last dp-agd on rows.csv")
