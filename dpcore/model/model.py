"""A fitted linear model: released coefficients, the public encoding, and the privacy statement."""

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from dpcore.data.schema.columns import Label
from dpcore.data.schema.schema import Schema
from dpcore.errors import DpcoreError, InvalidInputError, ModelFileError
from dpcore.model import margins, rendering
from dpcore.model.details import fault_of_details
from dpcore.model.file import fate_of, read_model_file, write_model_file
from dpcore.model.learnt import LearntFacts
from dpcore.model.probabilities import blank_rows
from dpcore.moved import place_of_name, renamed_method
from dpcore.privacy.statement import PrivacyStatement
from dpcore.privacy.versions import running_versions
from dpcore.registry.catalogue import Registry
from dpcore.registry.step_class import step_class
from dpcore.session.charges import Charges

__all__ = ["Model", "load_model"]


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Model(LearntFacts):
    """A linear model, everything in it released or public: its parameters are ``LearntFacts``'."""

    def decision_function(self, X: Any, bad_rows: str = "blank") -> np.ndarray:
        """Return the margin of every row, float64 of shape (n_rows,); above 0: positive class. Of
        three classes and more those of each class, of shape (n_rows, n_classes). For a regression,
        what ``predict`` returns.

        X : what ``fit`` takes: an array or CSR matrix of the same width, a frame with the schema's
        columns, or the path of a file, which is read in pieces. A row is scaled down to the public
        row norm, as in training.
        bad_rows : ``"blank"`` gives NaN to a row with a cell that does not satisfy the schema, such
        as an empty one without a fill, and warns of how many there are; ``"refuse"`` refuses them.

        Raises DataError or InvalidInputError for what are no such rows.
        """
        found = self.margins_of(X, bad_rows)
        return self.labels(found) if self.schema.label.is_real else found.T

    def predict(self, X: Any, bad_rows: str = "blank") -> np.ndarray:
        """Return the predicted class of every row, or the predicted value of a regression, held to
        the target's public bounds. A row without a score has None, in an array of objects, or
        NaN."""
        return self.labels(self.margins_of(X, bad_rows))

    def predict_proba(self, X: Any, bad_rows: str = "blank") -> np.ndarray:
        """Return the probabilities of ``classes_`` for every row, of shape (n_rows, n_classes), NaN
        for a row without a score. One-vs-rest: of each class against the rest, over their sum.

        Raises InvalidInputError for a loss whose margins are no log odds.
        """
        self.require_probabilities()
        return self.probabilities(self.margins_of(X, bad_rows))

    def predict_interval(self, X: Any, bad_rows: str = "blank") -> np.ndarray:
        """Return the ends of each row's 95 % interval, float64 of shape (n_rows, 2).

        It is an interval of the log odds, or for a regression of the predicted value, at the
        minimum over the population. 1 / (1 + e^-m) of log odds m is a probability.

        Raises InvalidInputError for a model without intervals (``fit(also=[Intervals(...)])``),
        RegistryError, with what to install, where no package makes them.
        """
        made = step_class("intervals", "interval_margins", told="No package makes intervals.")
        found = self.margins_of(X, bad_rows, made.interval_margins(self))
        return (self.labels(found) if self.schema.label.is_real else found).T

    def warnings(self, *, was_warned: bool = False) -> list[str]:
        """Return what its owner is to be careful of, from released and public facts only.
        ``was_warned`` : whether it was said before the run that the model would be no better than a
        constant."""
        found = (
            PrivacyStatement.guarantee_warnings(self.privacy["epsilon"], self.privacy["delta"])
            if self.privacy["private"]
            else []
        )
        bounds, unseen = self.released_bounds, rendering.unseen_columns(self)
        if without_rows := [(name, *bounds[name]) for name in unseen]:
            defaults = (
                f"{name!r} ({low:g} to {high:g} is the default)" for name, low, high in without_rows
            )
            found.append(
                "no rows were seen above the noise, where bounds were looked for, in "
                f"{', '.join(defaults)}: state bounds there."
            )
        if isinstance(self.details.get("warning"), str) and not was_warned:
            found.append(self.details["warning"])
        return found

    cautions = renamed_method("cautions", "warnings")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on labelled rows, or the R2 of a regression: an exact metric of these
        rows, which no epsilon covers.

        Raises as ``predict`` does, and DataError for rows without a score and for labels that are
        none of the classes, or no numbers; RegistryError, with what to install, where no package
        scores.
        """
        scores = step_class("evaluation", "exact_score", told="No package scores labelled rows.")
        return float(scores.exact_score(self, X, y, sample_weight))

    def summary(self) -> Any:
        """Return the coefficients per unit of their columns, and per standard deviation of the
        columns' public ranges, with their intervals where those were released.

        It prints as a table, and ``summary()["per_unit"]`` is a column. Raises ModuleNotFoundError
        where the package that makes it is not installed.
        """
        return importlib.import_module(place_of_name("dpcore", "summary_of") or "").summary_of(self)

    running_versions = staticmethod(running_versions)
    fault_of_details = staticmethod(fault_of_details)
    fitted_in_words = rendering.fitted_in_words
    columns_in_words = rendering.columns_in_words
    sections_in_words = rendering.sections_in_words
    shown_bounds = rendering.shown_bounds
    __repr__ = rendering.text_of
    margins_of, margins_in_pieces = margins.margins_of, margins.margins_in_pieces
    blanks_in_words = margins.blanks_in_words
    blank_rows, classes_in_words, read_file, reading_of = (
        staticmethod(blank_rows),
        staticmethod(rendering.classes_in_words),
        staticmethod(read_model_file),
        staticmethod(margins.reading_of),
    )

    @staticmethod
    def check_coefficients(w: Any, shape: tuple[int, ...], algo: str) -> np.ndarray:
        """Return an optimizer's ``w`` as float64, C order; InvalidInputError for a wrong shape or
        value."""
        try:
            array = np.array(w, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            array = np.full(1, np.nan)
        if array.shape != shape or not np.isfinite(array).all():
            times = " x ".join(map(str, shape))
            raise InvalidInputError(f"{algo} returned no {times} finite coefficients.")
        return array

    def _repr_html_(self) -> str | None:
        """Return a table for a notebook; ``None``, so that it shows the text, where the package
        that makes it is not installed."""
        try:
            place = place_of_name("dpcore", "model_table") or ""
        except ModuleNotFoundError:
            return None
        return str(importlib.import_module(place).model_table(self))

    def __reduce__(self) -> tuple[Any, ...]:
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(Model, **{**held, "report": {}}), ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, whole or not at all. What ends this early has a note of what the
        model was charged and whether it is in the file."""
        charges = Charges()
        charges.follow(lambda: (*(self.privacy[key] for key in ("spent", "budget", "unit")),))
        charges.fate = lambda: self.fate_in(path)
        with charges.told():
            write_model_file(path, self._content())

    def fate_in(self, path: str | os.PathLike[str]) -> str:
        """Return whether this model is in a file, as the end of a sentence."""
        return fate_of(path, self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "algo": dict(self.algo),
            "loss": {"name": self.loss, "parameters": dict(self.loss_parameters)},
            "l2": self.l2,
            **({"link": "log"} if self.log_link else {}),
            **({} if self.multiclass is None else {"multiclass": self.multiclass}),
            "coefficients": self.coef.tolist(),
            "intercept": np.asarray(self.intercept).tolist() if self.schema.intercept else None,
            "feature_names": list(self.feature_names),
            "classes": _classes_to_json(self.classes),
            "row_norm": self.row_norm,
            # Without its ledger, which is a path of the machine that the model was fitted on.
            "schema": replace(self.schema, ledger=None).to_dict(),
            "status": self.status,
            "details": dict(self.details),
            "privacy": dict(self.privacy),
            "ledger": [dict(entry) for entry in self.ledger],
            "versions": dict(self.versions),
            **({"class_weights": dict(self.class_weights)} if self.class_weights else {}),
            **({} if self.weight_bound is None else {"weight_bound": self.weight_bound}),
            **({} if self.evaluation is None else {"evaluation": dict(self.evaluation)}),
            **({} if self.intervals is None else {"intervals": dict(self.intervals)}),
            **({"sections": dict(self.sections)} if self.sections else {}),
        }


