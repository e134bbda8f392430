"""Algorithms of others: executables in environments of their own, which ``dpcore compare`` runs.

A distribution registers some by an entry point in the group ``dpcore.externals``, whose module has
the hook ``register_externals``. Nobody has checked their guarantees, and they are marked so.
"""

from dpcore_lab.externals.registry import External, hookimpl, load_externals

__all__ = ["External", "hookimpl", "load_externals"]
