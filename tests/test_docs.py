"""The documents say what is true of the project."""

import dataclasses
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dpcore.plugin import ClippedGradientSum, NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic, load_registry, optimizer_facts
from dpcore.registry import kinds
from dpcore_lab.checks import (
    check_interactive,
    check_loss,
    check_mechanism,
    make_rows,
    run_checks,
)
from dpcore_lab.compare.figure import _NOT_PRIVATE
from dpcore_lab.made_tables.tables import make_problem, neighbours

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG"))]
PAGES += sorted(DOCS.rglob("*.md"))

needs_readme = pytest.mark.skipif(not README.is_file(), reason="needs the README of a checkout")


def relative(path):
    return str(path.relative_to(ROOT))


def readme_block(mark):
    """Return the code block that follows the comment <!-- ci:mark -->, as .ci/run reads it."""
    found = re.search(rf"<!-- ci:{mark} -->\n```\w*\n(.*?)\n```", README.read_text(), re.DOTALL)
    assert found, f"README.md has no command ci:{mark}."
    return found[1]


@needs_readme
def test_the_readme_has_its_two_commands():
    assert readme_block("main").endswith("uv run --all-packages dpcore train")
    assert readme_block("test").endswith('uv run --all-packages pytest -m "not slow"')


WITHOUT_EXAMPLE = {"register_file_loaders", "register_ledgers"}
"""Hooks of which no distribution under tests/third_party has an example."""


def signature_of(kind):
    """Return what the page on hooks has for a hook: what ``register`` takes beside the four."""
    data = ", ".join(f"{name}={value!r}" for name, value in kinds.kind_of(kind).data.items())
    return f"`{data}`".replace("'", '"') if data else ""


@needs_readme
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_every_hook_is_documented_and_has_a_test(kind):
    hook = kinds.hook_of(kind)
    rows = re.findall(rf"(?m)^\| `{hook}` \| [^|]+\| ([^|]*)\|", (DOCS / "hooks.md").read_text())
    assert [row.strip() for row in rows] == [signature_of(kind)]
    tests = [path for path in Path(__file__).parent.rglob("test_*.py") if path != Path(__file__)]
    assert any(re.search(rf"\bdef {hook}\(", path.read_text()) for path in tests)


def test_every_hook_has_an_example_of_a_third_party():
    plugins = "".join(path.read_text() for path in ROOT.glob("tests/third_party/*/*/*.py"))
    shown = {
        kinds.hook_of(kind) for kind in kinds.KINDS if f"def {kinds.hook_of(kind)}(" in plugins
    }
    assert {kinds.hook_of(kind) for kind in kinds.KINDS} - shown == WITHOUT_EXAMPLE


@needs_readme
def test_the_examples_of_hooks_are_those_of_the_distribution():
    page = (DOCS / "hooks.md").read_text()
    blocks = re.findall(r"```python\n# (\S+)\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 5
    for name, block in blocks:
        source = (ROOT / "tests/third_party/dpcore-acme-tools" / name).read_text()
        assert set(block.split("\n")) <= set(source.split("\n")), name


@needs_readme
def test_scripts_that_make_the_pages_are_typed():
    # What they import was renamed once, and the site's own step alone had seen it.
    typed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
    scripts = {relative(path) for path in (*DOCS.glob("*.py"), *DOCS.glob("site/*.py"))}
    assert "docs/site/pages.py" in scripts
    assert [s for s in sorted(scripts) if not s.startswith(tuple(typed))] == []


@needs_readme
def test_no_section_of_the_page_on_hooks_is_long():
    sections = re.split(r"^(?=## )", (DOCS / "hooks.md").read_text(), flags=re.MULTILINE)
    long = [section.partition("\n")[0] for section in sections if section.count("\n") > 40]
    assert len(sections) > 4 and long == []


@needs_readme
def test_the_table_of_algorithms_is_what_list_prints():
    command = [sys.executable, "-m", "dpcore", "list", "optimizers", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    marks = r"<!-- algorithms -->\n(.*?)<!-- /algorithms -->"
    written = re.search(marks, (DOCS / "algorithms.md").read_text(), re.DOTALL)
    assert written, "docs/algorithms.md has no table between the marks."
    # Its last two columns, paper and package, are those of the packages' pages.
    rows = ("|".join(line.split("|")[:3]) + "|" for line in printed.strip().splitlines())
    assert written[1].strip() == (wanted := "\n".join(rows)), f"Put there:\n{wanted}"


@needs_readme
@pytest.mark.parametrize("option", ["--preset paper", "--as-published"])
def test_the_algorithms_that_have_it_are_named(option):
    # README once promised both of all algorithms; few have them.
    written = re.search(
        rf"`{option}` \(((?:`[a-z-]+`(?:,\s)?)+)\)", (DOCS / "algorithms.md").read_text()
    )
    assert written, f"docs/algorithms.md does not say which algorithms have {option}."
    registry, have = load_registry(), []
    for entry in registry.entries("optimizer"):
        factory = registry.load("optimizer", entry.name)
        fields = {field.name for field in dataclasses.fields(factory)}
        if (
            "paper" in optimizer_facts(factory).presets
            if "preset" in option
            else "as_published" in fields
        ):
            have.append(entry.name)
    assert re.findall("[a-z-]+", written[1]) == have


@needs_readme
def test_the_readme_is_short():
    # It had 283 lines, with the guarantee behind all that can be done.
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 140] == []


@needs_readme
def test_the_site_has_every_page():
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("plugins/*/*.md"), *ROOT.glob("bench/**/README.md")]
    assert [relative(page) for page in pages if f" {relative(page)}\n" not in nav] == []


