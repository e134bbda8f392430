"""The names of ``dpcore.plugin.columns``, for authors of kinds of column.

A kind says what becomes of private cells. It is inside the trust boundary, and the statement names
it. Readings and transforms are in ``transforms``.
"""

from dpcore.data.schema.features import transforms
from dpcore.data.schema.features.encoding import Encoding, Part
from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.numeric import Numeric
from dpcore.data.schema.keys import ColumnKind, Key
from dpcore.data.schema.label import Drop, Label
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.plan import ColumnPlan
from dpcore.data.schema.values import Entry
from dpcore.data.schema.vocabulary import Vocabulary

__all__ = [
    "ColumnKind",
    "ColumnPlan",
    "Drop",
    "Encoding",
    "Entry",
    "FeatureColumn",
    "Key",
    "Label",
    "Notation",
    "Numeric",
    "Part",
    "Vocabulary",
    "transforms",
]