def load_model(path: str | os.PathLike[str]) -> Model:
    """Return the model of a file. Raises ModelFileError for a file that is damaged or altered.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from dpcore import fit, load_model
    >>> X, y = np.array([[0.0], [1.0]] * 50), np.array([0, 1] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit(X, y, classes=(0, 1), bounds=(0, 1), row_norm=None).save(f"{folder}/model.json")
    ...     model = load_model(f"{folder}/model.json")
    >>> model.privacy["epsilon"], model.classes
    (1.0, (0, 1))
    """
    content = read_model_file(path)
    try:
        schema = Schema.from_dict(content["schema"])
    except DpcoreError as error:
        raise ModelFileError(f"{os.fspath(path)!r}: {error}") from error
    model = _model_of(content, schema)
    _check_agreement(os.fspath(path), content, model)
    return model


def _model_of(content: Mapping[str, Any], schema: Schema) -> Model:
    """Return the model of a file's content, with its schema."""
    intercept = content["intercept"]
    coef = np.array(content["coefficients"], float) / schema.feature_scale
    last = () if intercept is None else (np.array(intercept, float)[..., np.newaxis],)
    return Model(
        w=np.concatenate([coef, *last], axis=-1),
        schema=schema,
        loss=content["loss"]["name"],
        loss_parameters=content["loss"]["parameters"],
        class_weights=content.get("class_weights", {}),
        weight_bound=content.get("weight_bound"),
        evaluation=content.get("evaluation"),
        intervals=content.get("intervals"),
        sections=content.get("sections", {}),
        l2=float(content["l2"]),
        algo=content["algo"],
        privacy=content["privacy"],
        ledger=tuple(content["ledger"]),
        status=content["status"],
        details=content["details"],
        versions=content["versions"],
        log_link="link" in content,
        multiclass=content.get("multiclass"),
        class_values=None if content["classes"] is None else tuple(content["classes"]),
    )


