"""The fourth page: names for authors of steps, releases beside the fit for a share of its budget.

The stub beside this file lists them.
"""

from dpcore.plugin.lazy_exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
