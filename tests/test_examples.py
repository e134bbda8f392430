"""Examples run as they are written: those of docstrings, and the Python of the documents."""

import doctest
import importlib
import inspect
import linecache
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore_tables.store import convert

# The other tests let earlier keywords of a fit pass; no example shows one.
pytestmark = pytest.mark.filterwarnings("error::FutureWarning")

ROOT = Path(__file__).parents[1]
WITH_EXAMPLES = sorted(
    path
    for folder in (ROOT, *sorted(ROOT.glob("plugins/*/")))
    for path in folder.glob("dpcore*/**/*.py")
    if ">>> " in path.read_text()
)
WITH_PYTHON = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "plugins/*/*.md")
    for path in ROOT.glob(pattern)
    if "```python\n" in path.read_text()
)
PAGES = ("dpcore", "dpcore.plugin", "dpcore.plugin.parts", "dpcore_lab.checks", "dpcore_sklearn")
REASONS = {
    "a TOML file, which the head of its module and docs/data.md show": "Schema",
    "an alias, or a base: those that are derived from it are shown": """
        AdditiveAccountant ClippedGradients DpEvent NoiseSource PureNoise ReservingAccountant
        ScaledNoise Unshareable""",
    "for a package that has a stub, such as dpcore_tables.readers": "lazy_exports",
    "pluggy's own; docs/plugins.md has a plugin that runs": "hookimpl",
    "its docstring, or docs/events.md, says what it states": """
        DominatingPairDpEvent ExPostDpEvent ExponentialMechanismDpEvent NonPrivateDpEvent
        PoissonSampledDpEvent RandomizedSensitivityGaussian RenyiDpEvent
        SampledWithoutReplacementDpEvent SkellamDpEvent""",
    "holds rows, or acts on them, so that an example has to make a table first": """
        Dataset RoundedLine LocalEngine Model OneProcess Table TableSession
        clip_coefficients""",
    "of what answers an optimizer in place of a session, as dpcore-a-ddp shows it": """
        Account ChargeLog""",
    "digits of noise, for a new distribution alone": """
        DigitStream GridScale""",
    "of the registry and the session: a line of docs/plugins.md or docs/interactive.md": """
        Sensitivity
        PrivacyStatement Registry Units optimizer_facts sealed""",
    "a part of the admission test, which takes seconds: docs/plugins.md shows it": """
        Outcome RecordingSession ReplaySession Tested check_accountant check_bad_parameters_refused
        check_dataset check_declarations check_engine check_huge_epsilon_limit check_interactive
        check_loss check_mechanism check_mechanisms_and_queries check_never_overspends
        check_outputs_released check_query check_repeatable_when_seeded check_sampler
        check_sensitivity_on_neighbours check_tiny_budget_refused loss_of make_rows not_isolated
        parametrize_with_checks require_assertions run_apart run_checks""",
}
"""Why names have no example of their own."""
WITHOUT = {name for names in REASONS.values() for name in names.split()}
SCHEMA = """
[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
income = { kind = "numeric", lower = 0, upper = 1e6 }
hired = { kind = "label", classes = ["no", "yes"] }
"""


LONG = {"docs/hooks.md", "docs/kernels.md", "docs/plugins.md", "plugins/frank-wolfe/README.md"}
"""Pages whose Python takes a second and more: their tests are slow."""


def relative(path):
    return str(path.relative_to(ROOT))


def case(page):
    marks = [pytest.mark.slow] if relative(page) in LONG else []
    return pytest.param(page, marks=marks, id=relative(page))


def module_of(path):
    """Return the module of a source file, by its name."""
    top = next(parent for parent in path.parents if not (parent / "__init__.py").exists())
    return importlib.import_module(".".join(path.relative_to(top).with_suffix("").parts))


def test_examples_are_found():
    assert "dpcore/fitting/api.py" in map(relative, WITH_EXAMPLES)
    assert {"README.md", "docs/plugins.md"} <= set(map(relative, WITH_PYTHON))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=relative)
def test_examples_of_docstrings(path):
    failed, attempted = doctest.testmod(module_of(path))
    assert attempted and not failed


def is_to_be_shown(thing):
    """Whether it is a function or class of use by itself: no error, and no protocol."""
    if not (inspect.isclass(thing) or callable(thing)):
        return False
    is_error = inspect.isclass(thing) and issubclass(thing, Exception)
    return not (is_error or getattr(thing, "_is_protocol", False))


def without_example(page, named):
    """Return the names of a page that nothing shows."""
    found = importlib.import_module(page)
    things = {name: getattr(found, name) for name in found.__all__}
    return [
        name
        for name, thing in sorted(things.items())
        if is_to_be_shown(thing) and name not in named and ">>> " not in (thing.__doc__ or "")
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_public_name_has_an_example(page):
    assert without_example(page, WITHOUT) == []


def test_a_name_without_an_example_is_found():
    assert without_example("dpcore", set()) == ["Schema"]


def test_reasons_are_of_names_that_have_no_example():
    assert {name for page in PAGES for name in without_example(page, set())} == WITHOUT


def test_an_example_that_prints_something_else_fails():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner().run(wrong, out=lambda text: None).failed == 1


def test_an_example_with_an_earlier_keyword_fails():
    text = ">>> from dpcore import fit\n>>> model = fit('census-sim', epsilon=1.0, trust='none')\n"
    earlier, told = doctest.DocTestParser().get_doctest(text, {}, "earlier", None, None), []
    assert doctest.DocTestRunner().run(earlier, out=told.append).failed == 1
    assert "FutureWarning: Keywords of this fit have a new form" in "".join(told)


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the documents take as given: rows as arrays, frame, file and store, and a package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(0, 90, 300), rng.uniform(0, 1e6, 300)])
    y = np.where(X[:, 0] > 40, "yes", "no")
    frame = pd.DataFrame({"age": X[:, 0], "income": X[:, 1], "hired": y})
    Path("schema.toml").write_text(SCHEMA)
    frame.to_csv("big.csv", index=False)
    convert("big.csv", "big.dpcore", Schema.read("schema.toml"))
    yield {"X": X, "y": y, "frame": frame, "X_new": frame}
    for name in [name for name in sys.modules if name.split(".")[0] == "my_plugin"]:
        del sys.modules[name]


@pytest.mark.parametrize("page", [case(page) for page in WITH_PYTHON])
def test_python_of_the_documents_runs(page, names):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for block in blocks:
        if named := re.match(r"# (\S+\.py)\n", block):
            path = Path(named[1])
            path.parent.mkdir(exist_ok=True)
            path.write_text(block)
    for number, block in enumerate(blocks):
        name = f"{relative(page)}:{number}"
        linecache.cache[name] = (len(block), None, block.splitlines(True), name)
        exec(compile(block, name, "exec"), names)


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("renyi_filters", ["of 40000", "without the first row are the same: True"]),
        ("dp_ftrl", ["replaced: batches that move: 1", "added: batches that move: 8"]),
    ],
)
def test_scripts_of_research_print_what_their_pages_say(script, printed, capsys):
    runpy.run_path(str(ROOT / f"docs/research/{script}.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert [text for text in printed if text not in shown] == []


def test_a_rows_budget_binds_and_a_row_more_would_pass_it_without():
    filtered = runpy.run_path(str(ROOT / "docs/research/renyi_filters.py"))
    rows, points = np.arange(640, 760), [500] * 20
    parts = filtered["contributions"](rows, points)
    free = np.clip(rows - 500, -filtered["CLIP"], filtered["CLIP"])
    assert ((parts**2).sum(axis=0) == filtered["BUDGET"]).all() and (20 * free**2 > 40_000).all()
