"""The options of steps, algorithms and readers on the command line, from what is registered beside
their names."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from dpcore.errors import InvalidInputError, RegistryError, replacing
from dpcore.privacy.first_party import DISTRIBUTIONS, is_ours
from dpcore.registry.catalogue import Registration, load_registry
from dpcore.registry.step_options import OPTION_TYPES, StepOption

__all__ = ["heading_of", "steps_asked", "targets_asked", "with_step_options"]

_CORE = "dpcore"
_A = {"optimizer": "an algorithm", "step": "a step", "reader": "a reader"}
_OF_A_RUN = StepOption(
    "test-fraction",
    "float",
    help="Hold out rows and report on them, without privacy.",
    shared=True,
)
"""The option of a run that steps share, where none that does is installed."""


def with_step_options(
    command: Callable[..., None], kinds: tuple[str, ...] = ("step",)
) -> Callable[..., None]:
    """Return a command with the options of all registered steps, or of further ``kinds``, beside
    its own: it is handed them as ``of_steps``, by the name of their parameter. In the help text
    each follows the command's own options of its group.

    Raises RegistryError for an option that two distributions claim.
    """
    own = inspect.signature(command, eval_str=True)
    fixed = {name: p for name, p in own.parameters.items() if name != "of_steps"}
    added = [_parameter(*each) for each in _declared([*fixed], kinds)]
    parameters = [*fixed.values()]
    for parameter in added:
        alike = [at for at, p in enumerate(parameters) if heading_of(p) == heading_of(parameter)]
        parameters.insert(alike[-1] + 1 if alike else len(parameters), parameter)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        of_steps = {p.name: values.pop(p.name) for p in added}
        command(**values | _address_asked(values, of_steps), of_steps=of_steps)

    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def heading_of(parameter: inspect.Parameter) -> str:
    """Return the heading that an option states for its help text; empty for none."""
    told: Any = parameter.annotation.__metadata__[0]
    return str(getattr(told, "rich_help_panel", None) or getattr(told, "group", ""))


def targets_asked(of_steps: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options of algorithms, by name; ``None`` for those not given: a
    default is the algorithm's own, and nothing to the others."""
    given = _given(load_registry("optimizer").entries("optimizer"), of_steps)
    return {o.parameter: None if value == o.default else value for o, value in given.items()}


def _address_asked(values: Mapping[str, Any], of_steps: Mapping[str, Any]) -> dict[str, str]:
    """Return the address of rows, as ``data``, with the options of readers that were given as keys
    of it; nothing where none was."""
    given = _given(load_registry("reader").entries("reader"), of_steps).items()
    keys = urlencode({o.name: value for o, value in given if value != o.default}, quote_via=quote)
    return {"data": values["data"] + ("&" if "?" in values["data"] else "?") + keys} if keys else {}


def _given(entries: Iterable[Registration], of_steps: Mapping[str, Any]) -> dict[StepOption, Any]:
    """Return the options of registrations, each with its value, or default where a command does
    not have them."""
    return {o: of_steps.get(o.parameter, o.default) for e in entries for o in e.data["options"]}


def steps_asked(of_steps: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the steps that the values of options ask for, each imported then.

    Raises InvalidInputError for an option of a step that no other asks for.
    """
    registry = load_registry("step")
    found = []
    for entry in registry.entries("step"):
        given = _given([entry], of_steps)
        if any(option.asks(value) for option, value in given.items()):
            fields = {o.field: v for o, v in given.items() if o.field and v != o.default}
            found.append(_made(entry, registry.load("step", entry.name), fields))
            continue
        for option in (o for o, value in given.items() if o.alone and value != o.default):
            raise InvalidInputError(option.alone.replace("{value}", repr(given[option])))
    return tuple(found)


def _made(entry: Registration, kind: Any, fields: dict[str, Any]) -> Any:
    """Return a step of these fields; InvalidInputError where it needs others, RegistryError where
    it has another name than it is registered by."""
    whose = f"The step {entry.name} of {entry.distribution}"

    def told(error: Exception) -> InvalidInputError:  # Python's own, of the names of fields.
        return InvalidInputError(f"{whose} needs other options beside these ({error}).")

    with replacing(TypeError, by=told):
        step = kind(**fields)
    if entry.distribution != _CORE and step.name.replace("_", "-") != entry.name:
        raise RegistryError(
            f"{whose} says that its name is {step.name!r}: its section would be under that of "
            "another."
        )
    return step


def _declared(own: list[str], kinds: tuple[str, ...]) -> list[tuple[str, StepOption]]:
    """Return the options of all algorithms and steps, an option that steps share once, and what
    the algorithms of a distribution have in common, each with the distribution that is told of it:
    none of dpcore's own.

    ``own`` : parameters of the command itself.
    """
    found: dict[str, tuple[Registration, StepOption]] = {}
    for entry in (e for kind in kinds for e in load_registry(kind).entries(kind)):
        for option in entry.data["options"]:
            before = found.get(option.parameter)
            if before and (before[0].distribution, before[1]) == (entry.distribution, option):
                continue
            is_taken = option.parameter in own or not _is_as_of_a_run(entry, option)
            if is_taken or (before and not _go_together(before, (entry, option))):
                other = f"{_CORE} itself" if before is None else before[0].distribution
                which = entry.distribution if before is None else "one of them"
                raise RegistryError(
                    f"The option --{option.name} of {_A[entry.kind]} is claimed by {other} and by "
                    f"{entry.distribution}; uninstall {which}."
                )
            found.setdefault(option.parameter, (entry, option))
    told = [(_whose(entry), option) for entry, option in found.values()]
    if _OF_A_RUN.parameter not in found:
        told.append(("", _OF_A_RUN))
    return sorted(told, key=lambda each: bool(each[0]))


def _is_as_of_a_run(entry: Registration, option: StepOption) -> bool:
    """Return whether an option of the run's own name is the run's, which steps share."""
    return option.parameter != _OF_A_RUN.parameter or (
        (entry.kind, option.type, option.shared) == ("step", _OF_A_RUN.type, True)
    )


def _go_together(
    one: tuple[Registration, StepOption], other: tuple[Registration, StepOption]
) -> bool:
    """Return whether an option of two parts of one kind is the same one, which they share."""
    kinds = {(entry.kind, option.type, option.shared) for entry, option in (one, other)}
    return len(kinds) == 1 and one[1].shared


def _whose(entry: Registration) -> str:
    is_own = entry.distribution in DISTRIBUTIONS and is_ours(entry.target.partition(":")[0])
    return "" if is_own else f" ({entry.distribution} {entry.version})"


def _parameter(whose: str, option: StepOption) -> inspect.Parameter:
    kind: Any = OPTION_TYPES[option.type]
    told = typer.Option(f"--{option.name}", help=option.help + whose, rich_help_panel=option.group)
    return inspect.Parameter(
        option.parameter,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[kind if option.default is not None else kind | None, told],
    )
