"""The build of the core's wheel: it gets the manifest of the first-party distributions."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Manifest(BuildHookInterface):  # type: ignore[type-arg]
    """Writes ``dpcore/manifest.json``, of the packages as they are in this checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # which runs from a checkout
            return
        root = Path(self.root)
        place = root / "dpcore" / "privacy" / "manifest.py"
        spec = importlib.util.spec_from_file_location("manifest", place)
        assert spec is not None and spec.loader is not None
        manifest = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(manifest)
        self.folder = tempfile.TemporaryDirectory()
        written = Path(self.folder.name) / manifest.FILE
        text = json.dumps(manifest.manifest_of(root), sort_keys=True, indent=0)
        written.write_text(text, encoding="utf-8")
        build_data["force_include"][str(written)] = f"dpcore/{manifest.FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.folder.cleanup()
