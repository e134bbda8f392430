"""First-party code: the distributions of this repository, and which modules are theirs.

Code is ours where its file belongs to one of these distributions, in the version of the core that
runs; a name alone makes nothing ours. The privacy statement names every other part.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["DISTRIBUTIONS", "is_named_as_a_package_of_ours", "is_ours"]

_CORE = "dpcore"
DISTRIBUTIONS = {
    _CORE: "dpcore",
    "dpcore-a-ddp": "dpcore_a_ddp",
    "dpcore-accounting": "dpcore_accounting",
    "dpcore-accuracy-first": "dpcore_accuracy_first",
    "dpcore-adassp": "dpcore_adassp",
    "dpcore-baselines": "dpcore_baselines",
    "dpcore-dask": "dpcore_dask",
    "dpcore-dp-agd": "dpcore_dp_agd",
    "dpcore-lab": "dpcore_lab",
    "dpcore-ledger": "dpcore_ledger",
    "dpcore-report": "dpcore_report",
    "dpcore-rsgd-ar": "dpcore_rsgd_ar",
    "dpcore-sklearn": "dpcore_sklearn",
    "dpcore-tables": "dpcore_tables",
    "dpcore-tuning": "dpcore_tuning",
}
"""Every distribution of this repository, and the package that it installs."""
_OWNERS = {package: name for name, package in DISTRIBUTIONS.items()}


def is_named_as_a_package_of_ours(module: str) -> bool:
    """Return whether a module bears the name of a package of this repository beside the core, in
    whatever version."""
    return _OWNERS.get(module.partition(".")[0], _CORE) != _CORE


def is_ours(module: str) -> bool:
    """Return whether a module, by name, is one of a distribution of this repository: its file is
    among those that the distribution installed, or in this workspace's editable installation of it,
    and its version is the core's. A module that is not imported yet is looked for: its
    name may be borrowed."""
    owner = _OWNERS.get(module.partition(".")[0])
    if owner is None:
        return False
    spec = _spec(module)
    if spec is None or not spec.has_location or spec.origin is None:
        return False
    return _owns(owner, spec.origin)


def _spec(module: str) -> Any:
    """Return where a module is, or would be, found."""
    if module in sys.modules:
        spec = getattr(sys.modules[module], "__spec__", None)
        return spec if getattr(spec, "name", None) == module else None
    try:
        return find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None


@cache
def _owns(name: str, origin: str) -> bool:
    """Return whether an installed distribution of this repository owns a file."""
    file = Path(origin).resolve()
    try:
        installed, core = metadata.distribution(name), metadata.distribution(_CORE)
    except metadata.PackageNotFoundError:
        return False
    if installed.version != core.version:
        return False
    root = _editable_root(installed)
    if root is None:
        return file in _files(name)
    workspace = _editable_root(core)
    is_of_workspace = workspace is not None and root.is_relative_to(workspace)
    return is_of_workspace and file.is_relative_to(root / DISTRIBUTIONS[name])


@cache
def _files(name: str) -> frozenset[Path]:
    """Return the files that a distribution installed, by its RECORD."""
    installed = metadata.distribution(name)
    return frozenset(Path(str(file.locate())).resolve() for file in installed.files or ())


def _editable_root(installed: metadata.Distribution) -> Path | None:
    """Return the folder that a distribution runs from where it was installed as editable (PEP 610);
    ``None`` where its files were copied."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    direct = json.loads(installed.read_text("direct_url.json") or "{}")
    if not direct.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlsplit(direct["url"]).path)).resolve()
