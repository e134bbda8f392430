"""The texts that a schema lists for a column, and which other cells mean one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpcore.data.schema.features.transforms import Lookup
from dpcore.data.schema.values import is_boolean, is_whole

__all__ = ["Vocabulary"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Texts with a position each, and the words that mean that there is no value.

    A number is one of them only where every listed text is the canonical text of a whole number
    below 2^53 in size, so that 3, 3.0 and "3" are one: what was "02139" or a code of 17 digits
    before another program made a number of it cannot be told from the number. A truth value is one
    only where every listed text is true or false, in any case. ``code`` : by text; ``folded`` : by
    the text of a truth value in lower case.
    """

    texts: tuple[str, ...]
    missing: tuple[str, ...]
    takes_numbers: bool = field(init=False)
    takes_booleans: bool = field(init=False)
    code: Mapping[str, int] = field(init=False, repr=False)
    folded: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        texts = self.texts
        code = dict.fromkeys(self.missing, Lookup.ABSENT)
        code.update((text, i) for i, text in enumerate(texts))
        takes_booleans = all(map(is_boolean, texts))
        folded = {}
        if takes_booleans:
            # Software writes truth values as true, True or TRUE.
            folded = {text.lower(): i for i, text in reversed(list(enumerate(texts)))}
        object.__setattr__(self, "takes_numbers", all(map(is_whole, texts)))
        object.__setattr__(self, "takes_booleans", takes_booleans)
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "folded", folded)

    def of_text(self, word: str) -> int:
        """Return the code of a text."""
        word = word.strip()
        return self.code.get(word, self.folded.get(word.lower(), Lookup.UNKNOWN))

    def of_truth(self, value: bool) -> int:
        """Return the code of a truth value."""
        return self.folded.get("true" if value else "false", Lookup.UNKNOWN)

    def of_numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the codes, int32, of float64 values, among which NaN means that there is none."""
        if not self.takes_numbers:
            return np.where(np.isnan(values), Lookup.ABSENT, Lookup.UNKNOWN).astype(np.int32)
        known = {int(text): code for text, code in self.code.items() if is_whole(text)}
        numbers = np.array(sorted(known), dtype=np.float64)
        codes = np.array([known[int(number)] for number in numbers], dtype=np.int32)
        at = np.minimum(np.searchsorted(numbers, values), len(numbers) - 1)
        found = np.where(numbers[at] == values, codes[at], np.int32(Lookup.UNKNOWN))
        return np.where(np.isnan(values), np.int32(Lookup.ABSENT), found)
