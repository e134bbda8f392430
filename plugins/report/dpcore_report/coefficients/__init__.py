"""The coefficients of a model in the units of its columns, as a table, a frame, and HTML."""

from dpcore_report.coefficients.of_model import summary_of
from dpcore_report.coefficients.summary import HEADS, Coefficient, Summary

__all__ = ["HEADS", "Coefficient", "Summary", "summary_of"]