def _classes_to_json(classes: tuple[Any, ...] | None) -> list[Any] | None:
    if classes is None:
        return None
    return [c.item() if isinstance(c, np.generic) else c for c in classes]


def _check_agreement(name: str, content: Mapping[str, Any], model: LearntFacts) -> None:
    """Raise ModelFileError if a file of this name and its model do not agree, or its loss is not
    installed."""
    schema = model.schema
    agrees = (
        model.w.shape == schema.w_shape
        and (content["intercept"] is not None) == schema.intercept
        and tuple(content["feature_names"]) == model.feature_names
        and _classes_agree(content["classes"], schema.label)
        and content["row_norm"] == model.row_norm
    )
    if not Registry.has("loss", model.loss):
        raise ModelFileError(
            f"The loss {model.loss!r} of {name!r} is not installed; see dpcore list losses."
        )
    if not agrees:
        raise ModelFileError(f"The coefficients in {name!r} do not fit its schema.")


def _classes_agree(written: list[Any] | None, label: Label) -> bool:
    """Return whether a file's classes are its schema's, which holds text or numbers only."""
    if written is None or label.is_real or len(written) != label.n_classes:
        return written is None and label.is_real
    pairs = zip(written, label.names, strict=True)
    return all(_as_in_schema(value, expected) == expected for value, expected in pairs)


def _as_in_schema(value: Any, expected: str | float) -> str | float:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(expected, str) else value
