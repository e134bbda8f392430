"""The options that every command that fits has, and the run that they ask for.

A command of ``dpcore train``'s kind is registered with ``fits=True``: it has them, and those of the
steps, beside its own, and is handed them as ``fit``, a ``FitOptions``.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dpcore.cli import options
from dpcore.cli.step_options import heading_of, steps_asked, with_step_options
from dpcore.cli.terminal.streams import tell_outlook
from dpcore.errors import InvalidInputError
from dpcore.fitting.request.run_request import DataRequest
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.facts import release_bounds
from dpcore.model.file import check_out
from dpcore.registry.catalogue import load_registry
from dpcore.registry.commands import Option

__all__ = ["FitOptions", "with_fit_options"]

_OF_ROWS = ("data", "schema", "target", "bad_rows", "test", "unit", "rows_per_unit")


def with_fit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of a fit beside its own, as ``fit``. Those of its own that
    state a heading follow, within it."""
    stated = inspect.signature(command, eval_str=True).parameters
    own = [p for p in stated.values() if p.name != "fit"]
    shared = inspect.signature(_shared, eval_str=True).parameters

    @functools.wraps(command)
    def run(**values: Any) -> None:
        command(FitOptions({name: values.pop(name) for name in shared}), **values)

    whole = (*(p for p in own if not heading_of(p)), *shared.values(), *filter(heading_of, own))
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in whole]
    )
    return with_step_options(run)


class FitOptions:
    """The options of a fit, as they were given, and those of the steps (``of_steps``), by name.

    What the library says of a run before it starts is printed from now on, unless ``quiet``.
    ``request`` : the rows that were asked for, once ``settings`` were.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        tell_outlook(given["quiet"])

    def settings(
        self, loss: str | None, of_rows: Mapping[str, Any] | None = None, **own: Any
    ) -> Settings:
        """Return the settings of the fit; ``own`` : those of the command, and ``of_rows`` what it
        asks of the rows.

        Raises InvalidInputError, RegistryError or DataError for what cannot be, such as a model's
        file that is an input.
        """
        given, of_steps = self.given, self.given["of_steps"]
        also = steps_asked(of_steps)
        # Before what reads rows is asked for.
        algo = (
            load_registry("optimizer")
            .get(
                "optimizer",
                Settings.default_algorithm() if given["algo"] is None else given["algo"],
            )
            .name
        )
        self.request, loss = DataRequest(
            **{name: given[name] for name in _OF_ROWS},
            **(of_rows or {}),
            test_fraction=of_steps["test_fraction"],
            private_bounds=release_bounds(also),
        ).with_loss(loss, own.get("multiclass"))
        check_out(
            given["out"],
            {f"--{name}": given.get(name) for name in ("data", "schema", "test", "users")},
        )
        return Settings(
            algo=algo,
            loss=loss,
            relation=given["relation"],
            threads=given["threads"],
            use=Option.assigned(given["use"], "--use"),
            units=self.request.has_units,
            class_weight=Settings.public_weights(of_steps.get("class_weight")),
            also=also,
            seed=given["seed"],
            **own,
        )

    def run(self, by: Callable[..., Any]) -> None:
        """Run, write the model's file, if any, and print the report. ``by`` : returns the
        ``Training`` of a request, charges and a request for the table's ledger. The request has
        that ledger, and the name of a foreign ``by`` for the statement: neither is ``by``'s to say.

        Raises InvalidInputError where no ``settings`` were asked for before.
        """
        from dpcore.cli.training import run_and_tell

        if not hasattr(self, "request"):
            raise InvalidInputError("Expected fit.settings(...) before fit.run(by), not within by.")
        run_and_tell(by, self.request, self.given)


def _shared(
    *,
    algo: options.Algorithm = None,
    data: options.Data = "census-sim",
    schema: options.SchemaFile = None,
    target: options.Target = None,
    relation: options.OfRelation = None,
    use: options.Use = None,
    threads: options.Threads = None,
    bad_rows: options.BadRows = "refuse",
    test: options.TestFile = None,
    unit: options.Unit = None,
    rows_per_unit: options.RowsPerUnit = None,
    out: options.Out = None,
    seed: options.Seed = None,
    ledger: options.LedgerOf = None,
    analyst: options.Analyst = "",
    same_table: options.SameTable = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    of_steps: Any,
) -> None:
    """Have the parameters of every command that fits, in the order of its help text."""
