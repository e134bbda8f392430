"""The house rules that a program can check hold in every file."""

import ast
import builtins
import functools
import re
import subprocess
from pathlib import Path

import pytest
from statements import statements_of

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path
    for folder in (ROOT / "dpcore", *sorted(ROOT.glob("plugins/*/dpcore_*")))
    for path in folder.rglob("*.py")
)


def relative(path):
    return str(path.relative_to(ROOT))


@functools.cache
def trees():
    """Return the tree of each source by its path, parsed once for all rules."""
    return {path: ast.parse(path.read_text()) for path in SOURCES}


@pytest.fixture(scope="module", autouse=True)
def _trees_are_dropped():
    yield
    trees.cache_clear()


def faults_by_file(faults_of):
    """Return what ``faults_of`` finds in the tree of each source, after the file's name."""
    return [
        f"{relative(path)}: {fault}" for path, tree in trees().items() for fault in faults_of(tree)
    ]


def test_sources_of_the_core_and_of_every_plugin_are_read():
    folders = {path.relative_to(ROOT).parts[0] for path in SOURCES}
    plugins = {path.relative_to(ROOT).parts[1] for path in SOURCES if "plugins" in path.parts}
    assert folders == {"dpcore", "plugins"}
    assert plugins == {path.name for path in ROOT.glob("plugins/*/")}


# What has no room of its own in the core: whole fits, the project itself, and plugins as fixtures.
BESIDE_THE_ROOMS = {"bad_plugins", "golden", "mutants", "stub_plugin", "third_party"}
OF_THE_PROJECT = {
    "test_bench.py",
    "test_caches.py",
    "test_claims.py",
    "test_cpu_times.py",
    "test_docs.py",
    "test_examples.py",
    "test_house_rules.py",
    "test_imports.py",
    "test_measures.py",
    "test_moved.py",
    "test_packaging.py",
    "test_pages_read_well.py",
    "test_papers.py",
    "test_raises.py",
    "test_reach.py",
    "test_site.py",
    "test_tutorials.py",
}


def test_the_tests_mirror_the_core():
    tests = Path(__file__).parent
    rooms = {path.parent.name for path in (ROOT / "dpcore").glob("*/__init__.py")}
    folders = {path.name for path in tests.glob("[!_.]*/") if any(path.rglob("*.*"))}
    assert folders - rooms == BESIDE_THE_ROOMS
    assert {path.name for path in tests.glob("test_*.py")} == OF_THE_PROJECT


# Lines of a file: a reader sees one subject in fewer.
TOO_LONG = 300


def is_too_long(text):
    return len(text.splitlines()) >= TOO_LONG


def test_modules_that_tests_import_by_their_name_alone_have_names_of_their_own():
    """Of two with one name the second to be imported would be the first."""
    folders = [path.parent for path in ROOT.glob("plugins/*/tests/conftest.py")]
    on_path = [folder for folder in folders if "sys.path" in (folder / "conftest.py").read_text()]
    names = [path.stem for folder in (ROOT / "tests", *on_path) for path in folder.glob("*.py")]
    helpers = [name for name in names if name != "conftest" and not name.startswith("test_")]
    assert len(helpers) > len(on_path) > 2
    assert sorted({*helpers}) == sorted(helpers)


def test_files_have_fewer_than_300_lines():
    # The page for contributors said so, and seven files were as long or longer.
    assert [relative(path) for path in SOURCES if is_too_long(path.read_text())] == []


@pytest.mark.parametrize(("lines", "found"), [(299, False), (300, True)])
def test_a_file_that_is_too_long_is_found(lines, found):
    assert is_too_long("x = 1\n" * lines) == found
    assert f"under {TOO_LONG} lines" in (ROOT / "CONTRIBUTING.md").read_text()


def test_docstrings_of_modules_name_their_thing():
    # 46 began with "What ..." or "How ...", and said of nothing what it is.
    first = {path: (ast.get_docstring(tree) or "").split()[:1] for path, tree in trees().items()}
    vague = ["What"], ["How"], ["Which"]
    assert [relative(path) for path, word in first.items() if word in vague] == []


# A sentence names its subject, and says what it is or does.
UNPLAIN = re.compile(r"(?<!-)\b(one that|of which|stands)\b")


def unplain(tree):
    """Yield docstrings that open with "What" or have a phrase that hides its subject."""
    for node in statements_of(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = " ".join(str(node.value.value).split())
            if text.startswith("What "):
                yield f"{node.lineno}: What"
            yield from (f"{node.lineno}: {found[0]}" for found in UNPLAIN.finditer(text))


def test_docstrings_are_plain_sentences():
    assert faults_by_file(unplain) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("def f():\n    'What follows.'", 1),
        ("x = 1\n'A bound of which little is known.'", 1),
        ("'''The filter as it stands, or one\nthat is not.'''", 2),
        ("'Under replace-one that is no bound.'", 0),
    ],
)
def test_a_docstring_that_is_not_plain_is_found(line, count):
    assert len(list(unplain(ast.parse(line)))) == count


