"""The model file: JSON, a format version, a checksum over everything else in it. No pickle.

A model of three classes and more, which has a list of coefficients for each, is of version 2: what
reads version 1 alone says so. All others are of version 1. In version 2 ``multiclass`` says ``ovr``
where each class has a fit of its own; without it there is one fit of all. ``link`` is ``log`` where
predictions are means, exp(margin) half widths of the target's bounds; without it they are margins.

The checksum is SHA-256 over the canonical JSON (sorted keys, no spaces, ASCII) of the file without
its ``checksum``. It finds a file that was cut short or altered by accident; it is no signature.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dpcore.errors import InvalidInputError, ModelFileError, replacing
from dpcore.model.outfile import OutFile

__all__ = [
    "FORMAT",
    "FORMAT_VERSIONS",
    "check_out",
    "check_replaceable",
    "fate_of",
    "read_model_file",
    "write_model_file",
]

FORMAT = "dpcore-model"
FORMAT_VERSIONS = (1, 2)

_Check = Callable[[Any], bool]
_START = re.compile(rf'\s*\{{\s*"format"\s*:\s*"{FORMAT}"'.encode("ascii"))


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _table(value: Any) -> bool:
    return isinstance(value, dict)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**53


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _optional(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _list_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _intervals(value: Any, width: int) -> bool:
    """Return whether a value is ``why_not``, or an estimate and its covariance of that width."""
    if not _table(value) or value.keys() == {"why_not"}:
        return _table(value) and _text(value["why_not"])
    if not (value.keys() == {"estimate", "covariance"} and isinstance(value["covariance"], list)):
        return False
    rows = [value["estimate"], *value["covariance"]]
    return len(rows) == width + 1 and all(_list_of(_number)(r) and len(r) == width for r in rows)


def _loss(value: Any) -> bool:
    if not (_table(value) and value.keys() == {"name", "parameters"} and _text(value["name"])):
        return False
    return _table(value["parameters"]) and all(map(_optional(_class), value["parameters"].values()))


def _sections(value: Any) -> bool:
    fields: dict[str, _Check] = {"data": _table, "lines": _list_of(_text), "part": _text}
    return _table(value) and all(
        _table(each) and all(holds(each.get(field)) for field, holds in fields.items())
        for each in value.values()
    )


def _class(value: Any) -> bool:
    return _text(value) or _flag(value) or _number(value)


_FIELDS: dict[str, tuple[_Check, str]] = {
    "algo": (_table, "an object"),
    "loss": (_loss, "an object of a name and parameters"),
    "link": (lambda value: value == "log", "log, or left out"),
    "l2": (_number, "a finite number"),
    "feature_names": (_list_of(_text), "a list of text"),
    "row_norm": (_positive, "a finite number > 0"),
    "schema": (_table, "an object"),
    "status": (_text, "text"),
    "details": (_table, "an object"),
    "privacy": (_table, "an object"),
    "ledger": (_list_of(_table), "a list of objects"),
    "versions": (_table, "an object"),
}

_OF_VERSION: dict[int, dict[str, tuple[_Check, str]]] = {
    1: {
        "coefficients": (_list_of(_number), "a list of finite numbers"),
        "intercept": (_optional(_number), "a finite number or null"),
        "classes": (
            _optional(lambda v: _list_of(_class)(v) and len(v) == 2),
            "a list of two classes or null",
        ),
    },
    2: {
        "coefficients": (_list_of(_list_of(_number)), "lists of finite numbers"),
        "intercept": (_optional(_list_of(_number)), "a list of finite numbers or null"),
        "classes": (
            lambda v: _list_of(_class)(v) and len(v) > 2,
            "a list of three classes or more",
        ),
    },
}

_MULTICLASS: dict[int, tuple[str, ...]] = {1: (), 2: ("ovr",)}

_PRIVACY: dict[str, tuple[_Check, str]] = {
    "private": (_flag, "true or false"),
    "why_not_private": (_list_of(_text), "a list of text"),
    "sentence": (_text, "text"),
    "epsilon": (_positive, "a finite number > 0"),
    "delta": (lambda v: _number(v) and 0 <= v < 1, "a number from 0 to below 1"),
    "neighboring_relation": (_text, "text"),
    "accountant": (_text, "text"),
    "conversion": (_text, "text"),
    "unit": (_text, "text"),
    "budget": (_number, "a finite number"),
    "spent": (_number, "a finite number"),
    "releases": (_table, "an object"),
    "parts_not_from_dpcore": (_list_of(_text), "a list of text"),
}


def check_out(
    path: str | os.PathLike[str] | None, inputs: Mapping[str, str | os.PathLike[str] | None]
) -> None:
    """Raise InvalidInputError if no model can be written to the path: it is an input (option to
    file), or a file that is no model."""
    if path is not None:
        OutFile(path).refuse(inputs)
        OutFile(path).check()
        check_replaceable(path)


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise InvalidInputError if ``path`` is a file that holds something and no model."""

    def unread(error: Exception) -> InvalidInputError:
        reason = getattr(error, "strerror", None) or "not a path"
        return InvalidInputError(f"Cannot read {os.fspath(path)!r}: {reason}.")

    with replacing(OSError, ValueError, by=unread):
        if not os.path.isfile(path) or os.path.getsize(path) == 0:
            return
        with open(path, "rb") as file:
            is_model = _START.match(file.read(4096))
    if not is_model:
        raise InvalidInputError(
            f"--out {os.fspath(path)!r} is not a model file; choose another path."
        )


