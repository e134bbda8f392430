"""Environments of the external algorithms of this folder, one for each file of requirements.

    python bench/others/environments.py [diffprivlib dp-ebm ...]

makes those that are not there with ``uv venv``, in the folder of ``DPCORE_OTHERS``, by default
``~/.cache/dpcore/others``. Folders or addresses that pip looks for wheels in (PIP_FIND_LINKS) are
uv's too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["NAMES", "folder_of", "is_made", "make", "python_of"]

_REQUIREMENTS = Path(__file__).with_name("requirements")
NAMES = tuple(sorted(path.stem for path in _REQUIREMENTS.glob("*.txt")))
PYTHON = "3.11"
"""For which all of the pinned packages have wheels."""
_DONE = "made"


def folder_of(name: str) -> Path:
    """Return the folder of an environment; other requirements have another."""
    root = Path(os.environ.get("DPCORE_OTHERS") or Path.home() / ".cache" / "dpcore" / "others")
    digest = hashlib.sha256((_REQUIREMENTS / f"{name}.txt").read_bytes()).hexdigest()
    return root / f"{name}-{digest[:8]}"


def python_of(name: str) -> Path:
    return folder_of(name) / "bin" / "python"


def is_made(name: str) -> bool:
    return (folder_of(name) / _DONE).is_file()


def make(name: str) -> str:
    """Make an environment, unless it is there; return an empty text, or the last line of the
    error."""
    if is_made(name):
        return ""
    folder = folder_of(name)
    shutil.rmtree(folder, ignore_errors=True)
    settings = {**os.environ, "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", "")}
    wanted = ["--requirement", str(_REQUIREMENTS / f"{name}.txt")]
    for command in (
        ["uv", "venv", "--quiet", "--python", PYTHON, str(folder)],
        ["uv", "pip", "install", "--quiet", "--python", str(python_of(name)), *wanted],
    ):
        try:
            done = subprocess.run(command, env=settings, capture_output=True, text=True)
        except OSError as error:
            return f"{command[0]}: {error.strerror}"
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            return " ".join(lines[:3]) or f"exit status {done.returncode}"
    (folder / _DONE).touch()
    return ""


def main() -> None:
    for name in sys.argv[1:] or NAMES:
        error = make(name)
        print(f"{name}: {error or folder_of(name)}", flush=True)


if __name__ == "__main__":
    main()
