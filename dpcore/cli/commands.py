"""Registered commands as typer takes them, each imported and built when it is used."""

import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dpcore.cli.terminal.printing import print_lines
from dpcore.cli.terminal.streams import hush
from dpcore.errors import visible
from dpcore.privacy.first_party import is_ours
from dpcore.registry.catalogue import Registration, Registry, core_registry, load_registry
from dpcore.registry.commands import Argument, CommandGroup, Option

__all__ = ["command_of", "commands_by_heading", "registry_of", "stub_of"]


def registry_of(name: str) -> Registry:
    """Return the registry that has a command: the core's, without a plugin's import, if it can."""
    core = core_registry()
    return core if name in core.names("command") else load_registry("command")


def commands_by_heading() -> dict[str, list[Registration]]:
    """Return all commands under their headings: the core's in their order, and beside them those
    of plugins, each heading with the distribution."""
    ours = core_registry().in_order("command")
    others = [e for e in load_registry("command").entries("command") if e not in ours]
    found: dict[str, list[Registration]] = {}
    for entry in ours:
        found.setdefault(entry.data["group"] or "Commands", []).append(entry)
    for entry in others:
        heading = f"{entry.data['group'] or 'Commands'} ({entry.distribution} {entry.version})"
        found.setdefault(visible(heading), []).append(entry)
    return found


def stub_of(entry: Registration) -> TyperCommand:
    """Return a command with a summary alone, for a list of them."""
    return TyperCommand(entry.name, help=entry.summary)


def command_of(registry: Registry, name: str) -> Any:
    """Return a command, imported; help on a foreign one ends with its distribution."""
    entry, target = registry.get("command", name), registry.load("command", name)
    ours = registry is core_registry() or is_ours(entry.target.partition(":")[0])
    whose = None if ours else visible(f"A command of {entry.distribution} {entry.version}.")
    if isinstance(target, CommandGroup):
        return _group(entry.name, target, whose)
    if entry.data["fits"]:
        from dpcore.cli.fit_options import with_fit_options

        target = with_fit_options(target)
    app = _app()
    app.command(entry.name, cls=_Command, epilog=whose)(_stated(target))
    return typer.main.get_command(app)


def _group(name: str, group: CommandGroup, whose: str | None) -> Any:
    app = _app(name=name, help=group.help, epilog=whose, invoke_without_command=True)
    app.callback()(_help_if_alone)
    for each, function in group.commands:
        app.command(each, cls=_Command)(_stated(function))
    return typer.main.get_group(app)


def _app(**options: Any) -> typer.Typer:
    # Pretty tracebacks would print local variables, which may hold rows.
    plain: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
    return typer.Typer(add_completion=False, **plain, **options)


def _help_if_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print_lines(*context.get_help().splitlines())


class _Command(TyperCommand):
    """A command whose options stand under the headings that they state, and that refuses a second
    value of an option of one: click would take the last without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = self.make_parser(ctx).parse_args(args=[*args])[2]
        # Arguments are in the list once each; a flag means the same however often it is given.
        for option in (p for at, p in enumerate(given) if p in given[:at]):
            if not (option.multiple or getattr(option, "is_flag", False)):
                raise typer.BadParameter(
                    "it is given twice, and has one value: leave one out"
                    + ", or, where it takes a list by commas, write a,b"
                    * (option.type.name in ("text", "str"))  # By another name in typer 0.28.
                    + ".",
                    ctx,
                    option,
                )
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        headings: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            shown = parameter.get_help_record(ctx)
            if shown is None:
                continue
            usual = f"{parameter.param_type_name.capitalize()}s"  # Arguments or Options
            heading = getattr(parameter, "rich_help_panel", None) or usual
            # typer below 0.26 marks brackets for rich, which prints none of this.
            headings.setdefault(heading, []).append((shown[0], shown[1].replace("\\[", "[")))
        for heading in sorted(headings, key=lambda each: each != "Arguments"):
            with formatter.section(heading):
                formatter.write_dl(headings[heading])


def _stated(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function whose annotations are typer's."""
    hints = typing.get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    stated = {name: _annotation(hints[name]) for name in signature.parameters}

    def run(**values: Any) -> None:
        hush(bool(values.get("quiet")))
        function(**values)

    run.__name__, run.__doc__, run.__annotations__ = function.__name__, function.__doc__, stated
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p.replace(annotation=stated[p.name]) for p in signature.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )
    return run


def _annotation(hint: Any) -> Any:
    kind, *told = typing.get_args(hint)
    return Annotated[(kind, *map(_parameter, told))]


def _parameter(part: Any) -> Any:
    """Return typer's form of a parameter; what has it already stays."""
    if isinstance(part, Argument):
        return typer.Argument(
            help=part.help or None, metavar=part.metavar, show_default=part.show_default
        )
    if not isinstance(part, Option):
        return part
    eager: dict[str, Any] = (
        {"is_eager": True, "callback": _called(part.instead)} if part.instead else {}
    )
    names: Any = part.names.split()
    return typer.Option(
        *names,
        help=part.help or None,
        envvar=part.envvar,
        metavar=part.metavar,
        min=part.min,
        max=part.max,
        show_default=part.show_default,
        rich_help_panel=part.group or None,
        **eager,
    )


def _called(instead: Callable[[], None]) -> Callable[[bool], None]:
    def asked(value: bool) -> None:
        if value:
            instead()
            raise typer.Exit

    return asked
