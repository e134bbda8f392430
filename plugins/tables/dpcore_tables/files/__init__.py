"""Files of rows: formats, paths, and rows encoded a piece at a time.

The stub beside this file lists its names, each imported when it is asked for.
"""

from dpcore.plugin.pages import page

__getattr__, __dir__ = page(__name__, __file__)
