"""What the commands say of model files that states of the project wrote, each in its time.

The files stay as they were written. ``earliest`` is of the first state with ``dpcore train``, the
others that begin with ``first`` of the states that brought what they have. Scores of the first
three or four rows are those that the state gave them that wrote the file. What a model file has
anew gets a file here, written by ``dpcore train --out``, and every later state reads it.
"""

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
from golden.command import dpcore, outcome
from golden.normal_form import normal
from golden.own_step import STEP

from dpcore import load_model

OF_SOMEBODY = STEP
"""A section says where the package of its step is not installed: here its folder is known."""
FILES = sorted((Path(__file__).parent / "files").glob("*.json"))
ROWS = """person,age,wage,height,size,grade,member,day,street,city
p1,20,10,-0.5,0,low,yes,2020-02-29,a road,Bern
p2,85,2500.5,0.25,2,mid,no,2022-07-14,b road,Genf
p3,33.3,9999,1,3,high,,2024-12-31,c road,Basel
p4,-7,0,7,4,,yes,2019-01-01,,Zug
p5,,1,0,1,low,no,2023-03-03,a road,Bern
"""
UNNAMED = """1 0 0 0 0 0
0.5 0.5 0 0.25 0 1
0 0 0 0 0 0
"""


def records():
    """Return what each command says, by file and command."""
    found = {}
    for file in FILES:
        content = json.loads(file.read_text())
        rows = Path("rows.txt" if "width" in content["schema"] else "rows.csv")
        rows.write_text(_rows(content["schema"]))
        Path("model.json").write_bytes(file.read_bytes())
        for command, said in _said(content, rows.name).items():
            found[f"{file.stem}: {command}"] = said
    return found


def _rows(schema):
    """Return the rows in the columns that a model takes."""
    if "width" in schema:
        return UNNAMED
    named = {column["name"] for column in schema["columns"]} | {schema.get("unit")}
    names, *rows = (line.split(",") for line in ROWS.splitlines())
    kept = [place for place, name in enumerate(names) if name in named]
    return "".join(",".join(row[place] for place in kept) + "\n" for row in (names, *rows))


def _said(content, rows):
    def lines(command):
        return [*map(partial(_without_sentence, content), _lines(command))]

    return {
        "info": lines("dpcore info model.json"),
        "info --json": outcome(lambda: _facts(content)),
        "summary": lines("dpcore summary model.json"),
        "report --format json": outcome(lambda: _report(content)),
        "predict": lines(f"dpcore predict model.json --data {rows}"),
        "predict --proba --threshold": lines(
            f"dpcore predict model.json --data {rows} --proba --threshold .2 --quiet"
        ),
        "load_model": (loaded := outcome(lambda: _loaded(rows))),
        "export": outcome(lambda: _graph(loaded)),
    }


def _without_sentence(content, text):
    return text.replace(content["privacy"]["sentence"], "SENTENCE")


def _lines(command):
    """Return what a command says, line by line, or with which error it ends."""
    said = outcome(lambda: dpcore(command))
    if isinstance(said, str):
        return [said]
    lines = [line.rstrip() for line in normal(said.out).splitlines() if line.strip(" ─")]
    return [*lines, *said.err.splitlines(), *([f"exit {said.status}"] if said.status else [])]


def _json(command):
    said = dpcore(command)
    assert (said.status, said.err) == (0, ""), said
    return json.loads(normal(said.out))


def _facts(content):
    """Return the facts of a file, without those that are as they are written in it."""
    told = _json("dpcore info model.json --json")
    written = json.loads(normal(json.dumps(content)))
    same = [key for key in told if key in written and told[key] == written[key]]
    return {"as in the file": same, **{key: told[key] for key in told if key not in same}}


def _report(content):
    """Return a report, its sections as lines, its values, which these say, as one word, without
    what is as it is written in the file."""
    report = _json("dpcore report model.json --format json")
    told = {"keys": {key: type(value).__name__ for key, value in report.items()}}
    told["keys of a section"] = [*report["sections"][0]]
    digest = hashlib.sha256(Path("model.json").read_bytes()).hexdigest()
    for section in report.pop("sections"):
        cells = (*section["items"], section["heads"], *section["rows"])
        lines = [*section["lines"], *(" | ".join(filter(None, row)) for row in cells if row)]
        lines = [_without_sentence(content, line).replace(digest, "DIGEST") for line in lines]
        told[section["title"]] = lines
    report["figures"] = hashlib.sha256(json.dumps(report["figures"]).encode()).hexdigest()[:16]
    if report["statement"] == json.loads(normal(json.dumps(content["privacy"]))):
        report["statement"] = "as in the file"
    return told | report


def _graph(loaded):
    """Return the graph's inputs and outputs, and what they are of the rows, without what is as the
    model itself says it."""
    said = dpcore("dpcore export model.json graph.onnx")
    if said.status:
        return said.err.strip()
    import onnxruntime

    session = onnxruntime.InferenceSession("graph.onnx")
    cells = {cell.name: _cells(cell.name, cell.type) for cell in session.get_inputs()}
    outputs = [output.name for output in session.get_outputs()]
    told = {"inputs": {cell.name: cell.type for cell in session.get_inputs()}}
    for name, array in zip(outputs, session.run(outputs, cells), strict=True):
        scores = _plain(np.squeeze(array).tolist())
        alike = [what for what, value in loaded.items() if value == scores]
        told[name] = f"{alike[0]} of load_model" if alike else scores
    return json.loads(normal(json.dumps(told)))


def _cells(name, kind):
    first, *rows = (line.split(",") for line in ROWS.splitlines())
    texts = [row[first.index(name)] for row in rows]
    if kind == "tensor(string)":
        return np.array(texts, dtype=object)[:, np.newaxis]
    if name == "day":
        days = np.array([text or "NaT" for text in texts], "datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(float))[:, np.newaxis]
    return np.array([float(text or "nan") for text in texts])[:, np.newaxis]


def _loaded(rows):
    """Return what the loaded model says of the rows: margins to the bit, since they are exact."""
    model = load_model("model.json")
    margins = model.decision_function(rows)
    model.save("again.json")
    again = load_model("again.json")
    assert np.array_equal(again.decision_function(rows), margins, equal_nan=True)
    assert json.loads(Path("again.json").read_text())["privacy"] == model.privacy
    told = {"margins": margins.tolist(), "labels": model.predict(rows).tolist()}
    if model.intervals is not None and "why_not" not in model.intervals:
        ends = model.predict_interval(rows).tolist()
        told["intervals"] = json.loads(normal(json.dumps(ends), digits=6))
    return _plain(told)


def _plain(value):
    """Return lists with ``None`` for what is not a number, which JSON has no word for."""
    return json.loads(json.dumps(value).replace("NaN", "null"))
