"""Loading an implementation by import path."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from veriformer.adapters import keras_choice
from veriformer.adapters.errors import LoadError
from veriformer.adapters.import_errors import import_failed
from veriformer.adapters.siblings import search_position
from veriformer.adapters.spelling import closest, suggestion


def load_module(import_path: str, built_in: tuple[str, ...]) -> ModuleType:
    """Import and return a module; the working directory becomes importable, as under `python -m`.

    LoadError when there is no such module (`built_in` names are suggested too) or when importing it fails.
    """
    folder = Path.cwd()
    if not {"", str(folder)}.intersection(sys.path):
        sys.path.insert(search_position(folder), str(folder))
    try:
        with keras_choice.chosen():
            return import_module(import_path)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        if not _is_part_of(error.name, import_path):
            raise import_failed(import_path, error) from error
        raise LoadError(_not_found(import_path, built_in)) from error
    except BaseException as error:
        raise import_failed(import_path, error) from error


def object_in(module: ModuleType, object_path: str, place: str) -> object:
    """Return the object at a dotted path in a module, the module itself for an empty path; LoadError if none."""
    found: object = module
    for name in filter(None, object_path.split(".")):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            public = [other for other in dir(found) if not other.startswith("_")]
            hint = suggestion(name, public, cutoff=0.6) or f"; its names are {', '.join(public[:10]) or 'none'}"
            raise LoadError(f"{place} has no object {name!r}{hint}") from error
    return found


def _is_part_of(missing: str | None, import_path: str) -> bool:
    return missing is not None and f"{import_path}.".startswith(f"{missing}.")


def _not_found(import_path: str, built_in: tuple[str, ...]) -> str:
    parent, _, last = import_path.rpartition(".")
    if not parent:
        hint = suggestion(import_path, [*built_in, *_modules_in([str(Path.cwd())])])
        return (
            f"there is no built-in implementation and no module called {import_path!r}"
            f"{hint or '; the built-ins are ' + _libraries(built_in) + ', and a file is named with its .py'}"
        )
    package = sys.modules.get(parent)
    if hasattr(package, last):
        return f"{import_path} is not a module but an object; write {parent}:{last}"
    match = closest(last, _modules_in(getattr(package, "__path__", ())))
    hint = f"; did you mean '{parent}.{match}'?" if match else "; check the path, and that its package is installed"
    return f"there is no module called {import_path!r}{hint}"


def _libraries(built_in: tuple[str, ...]) -> str:
    """Return the names without those of variants, which `veriformer list implementations` has."""
    return ", ".join(name for name in built_in if "-" not in name)


def _modules_in(folders: Iterable[str]) -> list[str]:
    return [module.name for module in iter_modules(list(folders))]
