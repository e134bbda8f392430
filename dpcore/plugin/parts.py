"""The second page: names for authors of queries, mechanisms, accountants and losses.

The stub beside this file lists them.
"""

from dpcore.plugin.pages import page

__getattr__, __dir__ = page(__name__, __file__)
