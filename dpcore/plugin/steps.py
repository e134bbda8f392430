"""The fourth page: names for authors of steps, releases beside the fit for a share of its budget.

The stub beside this file lists them.
"""

from dpcore.plugin.pages import page

__getattr__, __dir__ = page(__name__, __file__)
