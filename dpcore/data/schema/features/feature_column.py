"""A column that becomes features: what every kind of it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.data.schema import values

if TYPE_CHECKING:
    from dpcore.data.schema.features.encoding import Encoding, Part

__all__ = ["FeatureColumn"]


class FeatureColumn:
    """A column that becomes features. A kind is a frozen dataclass of this class, whose fields are
    public facts; it says what a cell becomes by ``encoding``, from which all else follows.

    Parameters
    ----------
    kind : the name of the kind in a schema, of the class.
    name : of the column.
    fill, indicator : what an empty cell becomes; ``missing`` : words for no value, beside the
        table's.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]
    kind: ClassVar[str]
    name: str
    fill: Any
    indicator: bool
    missing: tuple[str, ...]

    @property
    def encoding(self) -> Encoding:
        """How a cell is read, and what becomes of it."""
        raise TypeError("a kind of column says what its cells become")

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that a schema has of the column, JSON-able."""
        raise TypeError("a kind of column says which keys it has")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The features, as rows hold them, in order."""
        return self.encoding.parts

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature."""
        return self.encoding.names(self.name)

    @property
    def square(self) -> int:
        """An upper bound of what the features add to the square of a row's l2 norm."""
        return self.encoding.square

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds that plain numbers are clamped to."""
        return self.encoding.bounds

    check_distinct, written = staticmethod(values.check_distinct), staticmethod(values.written)

    @staticmethod
    def empty_keys(fill: Any, indicator: bool, missing: tuple[str, ...]) -> dict[str, Any]:
        """Return the keys of a column that say which cells are empty, and what they become."""
        data = {} if fill is None else {"fill": fill}
        data |= {"indicator": True} if indicator else {}
        return data | ({"missing": list(missing)} if missing else {})
