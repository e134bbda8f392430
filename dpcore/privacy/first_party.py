"""First-party code: the distributions of this repository, and which modules are theirs.

Code is ours where the files of its package are those of the core's manifest, each by its digest.
What a distribution says of itself, its name, version and record, makes nothing ours: another wheel
can say the same. A checkout has no manifest: there, code is ours where it has the checkout's files,
and the privacy statement says that nobody verified it. The statement names every other part.
"""

import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from dpcore.privacy.manifest import UNKNOWN, digests, folders, is_checkout, manifest_of, read

__all__ = [
    "DISTRIBUTIONS",
    "code_in_words",
    "is_named_as_a_package_of_ours",
    "found_by_name",
    "is_class",
    "is_function",
    "is_ours",
    "module_of",
    "name_of",
    "part_of",
    "unknown_packages",
]

_CORE = Path(__file__).resolve().parents[1]
_IS_CHECKOUT = is_checkout(_CORE)
_FOLDERS = folders(_CORE.parent) if _IS_CHECKOUT else {}
_MANIFEST = {} if _IS_CHECKOUT else read(_CORE)
DISTRIBUTIONS = {name: name.replace("-", "_") for name in (*_FOLDERS, *_MANIFEST)}
"""Every distribution of this repository, and the package that it installs."""
_OWNERS = {package: name for name, package in DISTRIBUTIONS.items()}
_FUNCTIONS = frozenset(map(id, (FunctionType, BuiltinFunctionType)))
# Python's own ways to a class's names.
_OF_CLASSES = {name: vars(type)[name].__get__ for name in ("__module__", "__qualname__")}


def is_named_as_a_package_of_ours(module: str) -> bool:
    """Return whether a module bears the name of a package of this repository beside the core, in
    whatever version."""
    return _OWNERS.get(module.partition(".")[0], "dpcore") != "dpcore"


def is_ours(module: str) -> bool:
    """Return whether a module, by name, is one of this repository: it is in the file that its name
    says, of a package all of whose files are known. A module that is not imported yet is looked
    for: its name may be borrowed. Among the byte code that Python keeps is none of ours."""
    spec: Any = _spec(module) if module.partition(".")[0] in _OWNERS else None
    return bool(spec and spec.has_location and spec.origin) and _VERDICTS[module, spec.origin]


def unknown_packages() -> set[str]:
    """Return the packages that were imported under a name of this repository beside the core, and
    have other files: parts of ours may call them."""
    loaded = filter(is_named_as_a_package_of_ours, _OWNERS.keys() & sys.modules.keys())
    return {package for package in loaded if not is_ours(package)}


def is_class(thing: Any) -> bool:
    """Return whether this is a class, whatever it says of its own ``__class__``."""
    return issubclass(type(thing), type)


def is_function(thing: Any) -> bool:
    """Return whether this is a function of Python's. A metaclass may say that its class equals
    another: types are told apart by what they are, never by ``==``."""
    return id(type(thing)) in _FUNCTIONS


def name_of(named: Any) -> str:
    """Return the qualified name of a class or a function as Python keeps it: neither a metaclass
    nor a ``str`` of a class of its own says another one."""
    return _kept(named, "__qualname__")


def module_of(named: Any) -> str:
    """Return the module of a class or a function, likewise. No module has a colon in its name: in
    ``"module:Class"`` what is before it would be read as another one's."""
    return _kept(named, "__module__").replace(":", "?")


def part_of(thing: Any) -> str:
    """Return the ``"module:Class"`` of an object, or of a class or function itself. A ``?`` is
    before it where it bears the name of a module of ours that has another thing there, or none.
    A name that is none, such as a sentence, is quoted."""
    # Others, too, may bear a name: one that they were given.
    named = thing if is_class(thing) or is_function(thing) else type(thing)
    module, name = module_of(named), name_of(named)
    return "?" * (is_ours(module) and _found(module, name) is not named) + ":".join(
        text if all(c.isalnum() or c in "_.<>-" for c in text) else ascii(text)
        for text in (module, name)
    )


def found_by_name(named: Any) -> Any:
    """Return what there is under a class's or a function's own name: in its module, or in classes
    there, and not in another module that this one knows."""
    return _found(module_of(named), name_of(named))


def _found(module: str, names: str) -> Any:
    found: Any = sys.modules.get(module)
    for place, name in enumerate(names.split(".")):
        found = getattr(found, name, None) if not place or is_class(found) else None
    return found


def _kept(named: Any, attribute: str) -> str:
    value = (
        _OF_CLASSES[attribute](named)
        if is_class(named)
        else vars(type(named))[attribute].__get__(named)
    )
    return str.__str__(value) if issubclass(type(value), str) else UNKNOWN


def _spec(module: str) -> Any:
    """Return where a module is, or would be, found."""
    if module in sys.modules:
        return (
            spec
            if getattr(spec := getattr(sys.modules[module], "__spec__", None), "name", None)
            == module
            else None
        )
    try:
        return find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None


# Whether a module of a file is ours, by both. Each release asks about every part of it, and each
# question of a derived one: ``cache`` would count these, and some are as many as rows make them.
class _Verdicts(dict[tuple[str, str], bool]):
    def __missing__(self, asked: tuple[str, str]) -> bool:
        names, file = asked[0].split("."), Path(asked[1]).resolve()
        place = file.parent if file.name == "__init__.py" else file.with_suffix("")
        return self.setdefault(
            asked,
            "__pycache__" not in names
            and file.is_file()
            and (package := (place, *place.parents)[len(names) - 1]).parent.joinpath(*names)
            == place
            and _is_known(_OWNERS[names[0]], str(package)),
        )


_VERDICTS = _Verdicts()


@cache
def _is_known(owner: str, folder: str) -> bool:
    """Return whether a folder has the files of a distribution of this repository, and no other
    code."""
    package = Path(folder)
    if _IS_CHECKOUT:
        own = _FOLDERS[owner]
        return package == own or digests(package) == digests(own)
    return bool(digests(package) == _MANIFEST.get(owner, {}).get("files"))


def code_in_words(parts: Iterable[str]) -> str | None:
    """Return a warning about the code behind a statement with those foreign parts: it is from a
    checkout, or has no manifest, or a package under a name of ours is another one. ``None`` where
    all is known."""
    packages = {part.partition(":")[0].partition(".")[0] for part in parts}
    told = [_version_in_words(_OWNERS[each]) for each in sorted(packages & _OWNERS.keys())]
    is_bare = _MANIFEST.get("dpcore", {}).get("version") == UNKNOWN
    how = ["ran from a source checkout"] * _IS_CHECKOUT or ["has no manifest"] * is_bare
    return (
        "; ".join([*(f"dpcore {each}, so that its files were not verified" for each in how), *told])
        or None
    )


def _version_in_words(owner: str) -> str:
    """Return the version of an unknown package under a name of ours, beside the one known."""
    try:
        found = metadata.version(owner)
    except metadata.PackageNotFoundError:
        return f"{DISTRIBUTIONS[owner]} is from no distribution"
    known = (_MANIFEST or manifest_of(_CORE.parent))[owner]["version"]
    if found == known:
        return f"{owner} {found} has other files than this dpcore knows"
    return f"{owner} is of version {found}, and this dpcore knows {known}"
