"""A step of somebody's own beside a fit: that of a distribution in tests/third_party."""

import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "third_party" / "dpcore-class-counts"))

from class_counts import ClassCounts

STEP = ClassCounts(Fraction(1, 5))
