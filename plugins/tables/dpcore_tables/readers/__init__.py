"""Readers of files, one per format; and what others are made of.

The stub beside this file lists its names, each imported when it is asked for.
"""

from dpcore.plugin import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
