"""``python -m dpcore.cli``: the same as ``dpcore``."""

from dpcore.cli import main

main()
