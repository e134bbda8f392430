"""What ``dpcore train --json`` prints: its keys with their types, and what it states of privacy."""

import json
import re
from functools import cache
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
from golden import store, tables
from golden.command import dpcore
from golden.normal_form import normal
from golden.own_step import STEP
from golden.training.pairs import covering

from dpcore import fit

COMBINATIONS = Path(__file__).with_name("combinations.json")
ALGORITHMS = {
    "dp-gd": "--epsilon 8",
    "dp-agd": "--epsilon 8",
    "sgd-ma": "--epsilon 8 --set steps=40",
    "objpert": "--epsilon 8 --l2 .1",
    "output-nr": "--l2 .1 --target-excess-risk .3 --epsilon-max 40",
    "a-ddp": "--epsilon 8 --set most_rounds=5 --set rows_per_user=60",
}
LOSSES = {
    "logistic": "hired",
    "hinge-svm": "hired",
    "huber-svm": "hired",
    "softmax": "ward",
    "ridge": "income",
    "quantile": "income",
}
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
STEPS = {
    "none": "",
    "private bounds": "--private-bounds",
    "balanced": "--class-weight balanced",
    "evaluation": "--test-fraction .3 --evaluate-share .2",
    "intervals": "--intervals-share .4 --intervals-anyway",
    "units": "",
    "part": "--part city=Bern",
    "one-vs-rest": "--multiclass ovr",
}
SOURCES = ("CSV", "Parquet", "folder", "store", "standard input")
_TUNE = "dpcore tune --data rows.csv --schema hired-public.toml --epsilon 8"
_TUNE += " --candidates l2=.01,.1 --algo"
_TRAIN = "dpcore train --data rows.csv --schema hired-public.toml --delta 1e-6"
OTHERS = {
    "rho": f"{_TRAIN} --algo dp-gd --rho .3",
    "mu": f"{_TRAIN} --algo dp-agd --mu .8",
    "pure": f"{_TRAIN.replace('1e-6', '0')} --algo privgene --accountant pure --epsilon 2",
    "seed": f"{_TRAIN} --algo dp-gd --epsilon 2 --seed 7",
    "not private": f"{_TRAIN} --algo nonprivate",
    "as published": f"{_TRAIN} --algo dp-agd --epsilon 2 --as-published",
    "rows left out": f"{_TRAIN.replace('rows.csv', 'bad.csv')} --algo dp-gd --epsilon 2"
    " --bad-rows drop",
    "evaluation by its epsilon": f"{_TRAIN} --algo dp-gd --epsilon 4 --test-fraction .3"
    " --evaluate-epsilon 1",
    "users of a file": f"{_TRAIN} --algo a-ddp --users users.csv --set most_rounds=5",
    "users, secure aggregation": f"{_TRAIN} --algo a-ddp --users users.csv --set most_rounds=5"
    " --trust secure-aggregation",
    "tune": f"{_TUNE} dp-gd",
    "tune by a list": f"{_TUNE} dp-gd --search list",
    "tune, poisson": f"{_TUNE} privgene --law poisson --accountant pure",
    "tune, units": f"{_TUNE} dp-gd --unit person --rows-per-unit 2",
}
"""Commands of what no pair has."""
FACTORS = [[*ALGORITHMS], [*LOSSES], [*RELATIONS], [*STEPS], [*SOURCES]]


def combinations():
    """Return the combinations whose reports are kept, and those that show which pairs never go
    together, as they were found once."""
    found = json.loads(COMBINATIONS.read_text())
    never = [(tuple(map(tuple, pair)), tuple(row)) for pair, row in found["never"]]
    return [*map(tuple, found["fitted"])], never


def find_combinations():
    """Find them anew, which takes a minute, and keep them."""
    _write()
    rows, never = covering(FACTORS, cache(lambda row: _run(row).status == 0))
    COMBINATIONS.write_text(store.as_text({"fitted": rows, "never": [*never.items()]}) + "\n")


def records():
    """Return the shape and the statement of every report, or the words of a refusal."""
    fitted, never = combinations()
    _write()
    rows = dict.fromkeys([*fitted, *(row for _, row in never)])
    found = _without_the_common({", ".join(row): _told(_run(row)) for row in rows})
    return found | {name: _of_other(line) for name, line in OTHERS.items()} | _of_own_step()


