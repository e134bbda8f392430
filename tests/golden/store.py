"""Records as a file: JSON of short lines, in which what several records have is told once."""

import hashlib
import json
from collections import Counter

_WIDTH = 100
_LONG = 60
"""Characters from which on a part that is there twice is told apart."""


def read(path):
    """Return the records of a file, none where there is no file."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text("utf-8"))
    return _unpacked(content["records"], content["shared"])


def write(path, records):
    """Write the records."""
    counts, shared = Counter(_parts(records)), {}
    content = {"records": _packed(records, counts, shared), "shared": shared}
    path.write_text(f"{as_text(content)}\n", "utf-8")
    assert read(path) == records


def _line(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _inner(value):
    return [*value.values()] if isinstance(value, dict) else value


def _parts(value):
    """Yield each text, list and mapping of a value, as a line."""
    if isinstance(value, str):
        yield _line(value)
    elif isinstance(value, (dict, list)):
        for part in _inner(value):
            yield from _parts(part)
        yield _line(value)


def _packed(value, counts, shared):
    """Return a value with keys of ``shared`` for its parts that are long and there twice."""
    line, packed = _line(value), value
    if isinstance(value, dict):
        packed = {key: _packed(part, counts, shared) for key, part in value.items()}
    elif isinstance(value, list):
        packed = [_packed(part, counts, shared) for part in value]
    if len(line) < _LONG or counts[line] == 1:
        return packed
    key = f"~{hashlib.sha256(line.encode()).hexdigest()[:8]}"
    shared[key] = packed
    return key


def _unpacked(value, shared):
    if isinstance(value, str):
        return _unpacked(shared[value], shared) if value in shared else value
    if isinstance(value, dict):
        return {key: _unpacked(part, shared) for key, part in value.items()}
    return [_unpacked(part, shared) for part in value] if isinstance(value, list) else value


def as_text(value, before=""):
    """Return JSON in which what fits into a line has one."""
    line = _line(value)
    if len(before) + len(line) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inner = f"{before} "
    if isinstance(value, list):
        items = [f"{inner}{as_text(item, inner)}" for item in value]
        return "[\n" + ",\n".join(items) + f"\n{before}]"
    pairs = [f"{inner}{_line(key)}: {as_text(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(pairs) + f"\n{before}}}"
