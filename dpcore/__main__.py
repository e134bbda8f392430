"""``python -m dpcore``: the same as ``dpcore``."""

from dpcore.cli import main

main()
