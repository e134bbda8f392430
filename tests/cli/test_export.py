"""``dpcore export``: a model file as a graph, or a refusal that leaves nothing behind."""

from pathlib import Path

import numpy as np
import onnxruntime


def test_a_model_is_written_as_a_graph(run, train, folder):
    assert train("--out", "m.json", "--seed", "1", "--quiet").exit_code == 0
    done = run("export", "m.json", "m.onnx")
    assert done.exit_code == 0 and done.stdout == "Graph: m.onnx\n"
    assert done.stderr == "dpcore: the model is not private: the noise came from a seed\n"
    first = Path("m.onnx").read_bytes()
    assert run("export", "m.json", "m.onnx").exit_code == 0 and Path("m.onnx").read_bytes() == first
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    rows = [line.split(",")[:2] for line in (folder / "rows.csv").read_text().splitlines()[1:]]
    age = np.array([[float(age)] for age, _ in rows])
    city = np.array([[city] for _, city in rows], dtype=object)
    odds, labels = session.run(["log_odds", "label"], {"age": age, "city": city})
    lines = run("predict", "m.json", "--data", "rows.csv").stdout.splitlines()[1:]
    said = [f"{z!r},{label}" for z, label in zip(odds[:, 0].tolist(), labels[:, 0], strict=True)]
    assert said == lines


def test_what_cannot_be_written_is_refused_with_what_fits(run, train, folder):
    assert train("--out", "m.json", "--quiet").exit_code == 0
    told = {
        ("m.json", "m.json"): "is the file of the model",
        ("m.json", "no/m.onnx"): "Cannot write 'no/m.onnx'",
        ("m.json", "m.pb"): "Expected the file 'm.pb' as .onnx.",
        ("rows.csv", "m.onnx"): "is not a whole JSON file",
    }
    text = (folder / "schema.toml").read_text()
    kind = '"categorical", categories = ["Bern", "Basel"]'
    (folder / "schema.toml").write_text(text.replace(kind, '"hashed", buckets = 8'))
    assert train("--out", "hashed.json", "--quiet").exit_code == 0
    told["hashed.json", "m.onnx"] = "Column 'city' is of kind hashed, which ONNX has no operators"
    for arguments, message in told.items():
        done = run("export", *arguments)
        assert done.exit_code == 2 and message in done.stderr and done.stdout == ""
        assert done.stderr.count("\n") == 1 and not Path("m.onnx").exists()


def test_a_hashed_column_is_written_by_a_table_of_public_values(run, train, folder):
    text = (folder / "schema.toml").read_text()
    kind = '"categorical", categories = ["Bern", "Basel"]'
    (folder / "schema.toml").write_text(text.replace(kind, '"hashed", buckets = 8'))
    assert train("--out", "hashed.json", "--quiet").exit_code == 0
    (folder / "cities.txt").write_text("Bern\nBasel\n")
    done = run("export", "hashed.json", "m.onnx", "--values", "city=cities.txt")
    assert done.exit_code == 0, done.stderr
    assert b"Basel" in Path("m.onnx").read_bytes()
    for values, told in (("city", "--values COLUMN=FILE"), ("town=cities.txt", "no hashed column")):
        refused = run("export", "hashed.json", "n.onnx", "--values", values)
        assert refused.exit_code == 2 and told in refused.stderr and not Path("n.onnx").exists()
    own = run("export", "hashed.json", "cities.txt.onnx", "--values", "city=cities.txt.onnx")
    assert own.exit_code == 2 and not Path("cities.txt.onnx").exists()
