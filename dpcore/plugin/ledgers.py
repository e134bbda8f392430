"""The sixth page: names for authors of ledgers, which hold what all runs over a table cost.

The stub beside this file lists them.
"""

from dpcore.plugin.pages import page

__getattr__, __dir__ = page(__name__, __file__)
