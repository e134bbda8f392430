"""Texts without what differs from one installation to the next: versions, last digits of floats."""

import re

_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.])|(?<![\w.])-?\d+e-\d+(?![\w.])")
_VERSION = re.compile(r"\b(dpcore(?:-[a-z-]+)?) \d+\.\d+\.\d+\w*")


def normal(text, digits=10):
    """Return a text with its versions of ours left out, and no float of more digits than that:
    libraries of floats had a part in the last ones."""

    def rounded(found):
        shown = found[0].partition("e")[0].lstrip("-0.").replace(".", "")
        return found[0] if len(shown) <= digits else f"{float(found[0]):.{digits}g}"

    return _NUMBER.sub(rounded, _VERSION.sub(r"\1 VERSION", text))