@needs_readme
def terms_of_the_glossary():
    return re.findall(r"(?m)^\| (?!term|---)([^|]+) \|", (DOCS / "glossary.md").read_text())


def test_the_glossary_has_few_terms_and_each_is_used():
    terms = terms_of_the_glossary()
    assert terms == sorted(terms, key=lambda term: term.strip("`").lower())
    assert 10 < len(terms) == len({*terms}) <= 25
    others = " ".join(page.read_text() for page in PAGES if page.name != "glossary.md").lower()
    assert [term for term in terms if others.count(term.lower()) < 2] == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        if anchor:
            heads = re.findall(r"(?m)^#+ (.*)$", found.read_text())
            assert anchor in [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads]


def places():
    """Return the design's places and paths, its changes with their places, and all its text."""
    text = (DOCS / "design.md").read_text()
    paths = dict(re.findall(r"(?m)^\| \*([\w ]+)\* \| `([^`]+)` \|", text))
    _, table = text.split("## Where a change goes")
    changes = re.findall(r"(?m)^\| (?!change|-)([^|]+) \| ([^|]+) \|", table)
    return paths, changes, text


# An emphasised name is a place; bold text and the bullets of lists are not.
PLACE = re.compile(r"(?<!\*)\*([A-Za-z][\w ]*)\*(?!\*)")


@needs_readme
def test_the_design_names_places_that_exist():
    paths, changes, text = places()
    assert [path for path in paths.values() if not (ROOT / path).exists()] == []
    assert {name.lower() for name in PLACE.findall(text)} == paths.keys()
    assert len(changes) >= 15
    assert [change for change, where in changes if not PLACE.search(where)] == []


@needs_readme
def test_the_design_has_its_paths_in_one_table():
    paths, _, text = places()
    assert re.findall(r"`(?:dpcore|plugins|tests|bench)/[^`]*`", text) == [
        f"`{path}`" for path in paths.values() if path != "docs/"
    ]


@needs_readme
def test_the_changelog_begins_with_the_version_that_is_built():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    heads = re.findall(r"(?m)^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text())
    assert heads[0] == version


@needs_readme
def test_the_readmes_picture_says_what_its_numbers_are():
    # It was older than the rule.
    assert _NOT_PRIVATE in (ROOT / "bench" / "accuracy.svg").read_text()


def test_pictures_are_small():
    # 28 of them were half of all that is kept.
    pictures = sorted((ROOT / "bench").rglob("*.svg"))
    assert [relative(path) for path in pictures if path.stat().st_size > 30 * 1024] == []


def documented(page, folder, mark="plugin"):
    """Return the module whose text is marked on a page."""
    marked = rf"<!-- {mark} -->\n```python\n(.*?)```"
    found = re.search(marked, (DOCS / page).read_text(), re.DOTALL)
    assert found, f"docs/{page} has no {mark}."
    path = folder / f"documented_{page.removesuffix('.md')}_{mark}.py"
    path.write_text(found[1])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_readme
@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "name"), [("plugins.md", "NoisyGd"), ("interactive.md", "DpFtrl")]
)
def test_the_plugin_of_the_documents_is_admitted(page, name, tmp_path):
    optimizer = getattr(documented(page, tmp_path), name)()
    failed = [outcome for outcome in run_checks(optimizer) if not outcome.passed]
    assert failed == []


@needs_readme
@pytest.mark.slow
def test_the_mechanism_of_the_documents_is_admitted(tmp_path):
    mechanism = documented("plugins.md", tmp_path, "mechanism").LaplaceAndNormal
    tested = check_mechanism(mechanism, most_coordinates=5)
    assert "releases and as many on each neighbour" in tested.what


@needs_readme
@pytest.mark.slow
def test_the_loss_of_the_documents_is_admitted(tmp_path):
    LogCosh = documented("plugins.md", tmp_path, "loss").LogCosh
    assert "margins" in check_loss(LogCosh()).what


