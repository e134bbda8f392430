"""Texts of files, models, ledgers and plugins cannot command a terminal, whichever command shows
them."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.cli import app
from dpcore.errors import DpcoreWarning, InvalidInputError, visible, warn_caller
from dpcore.plugin.commands import print_json
from dpcore.plugin.parts import load_registry
from dpcore_accounting.commands.printing import print_bytes

ODD = "a\x1b]0;title\x07\x9b31m\u202egpj\u200b\x7f [red]b[/red]\r\nFORGED"
"""A title for the window, a colour, letters turned round, one without a width, markup, a line."""
FILE = ODD.replace("/", "")

PLUGIN = """
from dataclasses import dataclass
from dpcore.protocols.problem import Solution
from dpcore.registry.hookspecs import hookimpl
from dpcore_stub import Stub

ODD = {odd!r}

@hookimpl
def register_optimizers(register):
    register("odd", "odd_texts:Odd", summary="Of odd texts.", reference=ODD)

@dataclass(frozen=True, kw_only=True)
class Odd(Stub):
    name = "odd"
    theorem = ODD
    departures = (ODD,)
    presets = {{"paper": {{"accountant_conversion": ODD}}}}
    preset_sources = presets

    def minimize(self, problem, session):
        return Solution(super().minimize(problem, session).w, ODD, {{}})
"""


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal, and keeps what it is sent."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="")

    def isatty(self):
        return True

    def sent(self):
        self.flush()
        return self.buffer.getvalue().decode("utf-8")


def install(folder, name, module):
    (folder / f"{name}.py").write_text(module)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dpcore]\n{name} = {name}\n")


@pytest.fixture
def terminal(stub, tmp_path, monkeypatch):
    """Run a command at a terminal in a folder of odd files, and return what that was sent."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    install(plugins, "odd_texts", PLUGIN.format(odd=ODD))
    install(plugins, "odd_failure", f"raise RuntimeError({ODD!r})")
    monkeypatch.syspath_prepend(str(plugins))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")  # rich leaves out its own styles
    load_registry.cache_clear()

    def invoke(*arguments):
        out, err = Terminal(), Terminal()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as done:
            app([str(argument) for argument in arguments])
        return done.value.code, out.sent() + err.sent()

    yield invoke
    load_registry.cache_clear()
    sys.modules.pop("odd_texts", None)


def odd_files():
    """Write rows and a schema of odd columns, levels and classes; return their names, as odd."""
    columns = {
        ODD: [0.0, 1.0, 0.5] * 4,
        f"city{ODD}": [ODD, "b", "c"] * 4,
        f"label{ODD}": [ODD, "no"] * 6,
    }
    rows, schema = f"rows{FILE}.parquet", f"schema{FILE}.toml"
    pq.write_table(pa.table(columns), rows)
    number, city, label = map(json.dumps, columns)
    levels, classes = json.dumps([ODD, "b"]), json.dumps(["no", ODD])
    text = f"""
rows = 12
[columns]
{number} = {{ kind = "numeric", lower = 0, upper = 1 }}
{city} = {{ kind = "categorical", categories = {levels} }}
{label} = {{ kind = "label", classes = {classes} }}
"""
    with open(schema, "w", encoding="utf-8") as file:
        file.write(text.replace("\x7f", r"\u007F"))
    return rows, schema


