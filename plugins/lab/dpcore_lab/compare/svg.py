"""A figure as a small SVG file: text as text, every style once, no letter that draws nothing."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

__all__ = ["STYLE", "svg_of"]

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "dpcore", "font.sans-serif": ["DejaVu Sans"]}
"""Settings of matplotlib: text stays text, and the same figure has the same bytes."""

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_NAMESPACES = {
    "": "http://www.w3.org/2000/svg",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "cc": "http://creativecommons.org/ns#",
}
_DRAWN = ("d", "x", "y", "transform")
"""Attributes that hold coordinates."""
_NUMBER = re.compile(r"-?\d+\.\d+")
_UPRIGHT = re.compile(r"M (\S+) (\S+) L \1 (\S+)")
"""An interval: up from a point to another."""
_REFERENCE = re.compile(r"(?<=#)\w+")


def svg_of(figure: Any, description: str | None = None) -> bytes:
    """Return a matplotlib Figure as SVG, the same bytes every time under ``STYLE``."""
    metadata: dict[str, str | None] = {"Date": None, "Creator": None}
    if description is not None:
        metadata["Description"] = description
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", facecolor="white", metadata=metadata)
    return _compact(buffer.getvalue())


def _compact(svg: bytes) -> bytes:
    """Return the same picture in fewer letters."""
    for prefix, namespace in _NAMESPACES.items():
        ElementTree.register_namespace(prefix, namespace)
    root = ElementTree.fromstring(svg)
    classes: dict[str, str] = {}
    for element in root.iter():
        element.tail = "\n"
        element.text = (element.text or "").strip() or None
        if f"{_XLINK}href" in element.attrib:
            element.attrib["href"] = element.attrib.pop(f"{_XLINK}href")
        _round(element.attrib)
        if "style" in element.attrib:
            # A class for each style, in place of its words at every point of every curve.
            style = element.attrib.pop("style")
            element.attrib["class"] = classes.setdefault(style, f"c{len(classes)}")
    _shorten_names(root)
    _unwrap(root)
    for sheet in root.iter(f"{_SVG}style"):
        rules = (f".{name}{{{style}}}" for style, name in classes.items())
        sheet.text = (sheet.text or "") + "".join(rules)
    # A text's ">" is written as "&gt;", so that this is the end of an element.
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written.replace(b" />", b"/>")


def _round(attributes: dict[str, str]) -> None:
    """Round coordinates to a tenth of a point; drop a turn by nothing."""
    for name in attributes.keys() & _DRAWN:
        rounded = _NUMBER.sub(lambda found: f"{round(float(found[0]), 1):g}", attributes[name])
        attributes[name] = " ".join(rounded.split())
    if "d" in attributes:
        path = _UPRIGHT.sub(r"M \1 \2 V \3", attributes["d"])
        attributes["d"] = re.sub(r" ?([A-Za-z]) ?", r"\1", path)
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]


def _shorten_names(root: ElementTree.Element) -> None:
    """Name by numbers what the picture refers to, and nothing else."""
    values = [value for element in root.iter() for value in element.attrib.values()]
    used = dict.fromkeys(name for value in values for name in _REFERENCE.findall(value))
    names = {name: f"i{i}" for i, name in enumerate(used)}
    for element in root.iter():
        own = names.get(element.attrib.pop("id", ""))
        for key, value in element.attrib.items():
            element.attrib[key] = _REFERENCE.sub(lambda found: names[found[0]], value)
        if own is not None:
            element.attrib["id"] = own


def _unwrap(element: ElementTree.Element) -> None:
    """Put what groups without a clip hold in their place; say a class once for a group."""
    parts: list[ElementTree.Element] = []
    for part in element:
        _unwrap(part)
        parts += part if part.tag == f"{_SVG}g" and not part.attrib else [part]
    element[:] = parts
    classes = {part.attrib.get("class", "") for part in parts}
    if element.tag == f"{_SVG}g" and "clip-path" in element.attrib and len(classes) == 1:
        element.attrib["class"] = classes.pop()
        for part in parts:
            part.attrib.pop("class", None)
