"""``python -m dpcore_a_ddp.flower.keys FOLDER``: a user's own keys, made where it keeps them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpcore.errors import DpcoreError, visible
from dpcore_a_ddp.flower.certificates import make_node_key, require_private
from dpcore_a_ddp.flower.split import IDENTITY, make_identity

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status. Keys that are there stay."""
    parser = argparse.ArgumentParser(
        prog="python -m dpcore_a_ddp.flower.keys",
        description="Make the keys of a user of secure sums and of its SuperNode.",
    )
    parser.add_argument("folder", type=Path, help="where the user keeps them")
    folder = parser.parse_args(arguments).folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        identity = make_identity(folder / IDENTITY)
        require_private(folder / IDENTITY)
        _, public = make_node_key(folder)
    except (DpcoreError, OSError) as error:
        print(visible(f"dpcore-a-ddp: {error}"), file=sys.stderr)
        return 2
    print(f"Column identity of the file of users: {identity.public.hex()}")
    print(visible(f"To register with the SuperLink: {public}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
