"""The names of ``dpcore.plugin.commands``, for authors of commands and of what runs many fits.

A command of a plugin is an ordinary program: it sees the files that it opens itself, and of a fit
the model alone.
"""

from dpcore.cli.printing import print_bytes, print_json, print_lines
from dpcore.fitting.loading import DataRequest
from dpcore.fitting.plan import Plan, make_plan
from dpcore.fitting.run import train
from dpcore.fitting.table_ledger import LedgerRequest
from dpcore.registry.commands import Argument, CommandGroup, Option

__all__ = [
    "Argument",
    "CommandGroup",
    "DataRequest",
    "LedgerRequest",
    "Option",
    "Plan",
    "make_plan",
    "print_bytes",
    "print_json",
    "print_lines",
    "train",
]
