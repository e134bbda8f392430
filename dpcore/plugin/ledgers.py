"""The sixth page: names for authors of ledgers, which hold what all runs over a table cost.

The stub beside this file lists them.
"""

from dpcore.plugin.lazy_exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
