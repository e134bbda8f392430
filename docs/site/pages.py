"""Pages of the site: those of the repository at their own paths, and the reference, made from what
is registered. Run by mkdocs-gen-files."""

from __future__ import annotations

import importlib
import inspect
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mkdocs_gen_files
import typer

from dpcore.cli import app
from dpcore.plugin.parts import Registration
from dpcore.registry.catalogue import load_registry, plural
from dpcore.registry.tables import losses, optimizer_spec, parts
from dpcore_tables.schemas import key_reference

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/*.md", "docs/*/*.md", "plugins/*/*.md", "bench/**/README.md")
BESIDE = ("LICENSE", "bench/*.svg", "bench/figures/*.svg", "docs/*.svg", "bench/results/**/*.csv")
_WITH_FOLDERS = ("a-ddp", "accuracy-first", "baselines")
OF_PLUGINS = (
    "plugins/*/dpcore_*/*.py",
    *(f"plugins/{name}/dpcore_*/*/*.py" for name in _WITH_FOLDERS),
)
QUERIES = (
    "dpcore/queries/*.py",
    "plugins/tables/dpcore_tables/bounds/*.py",
    "plugins/tables/dpcore_tables/statistics/*.py",
    "plugins/report/dpcore_report/*/*.py",
    *OF_PLUGINS,
)
KINDS = ("optimizer", "mechanism", "accountant", "loss")
PUBLIC = (
    *("dpcore", "dpcore_sklearn", "dpcore.plugin", "dpcore.plugin.parts", "dpcore.plugin.steps"),
    *("dpcore.plugin.commands", "dpcore.plugin.ledgers", "dpcore_lab.checks"),
    *("dpcore_ledger", "dpcore_ledger.stores", "dpcore_accounting.distributions"),
)

_HAVE_PAGES: set[str] = set()


def copy_pages() -> None:
    """Copy the pages of the repository, so that a link is the same there and here."""
    for pattern in (*PAGES, *BESIDE):
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT)
            with mkdocs_gen_files.open(name, "wb") as page:
                page.write(path.read_bytes())


def write(path: str, title: str, *paragraphs: str) -> str:
    """Write a page of the reference, and return its line in the navigation."""
    with mkdocs_gen_files.open(f"reference/{path}", "w") as page:
        page.write("\n\n".join((f"# {title}", *paragraphs)) + "\n")
    return f"[{title}]({path})"


def documented(target: str) -> str:
    """Return the line that has mkdocstrings write down a module, class or function."""
    _HAVE_PAGES.add(target)
    return f"::: {target}"


def page_of(entry: Registration) -> str:
    """Write the page of a registered part."""
    about = [entry.summary, f"From the distribution `{entry.distribution}`."]
    about += [f"Source: {entry.reference}."] if entry.reference else []
    target = documented(entry.target.replace(":", "."))
    return write(f"{plural(entry.kind)}/{entry.name}.md", entry.name, *about, target)


def modules(kind: str, patterns: tuple[str, ...], sign: str) -> Iterator[str]:
    """Write a page for each module with a part that is not registered, by a method that it has: a
    query's sensitivity, or a mechanism's cost, each with the argument for it."""
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        if sign not in path.read_text():
            continue
        top = next(parent for parent in path.parents if not (parent / "__init__.py").exists())
        module = ".".join(path.relative_to(top).with_suffix("").parts)
        if any(name.startswith(f"{module}.") for name in _HAVE_PAGES):
            continue
        yield write(f"{kind}/{module}.md", module.split(".", 1)[1], documented(module))


def names_of(module: str) -> str:
    """Write the page of a module's public names."""
    found, lines, shown = importlib.import_module(module), [], []
    for name in sorted(getattr(found, "__all__", ())):
        thing = getattr(found, name)
        home = f"{getattr(thing, '__module__', module)}.{getattr(thing, '__qualname__', name)}"
        first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
        is_code = inspect.isclass(thing) or inspect.isfunction(thing)
        if not is_code:
            lines.append(f"* `{name}`")
            continue
        in_a_module = any(home.startswith(f"{page}.") for page in _HAVE_PAGES)
        if home not in _HAVE_PAGES and not in_a_module:
            shown.append(documented(home))
        lines.append(f"* [`{name}`][{home}]: {first}")
    return write(f"names/{module}.md", module, "\n".join(lines), *shown)


def facts() -> str:
    """Write all facts that the class of a part may state, a table for each kind."""
    markdown = runpy.run_path(str(ROOT / "tests/fact_tables.py"))["markdown"]
    sections = [
        f"## {name.removesuffix('Facts')}\n\n{markdown(getattr(module, name))}"
        for module in (optimizer_spec, losses, parts)
        for name in module.__all__
        if name.endswith("Facts")
    ]
    return write("facts.md", "Facts of parts", *sections)


def schema_keys() -> str:
    """Write what ``dpcore schema --help-keys`` prints."""
    return write("schema-keys.md", "Keys of a schema", f"```text\n{key_reference.reference()}```")


def commands() -> Iterator[str]:
    """Write what ``--help`` of every command prints."""
    group: Any = typer.main.get_command(app)
    for name in load_registry().names("command"):
        command = group.get_command(None, name)
        parts = [(f"dpcore {name}", command)]
        inner = getattr(command, "commands", {})
        parts += [(f"dpcore {name} {each}", inner[each]) for each in sorted(inner)]
        texts = []
        for words, each in parts:
            context = typer.Context(each, info_name=words, max_content_width=100)
            context.terminal_width = 100
            heading = [f"## {words}"] if len(parts) > 1 else []
            texts += [*heading, f"```text\n{each.get_help(context).strip()}\n```"]
        yield write(f"commands/{name}.md", f"dpcore {name}", *texts)


def navigation(sections: dict[str, list[str]]) -> None:
    """Write the navigation of the reference."""
    with mkdocs_gen_files.open("reference/SUMMARY.md", "w") as page:
        for title, lines in sections.items():
            page.write(f"* {title}\n" + "".join(f"    * {line}\n" for line in lines))


def reference() -> None:
    """Write the reference."""
    registry = load_registry()
    found = {
        plural(kind).capitalize(): [page_of(entry) for entry in registry.entries(kind)]
        for kind in KINDS
    }
    found["Mechanisms"] += modules("mechanisms", OF_PLUGINS, "    def event(self")
    found["Queries"] = list(modules("queries", QUERIES, "    def sensitivity(self"))
    names = [names_of(module) for module in PUBLIC]
    told = {"Commands": list(commands()), "Public names": names, "Facts": [facts()]}
    told["Schemas"] = [schema_keys()]
    navigation({**told, **found})


copy_pages()
reference()
