"""The sixth page: names for authors of readers and of stores of rows.

The stub beside this file lists them.
"""

from dpcore.plugin.pages import page

__getattr__, __dir__ = page(__name__, __file__)
