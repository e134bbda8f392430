"""The names of ``dpcore.plugin.commands``, for authors of commands and of what runs many fits.

A command of a plugin is an ordinary program: it sees the files that it opens itself, and of a fit
the model alone.
"""

from dpcore.cli.terminal.printing import print_json, print_lines
from dpcore.cli.terminal.progress import Step
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.planning.planned import Plan
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.request.run_request import DataRequest
from dpcore.fitting.rows.in_memory import train_rows
from dpcore.fitting.run import Run
from dpcore.fitting.run_ledger import SessionRun
from dpcore.registry.commands import Argument, CommandGroup, Option

__all__ = [
    "Argument",
    "CommandGroup",
    "DataRequest",
    "LedgerRequest",
    "Option",
    "Plan",
    "Run",
    "SessionRun",
    "Step",
    "make_plan",
    "print_json",
    "print_lines",
    "train_rows",
]
