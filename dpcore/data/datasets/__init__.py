"""The built-in data sets, one file each; every one has ``load() -> Dataset``."""

from dpcore.data.dataset import Dataset

__all__ = ["Dataset"]