@needs_readme
def test_the_page_for_authors_and_its_examples_are_short():
    page = (DOCS / "plugins.md").read_text()
    assert len(page.splitlines()) <= 600
    blocks = re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", page, re.DOTALL)
    assert {
        mark: len(text.splitlines()) for mark, text in blocks if len(text.splitlines()) > 40
    } == {}
    assert {mark for mark, _ in blocks} == {"plugin", "loss", "mechanism"}


ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def tree_of(ftrl, relation, epochs=3, n_batches=6, rows=None):
    """Return a mechanism over made rows and the query that its questions ask."""
    problem = make_problem(rows or make_rows(60), relation, Logistic())
    gradient = ClippedGradientSum(problem, np.full(5, 0.25), 1.0)
    base = ftrl.BatchSum(gradient, 0, n_batches)
    return ftrl.TreeSums(base, epochs, 4.0, gradient.sensitivity(relation)), gradient


def leaves(tree, gradient, rows):
    """Return the exact answers of all questions of a run."""
    engine = LocalEngine(rows.table())
    questions = [tree.narrowed(index, gradient) for index in range(tree.most_questions)]
    return [engine.answer(query) for query in (tree.base, *questions)]


def assert_within_its_cost(tree, gradient, rows, other):
    """Raise AssertionError if all nodes of all trees together move by more than was charged."""
    size, moved = tree.base.n_batches, 0
    change = [a - b for a, b in zip(*(leaves(tree, gradient, t) for t in (rows, other)))]  # noqa: B905
    for step in range(1, len(change) + 1):
        leaf = (step - 1) % size + 1
        node = sum(change[step - (leaf & -leaf) : step])
        moved += sum(int(c) ** 2 for c in node)
    charged = tree.event(tree.question, None).noise_multiplier / tree.noise_multiplier
    bound = tree.question.bound * 2.0**tree.question.grid_bits / charged
    assert moved <= bound**2 * (1 + 1e-12), "The nodes move further."


@needs_readme
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_documented_tree_moves_no_further_than_it_is_charged_for(relation, tmp_path):
    ftrl = documented("interactive.md", tmp_path)
    rows = make_rows(60)
    for other in neighbours(rows, relation):
        assert_within_its_cost(*tree_of(ftrl, relation, rows=rows), rows, other)


@needs_readme
@pytest.mark.slow
def test_the_documented_tree_passes_the_check_of_interactive_mechanisms(tmp_path):
    ftrl = documented("interactive.md", tmp_path)

    class OneNoise(ftrl.TreeSums):
        """The broken twin: all nodes get the noise of the first."""

        def begin(self, exact, sensitivity, reference, noise):
            drawn = noise.gaussian(self._scale(), exact.shape)

            class Same:
                def gaussian(self, scale, shape):
                    return drawn

            return ftrl.Tree(self, exact, Same())

    def make(kind):
        def made(problem):
            gradient = ClippedGradientSum(problem, np.zeros(problem.n_features), 1.0)
            question = gradient.sensitivity(ADD)
            return kind(ftrl.BatchSum(gradient, 0, 4), 2, 1.0, question)

        return made

    tested = check_interactive(make(ftrl.TreeSums))
    assert "tested on the other half" in tested.power
    assert any("cost together" in clause for clause in tested.not_tested)
    with pytest.raises(AssertionError):
        check_interactive(make(OneNoise))


@needs_readme
def test_a_tree_whose_rows_take_part_in_every_leaf_is_found(tmp_path):
    ftrl = documented("interactive.md", tmp_path)

    class OneBatch(ftrl.TreeSums):
        def narrowed(self, index, query):
            return ftrl.BatchSum(query, 0, 1)

    tree, gradient = tree_of(ftrl, ADD)
    twin = OneBatch(tree.base, tree.epochs, tree.noise_multiplier, tree.question)
    rows = make_rows(60)
    with pytest.raises(AssertionError, match="move further"):
        for other in neighbours(rows, ADD):
            assert_within_its_cost(twin, gradient, rows, other)


@needs_readme
def test_the_documented_tree_adds_up_what_it_is_asked(tmp_path):
    ftrl = documented("interactive.md", tmp_path)
    tree, gradient = tree_of(ftrl, ADD)
    drawn = []

    class NoNoise:
        def gaussian(self, scale, shape):
            drawn.append(scale)
            return np.zeros(shape, dtype=np.int64)

    answers = leaves(tree, gradient, make_rows(60))
    state = tree.begin(answers[0], tree.question, None, NoNoise())
    running = [state.first, *(state.reply(answer) for answer in answers[1:])]
    exact = np.ldexp(np.cumsum(answers, axis=0).astype(float), -tree.question.grid_bits)
    np.testing.assert_array_equal(running, exact)
    assert state.halted and len(drawn) == len(answers) == 18
