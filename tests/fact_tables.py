"""Tables of facts as the documentation shows them."""

import dataclasses


def markdown(table):
    """Return the table for the documentation: a line for each fact."""
    lines = ["| attribute | type | default | what it says |", "|---|---|---|---|"]
    for field in dataclasses.fields(table):
        default = _shown(field.metadata["default"])
        says = field.metadata["kind"].says
        lines.append(f"| `{field.name}` | {says} | {default} | {field.metadata['doc']} |")
    return "\n".join(lines)


def _shown(default):
    if default is dataclasses.MISSING:
        return "required"
    return "none" if default in (None, "", (), {}) else f"`{default!r}`"