def walk():
    """Yield the arguments of a run of every command, and its exit status."""
    rows, schema = odd_files()
    model, results, ledger = f"m{FILE}.json", f"r{FILE}.parquet", f"l{FILE}.db"
    of_rows = ("--data", rows, "--schema", schema)
    number, label = ODD, f"label{ODD}"
    yield ("train", "--algo", "odd", *of_rows, "--seed", 1, "--out", model), 0
    yield ("train", "--algo", f"odd{ODD}", *of_rows), 2
    yield ("tune", "--algo", "odd", "--set", f"{ODD}=1,2", *of_rows), 2
    yield ("predict", model, "--data", rows, "--keep", f"city{ODD}"), 0
    yield ("predict", model, "--data", rows, "--keep", ODD[:5]), 2
    yield ("predict", model, "--data", f"no{FILE}"), 2
    yield ("export", model, f"g{FILE}.onnx"), 0
    compared = ("compare", "--algos", "majority", *of_rows, "--folds", 2, "--seed", 1)
    yield (*compared, "--out", results), 0
    yield (*compared, "--out", results, "--markdown"), 0
    yield (*compared, "--out", results, "--json"), 0
    yield ("plot", results), 0
    for form in ((), ("--json",), ("--markdown",)):
        yield ("list", *form), 0
    yield ("info", "odd"), 0
    yield ("info", "odd", "--json"), 0
    yield ("info", "odd_failure"), 2
    yield ("info", model), 0
    yield ("info", model, "--json"), 0
    yield ("check", f"odd_texts:{ODD}"), 2
    yield ("audit", "--again", f"a{FILE}.json"), 2
    yield ("account", "--relation", ODD), 2
    yield ("explain", "--epsilon", 1, "--relation", ODD), 2
    for form in ("html", "text", "json"):
        yield ("report", model, "--format", form), 0
    yield ("summary", model), 0
    yield ("summary", model, "--json"), 0
    yield ("plan", "--features", 3, "--loss", ODD), 2
    yield ("schema", rows, "--target", label), 0
    yield ("schema", rows, "--target", label, "--from-data"), 0
    yield ("schema", rows, "--target", number + "?"), 2
    yield ("schema", "--check", rows, schema), 0
    yield ("convert", rows, f"s{FILE}.dpcore", "--schema", schema), 0
    yield ("ledger", "init", ledger, "--epsilon", 5), 0
    yield ("train", "--algo", "odd", *of_rows, "--ledger", ledger, "--out", model), 0
    for form in ((), ("--json",), ("--html",)):
        yield ("ledger", "show", ledger, *form), 0
    yield ("ledger", "verify", ledger, model), 0
    yield ("ledger", "raise", ledger, "--epsilon", 1), 0
    yield ("ledger", "close", ledger, 9), 2


@pytest.mark.slow
def test_no_command_sends_odd_texts_to_a_terminal(terminal):
    walked = set()
    for arguments, status in walk():
        code, sent = terminal(*arguments)
        assert (code, arguments) == (status, arguments), sent
        obeyed = [line for line in sent.split("\n") if visible(line) != line]
        assert obeyed == [], arguments
        forged = [line for line in sent.split("\n") if line.lstrip(" |*-").startswith("FORGED")]
        # A cell of CSV and a text of HTML may have lines, as anywhere.
        assert forged == [] or arguments[0] == "predict" or "html" in str(arguments), sent
        walked.add(arguments[0])
    assert walked == {*load_registry("command").names("command")}


def test_what_a_terminal_would_obey_can_be_read():
    shown = r"a\x1b]0;title\x07\x9b31m\u202egpj\u200b\x7f [red]b[/red]\r\nFORGED"
    assert visible(ODD) == visible(shown) == shown
    plain = "Zürich, 東京\u3000, 1\xa0000, \N{SNOWMAN}, a\\b"
    assert visible(plain) == plain
    assert visible("\udc9b\u2028\u2069\t") == r"\udc9b\u2028\u2069\t"
    assert visible(3) == "3"


def test_a_warning_in_python_is_one_line():
    with pytest.warns(DpcoreWarning) as told:
        warn_caller(f"column {ODD}")
    assert str(told[0].message) == f"column {visible(ODD)}"


def test_an_error_in_python_has_lines_alone():
    error = InvalidInputError(f"column {ODD}")
    assert str(error) == "column " + "\n".join(map(visible, ODD.split("\n")))


def test_what_goes_to_a_file_keeps_its_bytes(capfdbinary):
    # A kept cell lost what looked like a colour; to a terminal it is shown, to a file written.
    print_bytes(f"{ODD}\n")
    print_bytes(b"\xff\x1b[31m\n")
    assert capfdbinary.readouterr().out == f"{ODD}\n".encode() + b"\xff\x1b[31m\n"
    print_json({ODD: [ODD]})
    written = capfdbinary.readouterr().out.decode("ascii")
    assert json.loads(written) == {ODD: [ODD]}
    assert all(visible(line) == line for line in written.splitlines())
