"""Files that cannot be, for commands that refuse them."""

from golden import tables

_GOOD = tables.csv().splitlines()
_SCHEMA = tables.schema()


def _with(line, before=3):
    return "\n".join([*_GOOD[:before], line, *_GOOD[before:], ""]).encode()


def _schema(old, new):
    assert old in _SCHEMA, old
    return _SCHEMA.replace(old, new).encode()


_CITY = 'categories = ["Bern", "Basel"]'
_LABEL = 'kind = "label", classes = ["no", "yes"]'
BROKEN = {
    # tables
    "empty.csv": b"",
    "short-line.csv": _with("p001,50,0"),
    "word.csv": _with("p001,old,0,Bern,no,a,5"),
    "blank.csv": _with("p001,,0,Bern,no,a,5"),
    "class.csv": _with("p001,50,0,Bern,maybe,a,5"),
    "latin.csv": _with("p001,50,0,Bern,no,a,5").replace(b"Bern", b"B\xe9rn", 1),
    "quote.csv": _with('p001,50,0,"Bern,no,a,5'),
    "twice.csv": "\n".join([_GOOD[0].replace("height", "age"), *_GOOD[1:], ""]).encode(),
    "other.csv": b"weight,hired\n1,no\n2,yes\n",
    "semicolons.csv": "\n".join(_GOOD).replace(",", ";").encode(),
    "rows.txt.gz": b"not gzip",
    "rows.parquet": b"PAR1 and no more",
    "rows.svm": b"+1 1:0.5 2:x\n",
    "old.dpcore": b"dpcore store",
    "rows.xls": b"rows",
    # users
    "nobody.csv": b"user,epsilon,delta\n",
    "users-twice.csv": b"user,epsilon,delta\nann,1,1e-8\nann,1,1e-8\n",
    "users-epsilon.csv": b"user,epsilon,delta\nann,0,1e-8\n",
    "users-few.csv": b"user,epsilon,delta,rows\nann,1,1e-8,3\n",
    # schemas
    "no-label.toml": _schema(_LABEL, 'kind = "drop"'),
    "kind.toml": _schema('kind = "numeric", lower = 0', 'kind = "number", lower = 0'),
    "key.toml": _schema("lower = 0", "least = 0"),
    "bounds.toml": _schema("lower = 0, upper = 100", "lower = 9, upper = 1"),
    "open.toml": _schema(", lower = 0, upper = 100", ""),
    "log.toml": _schema("lower = 0, upper = 100", 'lower = 0, upper = 100, scale = "log"'),
    "no-categories.toml": _schema(_CITY, "categories = []"),
    "twice.toml": _schema(_CITY, 'categories = ["Bern", "Bern"]'),
    "one-class.toml": _schema('["no", "yes"]', '["no"]'),
    "top.toml": _schema("rows = 240", "row = 240"),
    "cross.toml": _SCHEMA.encode() + b'[[crosses]]\ncolumns = ["city", "age"]\n',
    "norm.toml": _schema("rows = 240", "row_norm = 0"),
    "date.toml": _schema('"numeric", lower = 0, upper = 100', '"date"'),
    # models
    "half.json": b'{"format": "dpcore-model", ',
    "other.json": b'{"format": "a model of others"}',
    "newer.json": b'{"format": "dpcore-model", "format_version": 99}',
    "altered.json": b'{"format": "dpcore-model", "format_version": 1, "checksum": "sha256:0"}',
    # others
    "no.ledger": b"no ledger",
    "results.parquet": b"PAR1",
}
"""Bytes by the name of a file."""
