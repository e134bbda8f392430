"""The names that plugin authors import: those for an optimizer here, and in ``parts`` those for
queries, mechanisms, accountants and losses.

Hooks are read at every start of the command line, which loads neither numba nor SciPy for a list of
names: all but ``hookimpl`` is imported when it is asked for.
"""

from dpcore.plugin.lazy_exports import lazy_exports
from dpcore.registry.hookspecs import hookimpl as hookimpl

__getattr__, __dir__ = lazy_exports(__name__, __file__)
