"""The metric that a model is judged by: accuracy or squared error, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.errors import InvalidInputError

__all__ = ["NormalisedError"]


@dataclass(frozen=True, kw_only=True)
class NormalisedError:
    """Errors as shares of a constant's: the commoner class misses 1 - ``classes_share`` of the
    rows, the mean has a squared error of 1 in variances.

    ``nonprivate_accuracy``, ``nonprivate_mse`` : of a model without privacy; ``None``: typical.
    ``classes`` : their number.
    """

    classification: bool
    classes: int = 2
    classes_share: float | None = None
    nonprivate_accuracy: float | None = None
    nonprivate_mse: float | None = None

    def __post_init__(self) -> None:
        share, accuracy, mse = self.classes_share, self.nonprivate_accuracy, self.nonprivate_mse
        self._refuse_others("--nonprivate", accuracy, mse)
        if not self.classification and share is not None:
            raise InvalidInputError("--classes-share is of classes: leave it out for ridge.")
        if share is not None and not 1 / self.classes <= share < 1:
            raise InvalidInputError(
                f"Expected --classes-share {share!r} from {1 / self.classes:.3g} up to 1: the "
                "share of the commonest class."
            )
        if accuracy is not None and not self._constant("--nonprivate-accuracy") < accuracy < 1:
            raise InvalidInputError(
                f"Expected --nonprivate-accuracy {accuracy!r} between --classes-share and 1."
            )
        if mse is not None and not 0 < mse < 1:
            raise InvalidInputError(
                f"Expected --nonprivate-mse {mse!r} between 0 and 1: an error over the variance."
            )

    def without_privacy(self, typical: float) -> float:
        """Return the share of a constant's error that is left without privacy."""
        if self.nonprivate_accuracy is not None:
            return self._share_left(self.nonprivate_accuracy)
        return typical if self.nonprivate_mse is None else self.nonprivate_mse

    def kept_at(self, accuracy: float | None, mse: float | None, without: float) -> float | None:
        """Return the share of the gain that a target leaves to keep; ``None`` without a target.

        Raises InvalidInputError for a target that a constant reaches, or no model at any epsilon.
        """
        self._refuse_others("--target", accuracy, mse)
        if accuracy is None and mse is None:
            return None
        name = "accuracy" if self.classification else "mse"
        left = self._share_left(accuracy) if accuracy is not None else mse
        target = accuracy if accuracy is not None else mse
        if left is None or not 0 < left < 1:
            raise InvalidInputError(
                f"Expected --target-{name} {target!r} to be better than a constant's "
                f"({self._constant('') if self.classification else 1:g}) and short of perfect."
            )
        if left <= without:
            best = self.reached(1.0, without)[name]
            raise InvalidInputError(
                f"--target-{name} {target!r} cannot be had at any epsilon: a model without privacy "
                f"is assumed to reach {best:.3g}. Where yours reaches another, set "
                f"--nonprivate-{name}."
            )
        return (1 - left) / (1 - without)

    def reached(self, kept: float, without: float) -> dict[str, float]:
        """Return the metric by its name at a share kept; empty where the classes' shares that it
        rests on were not given."""
        left = 1 - kept * (1 - without)
        if not self.classification:
            return {"mse": left}
        share = self.classes_share
        return {} if share is None else {"accuracy": 1 - left * (1 - share)}

    def _share_left(self, accuracy: float) -> float:
        return (1 - accuracy) / (1 - self._constant("an accuracy"))

    def _constant(self, asking: str) -> float:
        if self.classes_share is None:
            raise InvalidInputError(
                f"Expected --classes-share beside {asking}: the share of the commonest class, "
                "which a constant gets right."
            )
        return self.classes_share

    def _refuse_others(self, option: str, accuracy: float | None, mse: float | None) -> None:
        """Refuse a metric that is of the other kind of loss."""
        if self.classification and mse is not None:
            raise InvalidInputError(f"{option}-mse is of --loss ridge; expected {option}-accuracy.")
        if not self.classification and accuracy is not None:
            raise InvalidInputError(f"{option}-accuracy is of classes; expected {option}-mse.")
