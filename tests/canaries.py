"""Cells that no error may repeat, and the search for them through all that an error carries."""

import decimal
import traceback

WORD = "Ypsilanti-Canary"
NUMBER = 471_147_114_711_47
TOLD = (WORD, str(NUMBER), f"{NUMBER:,}", f"{float(NUMBER):g}", f"{float(NUMBER):.6e}")
"""A cell of text, one of a number, and how the number might be written."""


def chain(error):
    """Yield an error and all that led to it, hidden from tracebacks or not."""
    seen, left = set(), [error]
    while left:
        one = left.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [one.__context__, one.__cause__, *getattr(one, "exceptions", ())]


def carried(error):
    """Return as one text what a traceback prints of an error, and what a program finds on it."""
    texts = traceback.format_exception(error)
    for one in chain(error):
        texts += [repr(one), repr(one.args), repr(vars(one)), *getattr(one, "__notes__", ())]
    return "\n".join(map(str, texts))


def leaks_of(error):
    """Return which canaries an error carries, and the library's errors in its chain."""
    text = carried(error)
    found = [word for word in TOLD if word in text]
    return found + [type(one).__name__ for one in chain(error) if one is not error]


def raised_by(act):
    """Return the error that ends an act, None where it ends well."""
    try:
        act()
    except Exception as error:
        return error
    return None


ODD_CELLS = {
    "word": WORD,
    "number": NUMBER,
    "decimal": decimal.Decimal(NUMBER),
    "bytes": WORD.encode() + b"\xff",
    "surrogate": WORD + "\udcff",
    "list": [WORD],
    "dict": {"word": WORD, "number": NUMBER},
    "huge": 10**400 + NUMBER,
}
"""Cells of Python objects that a column of numbers, labels or categories does not expect."""