MOST_WORDS = 33
"""Of the first sentence of a public docstring; it may fall, and never rises."""
FIRST_SENTENCE = re.compile(r".*?[.!?](?=\s+[A-Z`\"'(]|$)")


def first_sentence(text):
    """Return the first sentence of a docstring, or a first paragraph that leads to a formula."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    found = FIRST_SENTENCE.match(paragraph)
    return found[0] if found else paragraph


def long_starts(tree, outer=""):
    """Yield the name and the words of public docstrings whose first sentence is too long."""
    words = len(first_sentence(ast.get_docstring(tree) or "").split())
    if words > MOST_WORDS:
        yield f"{outer or 'the module'}: {words} words"
    within = [] if isinstance(tree, ast.FunctionDef) else ast.iter_child_nodes(tree)
    for node in within:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not re.match("_(?!_)", node.name):
            yield from long_starts(node, f"{outer}.{node.name}".removeprefix("."))


def test_docstrings_begin_with_a_short_sentence():
    # 78 had up to 58 words: what is returned was found at the second reading.
    assert faults_by_file(long_starts) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Return it. " + "More of it " * 20, 0),
        ("Return 1.5 " + "of it " * 20 + ".", 1),
        ("Return the rows that have " + "a formula " * 20 + "\n\n    x = 1", 1),
    ],
)
def test_a_long_first_sentence_is_found(text, count):
    for head in ("def f():", "class A:\n  def f():", "class A:"):
        inner = " " * (4 if "f" in head.splitlines()[-1] else 2)
        assert len(list(long_starts(ast.parse(f"{head}\n{inner}{text!r}")))) == count
    assert list(long_starts(ast.parse(f"def _f():\n {text!r}"))) == []


# Names of numpy.random that hold no state of their own module.
STATELESS = {"BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"}


def is_numpys(node):
    """Return whether an expression is numpy.random."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "random"
        and isinstance(node.value, ast.Name)
        and node.value.id in ("np", "numpy")
    )


def global_randomness(tree):
    """Yield what draws from a generator that every caller in the process shares."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_numpys(node.value):
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
    for node in statements_of(tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            if ast.unparse(call.func).split(".")[-1] in ("njit", "jit", "vectorize", "guvectorize"):
                yield node, {word.arg: ast.unparse(word.value) for word in call.keywords}


def kernel_faults(tree):
    """Yield what a kernel must not do: relax floating point, unless its name says that its sums are
    exact, or be cached over another file.

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
        # Where every partial sum is exact no order of them is another result.
        relaxed = "{'reassoc', 'contract'}" if node.name.startswith("exact_") else "False"
        if options.get("fastmath", "False") not in ("False", relaxed):
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
        ("@njit(fastmath={'reassoc', 'contract'})\ndef f(x):\n    pass", "relaxes"),
        ("@njit(fastmath={'reassoc', 'nnan'})\ndef exact_f(x):\n    pass", "relaxes"),
        ("@numba.njit\ndef f(x):\n    pass", "no error_model"),
    ],
)
def test_a_faulty_kernel_is_found(source, fault):
    assert any(fault in found for found in kernel_faults(ast.parse(source)))


@functools.cache
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


def kernels_of(tree):
    """Yield name and lines of code, without signature and docstring, of each compiled function."""
    for node in statements_of(tree):
        if isinstance(node, ast.FunctionDef) and "njit" in map(
            ast.unparse, (getattr(d, "func", d) for d in node.decorator_list)
        ):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1


def test_kernels_are_short_and_those_of_plugins_in_a_file_of_their_own():
    found = {path: [*kernels_of(tree)] for path, tree in trees().items()}
    of_plugins = [path for path in found if "plugins" in path.relative_to(ROOT).parts]
    assert {path.name for path in of_plugins if found[path]} == {"kernels.py"}
    long = [name for kernels in found.values() for name, lines in kernels if lines >= 25]
    assert long == [] and sum(map(len, found.values())) > 40
    assert [*kernels_of(ast.parse("@njit(cache=True)\ndef f(x):\n    y = x\n    return y"))] == [
        ("f", 2)
    ]


# The files through which a command reaches its terminal: each makes every text visible first.
TO_TERMINALS = {"printing.py", "progress.py", "streams.py"}


def prints(tree):
    """Yield what writes to a standard stream."""
    for node in ast.walk(tree):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if name in ("print", "typer.echo", "typer.secho", "Console", "console.print") or (
            name.startswith(("sys.stdout.", "sys.stderr.")) and name.endswith("write")
        ):
            yield f"{node.lineno}: {name}"


def test_commands_print_through_one_function():
    # Escapes in the names of a model's columns reached the terminal by a hundred calls.
    cli = [path for path in SOURCES if ROOT / "dpcore" / "cli" in path.parents]
    found = {path.name for path in cli if [*prints(ast.parse(path.read_text()))]}
    assert found == TO_TERMINALS


@pytest.mark.parametrize("line", ["print(x)", "typer.echo(x)", "sys.stderr.write(x)"])
def test_another_way_to_print_is_found(line):
    assert [*prints(ast.parse(line))]
