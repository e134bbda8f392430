"""Errors as the command line shows them: one line on standard error, exit status 2."""

from typing import Any

import typer
from typer.core import TyperGroup

from dpcore.cli.terminal.printing import print_lines
from dpcore.errors import DpcoreError, TargetNotMetError
from dpcore.moved import where_to_get

__all__ = ["OneLineErrors"]

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

# No mistake of the caller's: a run was made and charged, and gave no model.
_NOT_MET = 3
# 128 and the number of the interrupt signal, as shells have it.
_STOPPED = 130


class OneLineErrors(TyperGroup):
    """The group of commands: a caller's mistake ends as ``dpcore: what and what to do``."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        if not args:  # the help text
            return super().make_context(info_name, args, *rest, **extra)
        try:
            return super().make_context(info_name, args, *rest, **extra)
        except _UsageError as error:
            _fail(_mistake(error), error)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            _fail(_mistake(error), error)
        except TargetNotMetError as error:
            _fail(f"{error} {_notes(error)}", error, _NOT_MET)
        except DpcoreError as error:
            _fail(f"{error} {_notes(error)}", error)
        except KeyboardInterrupt as stop:
            told = _notes(stop)
            _fail(f"stopped. {told}" if told else "stopped; nothing was written.", stop, _STOPPED)
        except BrokenPipeError as error:
            if told := _notes(error):
                print_lines(f"dpcore: nobody reads the output. {told}", err=True)
            raise
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            _fail(f"{named}{error.strerror or type(error).__name__}. {_notes(error)}", error)


def _mistake(error: Any) -> str:
    """Return what is wrong with the words of a command, and where an option is to be had."""
    where = where_to_get("option", getattr(error, "option_name", ""))
    return f"{error.message.rstrip('.')}. {where}" if where else str(error.format_message())


def _notes(error: BaseException) -> str:
    """Return what was added to an error on its way, such as what had been charged."""
    return " ".join(getattr(error, "__notes__", ()))


def _fail(message: str, error: BaseException, status: int = 2) -> None:
    print_lines(" ".join(("dpcore:", *message.split())), err=True)
    raise typer.Exit(status) from error
