"""The differences between two states of records, as text for whoever reviews them."""

import difflib

from golden.store import as_text

_MOST_LINES = 60
"""Of one difference; a whole help text is longer."""


def lines_of(value):
    """Return a record as lines: a text as it is, all else as JSON."""
    if isinstance(value, str):
        return value.splitlines() or [""]
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return value
    return as_text(value).splitlines()


def differences(kind, known, found):
    """Return the lines that say which records differ, and how; none where all are alike.

    Records that differ alike are told once, with all their names.
    """
    alike, shown = {}, {}
    for name in {**known, **found}:
        if name in known and name in found and known[name] == found[name]:
            continue
        before, after = (lines_of(state[name]) if name in state else [] for state in (known, found))
        hunks = [*difflib.unified_diff(before, after, lineterm="", n=1)][2:]
        what = "changed" if name in known and name in found else "new" if name in found else "gone"
        changed = (what, *(line for line in hunks if not line.startswith(("@@", " "))))
        alike.setdefault(changed, []).append(name)
        shown.setdefault(changed, hunks)
    if not alike:
        return []
    counts = {what: 0 for what in ("changed", "new", "gone")}
    for (what, *_), names in alike.items():
        counts[what] += len(names)
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    report = [f"{kind}: {told}, of {len(known)} records"]
    for changed, names in alike.items():
        report += [f"  {changed[0]}: {name}" for name in names]
        report += [f"    {line}" for line in _cut(shown[changed])]
    return report


def _cut(lines):
    left_out = len(lines) - _MOST_LINES
    return lines if left_out <= 0 else [*lines[:_MOST_LINES], f"... {left_out} lines more"]
