"""The stylesheet of a report's page: colours as data, so that their contrast can be computed."""

from __future__ import annotations

from dpcore_report.pictures.svg import N_COLOURS

__all__ = ["PAIRS", "PALETTES", "stylesheet"]

PALETTES = {
    "light": {
        "ink": "#1b1f24",
        "quiet": "#4d5661",
        "page": "#ffffff",
        "band": "#f1f4f7",
        "line": "#767f8a",
        "link": "#0b5394",
        "good-ink": "#0b4f2b",
        "good-band": "#e3f4e9",
        "bad-ink": "#8a1411",
        "bad-band": "#fdeceb",
        "mark-0": "#0b5394",
        "mark-1": "#a85200",
        "mark-2": "#2b6a16",
        "mark-3": "#741b47",
        "mark-4": "#a61c00",
        "mark-5": "#2f6f7a",
    },
    "dark": {
        "ink": "#e8ebee",
        "quiet": "#b3bcc6",
        "page": "#14181d",
        "band": "#1f252c",
        "line": "#8b96a3",
        "link": "#8ec5ff",
        "good-ink": "#9fe3b9",
        "good-band": "#12301f",
        "bad-ink": "#ffb4ae",
        "bad-band": "#3d1614",
        "mark-0": "#8ec5ff",
        "mark-1": "#ffb866",
        "mark-2": "#9fe07f",
        "mark-3": "#f0a3d0",
        "mark-4": "#ff9d8a",
        "mark-5": "#8fdbe6",
    },
}

PAIRS = (
    ("ink", "page", 4.5),
    ("ink", "band", 4.5),
    ("quiet", "page", 4.5),
    ("quiet", "band", 4.5),
    ("link", "page", 4.5),
    ("link", "band", 4.5),
    ("good-ink", "good-band", 4.5),
    ("bad-ink", "bad-band", 4.5),
    ("line", "page", 3.0),
    *((f"mark-{k}", "page", 4.5) for k in range(N_COLOURS)),
)
"""Colours that are seen on one another, and the least contrast: WCAG 2.2, 1.4.3 and 1.4.11, AA."""

_RULES = """
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--page); font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
main, header { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .8rem; }
h2 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; border-bottom: 1px solid var(--line); }
p { margin: .3rem 0; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
li { margin: 0 0 .3rem; }
a { color: var(--link); }
.verdict { font-size: 1.1rem; font-weight: 700; padding: .7rem 1rem; border-left: .4rem solid; }
.good { color: var(--good-ink); background: var(--good-band); }
.bad { color: var(--bad-ink); background: var(--bad-band); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5em, 1fr)); gap: .5rem 1.2rem;
  margin: .8rem 0; padding: .6rem 1rem; background: var(--band); }
dt { color: var(--quiet); font-size: .85em; }
dd { margin: 0; font-weight: 600; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0; }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: break-word; }
th { color: var(--quiet); font-weight: 600; }
.short ul { columns: 17rem 2; column-gap: 1.6rem; }
.short li { break-inside: avoid; }
h3 { font-size: .95rem; margin: .9rem 0 .3rem; }
.panels { display: flex; flex-wrap: wrap; gap: .8rem 1.2rem; align-items: flex-start; }
svg { width: 340px; max-width: 100%; break-inside: avoid; }
text { font: 11px system-ui, sans-serif; fill: var(--ink); }
.name { font-weight: 600; } .end { text-anchor: end; } .mid { text-anchor: middle; }
.grid { stroke: var(--line); opacity: .3; } .zero, .axis { stroke: var(--line); }
@media (max-width: 30rem) {
  table, tbody, tr, td { display: block; }
  thead { position: absolute; left: -99rem; }
  tr { padding: .3rem 0; border-bottom: 1px solid var(--line); }
  td { border: 0; padding: 0; }
  td::before { content: attr(data-head) ": "; color: var(--quiet); }
}
@page { size: A4; margin: 12mm 13mm; }
@media print {
  body { font-size: 8.2pt; line-height: 1.3; }
  main, header { max-width: none; padding: 0; }
  h1 { font-size: 12pt; margin-bottom: 4pt; }
  h2 { font-size: 9.5pt; margin: 6pt 0 2pt; break-after: avoid; }
  p, li, ul { margin-top: 1pt; margin-bottom: 1pt; }
  .verdict { font-size: 10pt; padding: 4pt 8pt; }
  dl { margin: 4pt 0; padding: 4pt 8pt; gap: 2pt 10pt; }
  table { font-size: 8.2pt; }
  th, td { padding: 1pt 6pt 1pt 0; }
  a, small { display: none; }
}
"""


def stylesheet() -> str:
    """Return the rules: light by default and on paper, dark where the reader's screen asks."""
    light, dark = (_variables(palette) for palette in PALETTES.values())
    marks = "".join(
        f".f{k} {{ fill: var(--mark-{k}); }} .b{k} {{ fill: var(--mark-{k}); opacity: .2; }}\n"
        f".s{k} {{ stroke: var(--mark-{k}); stroke-width: 1.6; fill: none; }}\n"
        for k in range(N_COLOURS)
    )
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media print {{ :root {{ color-scheme: light; }} }}{_RULES}{marks}"
        ".dashed { stroke-dasharray: 5 3; }\n"
    )


def _variables(palette: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())
