"""Schemas to start from: templates, those with curves, and those that are read off the rows (not
private).

The stub beside this file lists its names, each imported when it is asked for.
"""

from dpcore.plugin import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
