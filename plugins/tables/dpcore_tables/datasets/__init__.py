"""The built-in data sets, one file each; every one has ``load() -> Dataset``."""

from dpcore.plugin.parts import Dataset

__all__ = ["Dataset"]