def _of_other(line):
    """Return the statement of a command, and of a search the types, which no pair has."""
    told = _told(dpcore(f"{line} --json --quiet"))
    if line.startswith("dpcore train"):
        del told["types"]
    return told


def _of_own_step():
    asked = {"schema": "hired-public.toml", "algo": "dp-gd", "epsilon": 2.0}
    model = fit("rows.csv", also=[STEP], **asked)
    return {"a step of somebody's own": {"states": _stated(model.privacy)}}


def _write():
    """Write the table for each label and schema, in every form."""
    for label in tables.LABELS:
        for kind, text in _schemas(label).items():
            Path(f"{label}-{kind}.toml").write_text(text)
    Path("rows.csv").write_text(tables.csv())
    Path("bad.csv").write_text(f"{tables.csv()}p1,old,0,Bern,no,a,5\n")
    users = (f"u{number},{2 + 2 * (number % 2)},1e-8,20\n" for number in range(12))
    Path("users.csv").write_text(f"user,epsilon,delta,rows\n{''.join(users)}")
    table = pyarrow.csv.read_csv("rows.csv")
    pq.write_table(table, "rows.parquet")
    Path("folder").mkdir()
    pq.write_table(table[:100], "folder/a.parquet")
    pq.write_table(table[100:], "folder/b.parquet")
    for label in tables.LABELS:
        line = f"dpcore convert rows.csv {label}.dpcore --schema {label}-public.toml --quiet"
        assert dpcore(line).status == 0


def _schemas(label):
    return {
        "public": tables.schema(label),
        "private": tables.schema(label, bounds=False),
        "units": tables.schema(label, unit=True),
    }


def _run(row):
    algo, loss, relation, step, source = row
    label = "ward" if step == "one-vs-rest" else LOSSES[loss]
    kind = {"private bounds": "private", "units": "units"}.get(step, "public")
    data = {"CSV": "rows.csv", "Parquet": "rows.parquet", "folder": "folder"}
    data |= {"store": f"{label}.dpcore", "standard input": "-"}
    line = f"dpcore train --algo {algo} --loss {loss} --relation {relation} {ALGORITHMS[algo]} "
    line += f"{STEPS[step]} --data {data[source]} --json --quiet"
    if source != "store" or kind != "public":
        line += f" --schema {label}-{kind}.toml"
    return dpcore(line, tables.csv().encode() if source == "standard input" else b"")


_STATED = ("private", "why_not_private", "sentence", "epsilon", "delta", "rho", "mu",
           "neighboring_relation", "accountant", "conversion", "budget", "unit", "units", "users",
           "private_bounds", "balanced", "evaluation", "intervals", "part", "steps", "fits",
           "most_rows", "n0", "capacity", "typed_by", "unit_of_protection",
           "parts_not_from_dpcore")  # fmt: skip
_PERHAPS = ("verdict", "warning", "rare_class")
_LOSS_OF_OUTCOME = re.compile(r"(?<=a privacy loss of at most )[\d.]+")


def _told(said):
    if said.status:
        return normal(f"exit {said.status}\n{said.err.strip()}").splitlines()
    report = json.loads(normal(said.out))
    report.pop("code", None)  # which a checkout has, and an installation has not
    return {"types": _shape(report), "states": _stated(report)}


def _stated(report):
    stated = {key: report[key] for key in _STATED if key in report}
    sentence = _LOSS_OF_OUTCOME.sub("NUMBER", report["sentence"])
    return stated | {"sentence": sentence.partition(" Code: ")[0]}


def _shape(value):
    """Return a value with the names of types in the place of values and texts. By chance a value
    may not be known, a class be rare, and a word of warning be there."""
    if isinstance(value, dict) and value.keys() == {"value", "low", "high"}:
        return "a value between two others"
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items() if key not in _PERHAPS}
    if isinstance(value, list):
        return [_shape(item) for item in value[:1]]
    return "nothing" if value is None else type(value).__name__


def _without_the_common(found):
    """Return the records with what all reports have alike told once."""
    reports = [told for told in found.values() if isinstance(told, dict)]
    common = {}
    for part in ("types", "states"):
        first, *others = (report[part] for report in reports)
        alike = [k for k in first if all(k in other and other[k] == first[k] for other in others)]
        common[part] = {key: first[key] for key in alike}
        for report in reports:
            report[part] = {k: v for k, v in report[part].items() if k not in alike}
    return {"every report": common, **found}
