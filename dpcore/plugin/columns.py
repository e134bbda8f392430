"""The fifth page: names for authors of kinds of column.

The stub beside this file lists them.
"""

from dpcore.plugin.pages import page

__getattr__, __dir__ = page(__name__, __file__)
