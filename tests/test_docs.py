"""What is written about the project is true of it, and the house rules hold in every file."""

import ast
import builtins
import dataclasses
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dpcore.compare.figure import _NOT_PRIVATE
from dpcore.registry import hookspecs
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import optimizer_facts
from dpcore.testing import run_checks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG"))]
PAGES += sorted(DOCS.glob("*.md"))
SOURCES = sorted(
    path
    for folder in (ROOT / "dpcore", *sorted(ROOT.glob("plugins/*/dpcore_*")))
    for path in folder.rglob("*.py")
)
HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("register_"))

needs_readme = pytest.mark.skipif(not README.is_file(), reason="needs the README of a checkout")


def relative(path):
    return str(path.relative_to(ROOT))


def faults_by_file(faults_of):
    """Return what ``faults_of`` finds in the tree of each source, after the file's name."""
    return [
        f"{relative(path)}: {fault}"
        for path in SOURCES
        for fault in faults_of(ast.parse(path.read_text()))
    ]


def test_sources_of_the_core_and_of_every_plugin_are_read():
    folders = {path.relative_to(ROOT).parts[0] for path in SOURCES}
    plugins = {path.relative_to(ROOT).parts[1] for path in SOURCES if "plugins" in path.parts}
    assert folders == {"dpcore", "plugins"}
    assert plugins == {path.name for path in ROOT.glob("plugins/*/")}


# What has no room of its own in the core: whole fits, the project itself, and plugins as fixtures.
BESIDE_THE_ROOMS = {"bad_plugins", "bits", "stub_plugin", "third_party"}
OF_THE_PROJECT = {"test_docs.py", "test_examples.py", "test_packaging.py"}


def test_the_tests_mirror_the_core():
    tests = Path(__file__).parent
    rooms = {path.parent.name for path in (ROOT / "dpcore").glob("*/__init__.py")}
    folders = {path.name for path in tests.glob("[!_.]*/") if any(path.rglob("*.*"))}
    assert folders - rooms == BESIDE_THE_ROOMS
    assert {path.name for path in tests.glob("test_*.py")} == OF_THE_PROJECT


def readme_block(mark):
    """Return the code block that follows the comment <!-- ci:mark -->, as .ci/run reads it."""
    found = re.search(rf"<!-- ci:{mark} -->\n```\w*\n(.*?)\n```", README.read_text(), re.DOTALL)
    assert found, f"README.md has no command ci:{mark}."
    return found[1]


@needs_readme
def test_the_readme_has_its_two_commands():
    assert readme_block("main").endswith("uv run --all-packages dpcore train")
    assert readme_block("test").endswith("uv run --all-packages pytest")


@needs_readme
@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_and_has_a_test(hook):
    assert re.search(rf"\b{hook}\b", (DOCS / "plugins.md").read_text())
    tests = [path for path in Path(__file__).parent.rglob("test_*.py") if path != Path(__file__)]
    assert any(re.search(rf"\bdef {hook}\(", path.read_text()) for path in tests)


