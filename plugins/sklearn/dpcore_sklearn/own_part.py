"""Fitted estimators as they are shown: with a line on what their guarantee is of."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OwnPart"]

_OWN = (
    "private: this estimator's own fit. What a step before it learnt from the rows",
    "is not covered: dpcore_sklearn.check_pipeline(pipeline) tells of it.",
)
_NOT = ("not private: model_.privacy['sentence'] says why.",)
_CAPTIONS = {_OWN: "private: its own fit, not the steps before it", _NOT: "not private"}


@dataclass
class _Block:
    """A box of scikit-learn's picture of estimators, by the attributes that it reads of one."""

    estimators: Any
    names: str
    name_details: str
    name_caption: str | None
    kind: str = "single"
    doc_link_label: str | None = None
    dash_wrapped: bool = True


class OwnPart(BaseEstimator):
    """An estimator whose guarantee is of its own part of a pipeline.

    It cannot know the steps before it, and the text of a plain ``Pipeline`` is scikit-learn's. So
    once it is fitted, its ``repr`` has a comment below its parameters, its HTML a line above them,
    and its box in the HTML of a pipeline a caption.
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # By scikit-learn's own __repr__ alone does its printer know an estimator that takes lines.
        own = {"__repr__": BaseEstimator.__repr__}
        plain: Any = object.__new__(type(type(self).__name__, (type(self),), own))
        plain.__dict__.update(self.__dict__)
        told = BaseEstimator.__repr__(plain, N_CHAR_MAX)
        return "\n# ".join([told, *self._own_part()])

    @property
    def _repr_html_(self) -> Callable[[], str]:
        shown = super()._repr_html_  # There is none where scikit-learn's display is text.
        return lambda: self._own_part_in_html() + shown()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown = dict(super()._repr_mimebundle_(**options))
        if "text/html" in shown:
            shown["text/html"] = self._own_part_in_html() + shown["text/html"]
        return shown

    def _sk_visual_block_(self) -> _Block:
        """Return its box, as scikit-learn asks for it."""
        name = type(self).__name__
        return _Block(self, name, str(self), _CAPTIONS.get(self._own_part()))

    def _own_part(self) -> tuple[str, ...]:
        """Return the lines; none before a fit."""
        model = getattr(self, "model_", None)
        return () if model is None else _OWN if model.privacy["private"] else _NOT

    def _own_part_in_html(self) -> str:
        own = " ".join(self._own_part())
        return own and f"<p>{escape(own)}</p>"
