"""A card as one HTML page: no script, nothing from elsewhere, two sheets of A4 on paper; and a
model as a table in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from dpcore.errors import InvalidInputError, visible
from dpcore_report.pictures.svg import svg_of
from dpcore_report.stylesheet import stylesheet

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model
    from dpcore_report.card import Card
    from dpcore_report.pictures.panel import Picture
    from dpcore_report.sections import Item, Section

__all__ = ["html_of", "model_table"]

_MANY = 12
"""Points from which a list is set in columns."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""A browser loads nothing for this page and runs nothing in it, whatever a file's texts hold."""


def html_of(card: Card, docs: str | None = None) -> str:
    """Return the page. ``docs`` : the address of the folder ``docs`` of dpcore's site, to which its
    links lead: of http or https, or a relative path; ``None``: pages of the documents are named,
    and not linked.

    Raises InvalidInputError for another address, which a browser may run.
    """
    if docs is not None and not _leads_to_pages(docs):
        raise InvalidInputError(
            f"Expected --docs {docs!r} to begin with https:// or http://, or to be a relative path "
            "such as docs or ../docs, without ?, # and @."
        )
    kind = "good" if card.private else "bad"
    facts = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in card.facts)
    sections = "".join(_section(section, docs) for section in card.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Privacy report</title>\n<style>\n{stylesheet()}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(card.title)}</h1>\n"
        f'<p class="verdict {kind}">{escape(card.headline)}</p>\n'
        f"{f'<dl>{facts}</dl>' if facts else ''}\n</header>\n"
        f"<main>\n{sections}</main>\n</body>\n</html>\n"
    )


def _leads_to_pages(docs: str) -> bool:
    # A browser takes blanks out of an address, and a backslash for a slash. Names of pages follow.
    if not docs or any(c in "\\?#@" or c.isspace() or not c.isprintable() for c in docs):
        return False
    try:
        address = urlsplit(docs)
    except ValueError:
        return False
    if address.scheme in ("http", "https"):
        return bool(address.netloc)
    return ":" not in docs and not docs.startswith("/")


def escape(text: str) -> str:
    """Return a text in which nothing is markup, nor commands a terminal that shows the page."""
    return html.escape(visible(text))


def _section(section: Section, docs: str | None) -> str:
    columns = ' class="short"' if len(section.items) >= _MANY else ""
    parts = "".join(
        f"<h3>{escape(part.title)}</h3>\n{_content(part, docs)}\n" for part in section.parts
    )
    return (
        f"<section{columns}>\n<h2>{escape(section.title)}</h2>\n{_content(section, docs)}\n"
        f"{parts}</section>\n"
    )


def _content(section: Section, docs: str | None) -> str:
    lines = "".join(f"<p>{escape(line)}</p>\n" for line in section.lines)
    items = "".join(f"<li>{_item(item, docs)}</li>\n" for item in section.items)
    shown = "".join(map(_picture, section.pictures))
    return f"{lines}{f'<ul>{items}</ul>' if items else ''}{_table(section)}{shown}"


def _picture(picture: Picture) -> str:
    """Return the panels of a picture as SVG in the page itself, which nothing is loaded for."""
    told = f"<p>{escape(picture.told)}</p>\n" if picture.told else ""
    return f'{told}<div class="panels">{"".join(map(svg_of, picture.panels))}</div>'


def _item(item: Item, docs: str | None) -> str:
    text = escape(item.text)
    if not item.page:
        return text
    page, _, anchor = item.page.partition("#")
    more = anchor.replace("-", " ") or page.removesuffix(".md")
    if docs is None:
        place = f"docs/{page}" + (f", {more}" if anchor else "")
        return f"{text} <small>More in dpcore's {escape(place)}.</small>"
    of_site = f"{page.removesuffix('.md')}.html" + (f"#{anchor}" if anchor else "")
    address = escape(f"{docs.rstrip('/')}/{of_site}")
    return f'{text} <a href="{address}">More: {escape(more)}</a>'


def _table(section: Section) -> str:
    if not section.rows:
        return ""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in section.heads)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td data-head="{escape(head)}">{escape(cell)}</td>'
            for head, cell in zip(section.heads, row, strict=True)
        )
        + "</tr>\n"
        for row in section.rows
    )
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def model_table(model: Model) -> str:
    """Return a table of a model, as a notebook shows it: what it predicts, the whole sentence of
    its guarantee, and all coefficients."""
    facts = {
        "Model": model.fitted_in_words(),
        "Privacy": model.privacy["sentence"],
        "Rows": model.columns_in_words(),
        "Run": model.status,
    }
    if model.released_bounds:
        facts["Bounds released"] = model.shown_bounds()
    rows = "".join(f"<tr><th>{k}</th><td>{html.escape(v)}</td></tr>" for k, v in facts.items())
    return (
        f"<table>{rows}</table><details><summary>{model.w.size} coefficients</summary>"
        f"<table>{_coefficients(model)}</table></details>"
    )


def _coefficients(model: Model) -> str:
    """Return a row of each feature, its name and its coefficients; of several classes below their
    names."""
    columns = np.atleast_2d(model.coef).T.tolist()
    named = [*zip(model.feature_names, columns, strict=True)]
    if model.schema.intercept:
        named.append(("intercept", np.atleast_1d(model.intercept).tolist()))
    head = ""
    if model.w.ndim > 1 and model.classes is not None:
        heads = "".join(f"<th>{html.escape(str(name))}</th>" for name in model.classes)
        head = f"<tr><th></th>{heads}</tr>"
    rows = (
        f"<tr><td>{html.escape(name)}</td>{''.join(f'<td>{w:.6g}</td>' for w in weights)}</tr>"
        for name, weights in named
    )
    return head + "".join(rows)