def write_model_file(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write the fields of a model, whole or not at all, with format version and checksum."""
    OutFile(path).write(_text_of(content))


def fate_of(path: str | os.PathLike[str], content: Mapping[str, Any]) -> str:
    """Return, as the end of a sentence, whether the model of these fields is in a file."""
    name = os.fspath(path)
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            return f"the model may be in {name!r}, which cannot be read again"
        is_there = Path(path).read_text(encoding="utf-8") == _text_of(content)
    except (OSError, ValueError):
        is_there = False
    return f"the model is {'' if is_there else 'not '}in {name!r}"


def _text_of(content: Mapping[str, Any]) -> str:
    version = 2 if len(content["classes"] or ()) > 2 else 1
    body = {"format": FORMAT, "format_version": version, **content}
    body["checksum"] = checksum(body)
    return json.dumps(body, indent=1, allow_nan=False) + "\n"


def read_model_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of a model file, each checked.

    Raises ModelFileError for a file that is missing, cut short, altered or of another version.
    """
    name = os.fspath(path)

    def unread(error: Exception) -> ModelFileError:
        if isinstance(error, OSError):
            return ModelFileError(f"Cannot read model file {name!r}: {error.strerror}.")
        return ModelFileError(f"{name!r} is not a whole JSON file: cut short, or no model file.")

    with replacing(OSError, ValueError, RecursionError, by=unread):
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_constant)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{name!r} is not a dpcore model file.")
    version = content.get("format_version")
    if version not in FORMAT_VERSIONS or isinstance(version, bool):
        known = " and ".join(map(str, FORMAT_VERSIONS))
        raise ModelFileError(f"{name!r} has format version {version!r}; this dpcore reads {known}.")
    if content.pop("checksum", None) != checksum(content):
        raise ModelFileError(f"{name!r} was altered after it was written: wrong checksum.")
    if _text(content.get("loss")):  # as it was while no loss had parameters
        content["loss"] = {"name": content["loss"], "parameters": {}}
    _check_fields(name, content)
    return content


def checksum(content: Mapping[str, Any]) -> str:
    """Return ``sha256:...`` of the canonical JSON of ``content``."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _check_fields(name: str, content: Mapping[str, Any]) -> None:
    _check_each(name, _FIELDS | _OF_VERSION[content["format_version"]], {"link": "log", **content})
    if content.get("multiclass") not in (None, *_MULTICLASS[content["format_version"]]):
        raise ModelFileError(f"{name!r} has another multiclass than this dpcore knows.")
    _check_each(name, _PRIVACY, content["privacy"])
    weights = content.get("class_weights", {})
    if not (_table(weights) and all(map(_positive, weights.values()))):
        raise ModelFileError(f"Expected 'class_weights' in {name!r} to be numbers > 0 by class.")
    if not _optional(_positive)(content.get("weight_bound")):
        raise ModelFileError(f"Expected 'weight_bound' in {name!r} to be a number > 0.")
    if not _optional(_table)(content.get("evaluation")):
        raise ModelFileError(f"Expected 'evaluation' in {name!r} to be an object.")
    width = len(content["feature_names"]) + (content["intercept"] is not None)
    if content.get("intervals") is not None and not _intervals(content["intervals"], width):
        raise ModelFileError(f"Expected 'intervals' in {name!r} to be an estimate or a reason.")
    if not _sections(content.get("sections", {})):
        raise ModelFileError(f"Expected 'sections' in {name!r} to have data and lines by name.")
    if content["privacy"]["private"] == bool(content["privacy"]["why_not_private"]):
        raise ModelFileError(f"'private' and 'why_not_private' in {name!r} contradict each other.")
    several = content["format_version"] == 2
    coefficients = content["coefficients"] if several else [content["coefficients"]]
    if any(len(each) != len(content["feature_names"]) for each in coefficients):
        raise ModelFileError(f"{name!r} has not one coefficient for each feature.")
    of_classes = (coefficients, content["intercept"]) if several else ()
    if any(each is not None and len(each) != len(content["classes"]) for each in of_classes):
        raise ModelFileError(f"{name!r} has not the coefficients of each class.")


def _check_each(
    name: str, fields: Mapping[str, tuple[_Check, str]], content: Mapping[str, Any]
) -> None:
    for field, (check, expected) in fields.items():
        if field not in content:
            raise ModelFileError(f"{name!r} lacks {field!r}.")
        if not check(content[field]):
            raise ModelFileError(f"Expected {field!r} in {name!r} to be {expected}.")


def _no_constant(word: str) -> Any:
    raise ValueError(word)