@needs_readme
def test_the_table_of_algorithms_is_what_list_prints():
    command = [sys.executable, "-m", "dpcore.cli", "list", "optimizers", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    marks = r"<!-- algorithms -->\n(.*?)<!-- /algorithms -->"
    written = re.search(marks, (DOCS / "algorithms.md").read_text(), re.DOTALL)
    assert written, "docs/algorithms.md has no table between the marks."
    assert written[1].strip() == printed.strip(), f"Put this between the marks:\n{printed}"


@needs_readme
@pytest.mark.parametrize("option", ["--preset paper", "--as-published"])
def test_the_algorithms_that_have_it_are_named(option):
    # README once promised both of all algorithms; few have them.
    written = re.search(
        rf"`{option}` \(((?:`[a-z-]+`(?:, )?)+)\)", (DOCS / "algorithms.md").read_text()
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
def test_the_readmes_picture_says_what_its_figures_are():
    # It was older than the rule.
    assert _NOT_PRIVATE in (ROOT / "bench" / "accuracy.svg").read_text()


def test_pictures_are_small():
    # 28 of them were half of all that is kept.
    pictures = sorted((ROOT / "bench").rglob("*.svg"))
    assert [relative(path) for path in pictures if path.stat().st_size > 30 * 1024] == []


def test_docstrings_of_modules_name_their_thing():
    # 46 began with "What ..." or "How ...", and said of nothing what it is.
    first = {
        path: (ast.get_docstring(ast.parse(path.read_text())) or "").split()[:1] for path in SOURCES
    }
    vague = ["What"], ["How"], ["Which"]
    assert [relative(path) for path, word in first.items() if word in vague] == []


# Names of numpy.random that hold no state of their own module.
STATELESS = {"BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"}


def global_randomness(tree):
    """Yield what draws from a generator that every caller in the process shares."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in (
            "np.random",
            "numpy.random",
        ):
            if node.attr not in STATELESS:
                yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Import):
            yield from (f"{node.lineno}: {a.name}" for a in node.names if a.name == "random")
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            names = [a.name for a in node.names if a.name not in STATELESS]
            yield from (f"{node.lineno}: {name}" for name in names)


def test_nothing_draws_from_a_shared_generator():
    assert faults_by_file(global_randomness) == []


@pytest.mark.parametrize(
    "line",
    [
        "np.random.seed(ord(os.urandom(1)))",
        "numpy.random.normal(size=3)",
        "from random import gauss",
        "import random",
        "from numpy.random import laplace",
    ],
)
def test_a_shared_generator_is_found(line):
    # A script reseeded NumPy with one byte of entropy: 256 possible noises.
    assert list(global_randomness(ast.parse(line)))


def kernels(tree):
    """Yield each function under njit with its decorator's arguments as text."""
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            if ast.unparse(call.func).split(".")[-1] in ("njit", "jit", "vectorize", "guvectorize"):
                yield node, {word.arg: ast.unparse(word.value) for word in call.keywords}


def kernel_faults(tree):
    """Yield what a kernel must not do: relax floating point, or be cached over another file.

    The cache is stamped with the kernel's own file, so a cached kernel that uses a function or a
    constant of another file goes on with the old one after an edit there.
    """
    here = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    here |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node, options in kernels(tree):
        if options.get("fastmath", "False") != "False":
            yield f"{node.name} relaxes floating point"
        if options.get("error_model") != "'numpy'":
            yield f"{node.name} has no error_model='numpy'"
        if options.get("cache") != "True":
            continue
        names = [n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name)]
        own = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        own |= {arg.arg for arg in node.args.args}
        known = own | here | set(dir(builtins)) | {"np", "math"}
        yield from (f"{node.name} uses {n.id} of another file" for n in names if n.id not in known)


def test_kernels_are_strict_and_cached_ones_are_leaves():
    assert faults_by_file(kernel_faults) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from a import g\n@njit(cache=True, error_model='numpy')\ndef f(x):\n    g(x)", "uses g"),
        ("from a import K\n@njit(cache=True, error_model='numpy')\ndef f(x):\n    x[0] = K", "K"),
        ("@njit(fastmath=True, error_model='numpy')\ndef f(x):\n    pass", "relaxes"),
        ("@numba.njit\ndef f(x):\n    pass", "no error_model"),
    ],
)
def test_a_faulty_kernel_is_found(source, fault):
    assert any(fault in found for found in kernel_faults(ast.parse(source)))


def tracked():
    """Return the text of every file that git tracks or would track, by name."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a git checkout")
    texts = {}
    for name in listed.stdout.splitlines():
        try:
            texts[name] = (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError):  # an image, or deleted and not committed
            continue
    return texts


# Spelt in parts, so that this file passes its own test.
FORBIDDEN = {
    "unfinished": r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b",
    "a path of one machine": r"(?<![\w.$}])/(ho" + r"me|ro" + r"ot|wo" + r"rk|U" + r"sers)/\w",
    "a registry's host": r"\b(py"
    + r"pi\.org|python"
    + r"hosted\.|artif"
    + r"actory|nex"
    + r"us\.)",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what):
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in tracked().items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("unfinished", "# TO" + "DO: clip"),
        ("a path of one machine", "open('/ho" + "me/ada/adult.data')"),
        ("a registry's host", "https://py" + "pi.org/simple"),
    ],
)
def test_it_would_be_found(what, line):
    assert re.search(FORBIDDEN[what], line)


@needs_readme
def test_the_plugin_of_the_documents_is_admitted(tmp_path):
    text = (DOCS / "plugins.md").read_text()
    found = re.search(r"<!-- plugin -->\n```python\n(.*?)```", text, re.DOTALL)
    assert found, "docs/plugins.md has no plugin."
    path = tmp_path / "noisy_gd.py"
    path.write_text(found[1])
    spec = importlib.util.spec_from_file_location("documented_noisy_gd", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    failed = [(name, why) for name, passed, why in run_checks(module.NoisyGd()) if not passed]
    assert failed == []
