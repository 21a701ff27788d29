"""Loading an implementation from its file."""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from veriformer.adapters import keras_choice
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.import_errors import import_failed
from veriformer.adapters.private_names import module_name
from veriformer.adapters.siblings import SiblingImports
from veriformer.adapters.spelling import closest


class _FreshLoader(SourceFileLoader):
    """Compiles the present source: a cached compilation may be stale within a second of an edit."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def place_of(target: Any) -> Any:
    """Return the place that a path of `pathlib` names, as a string; anything else as it is."""
    return os.fspath(target) if isinstance(target, os.PathLike) else target


def load_file(place: str) -> tuple[ModuleType, SiblingImports]:
    """Return the module in a .py file, under a private name, and its imports from its own folder.

    LoadError when there is no such file, when it is not a .py file, or when importing it fails.
    """
    path = _existing_file(place)
    siblings = SiblingImports(path.parent)
    module = _new_module(path)
    sys.modules[module.__name__] = module
    try:
        with siblings.importable(), keras_choice.chosen(path):
            module.__loader__.exec_module(module)  # type: ignore[union-attr]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        raise import_failed(place, error) from error
    return module, siblings


def _new_module(path: Path) -> ModuleType:
    name = module_name(path)
    spec = spec_from_loader(name, _FreshLoader(name, str(path)), origin=str(path))
    if spec is None:
        raise LoadError(f"{path} cannot be loaded as a module; rename it to a plain name that ends in .py")
    spec.has_location = True
    return module_from_spec(spec)


def _existing_file(place: str) -> Path:
    if not place:
        raise LoadError("the name of the implementation is empty; give a built-in name, a .py file or an import path")
    path = _path(place)
    if path.is_dir():
        raise LoadError(f"{place} is a folder; name a .py file in it{_files_in(path)}")
    if not path.exists():
        raise LoadError(f"there is no file {place}{_nearby(path, place)}")
    if path.suffix != ".py":
        raise LoadError(f"{place} is not a Python file; name a file that ends in .py")
    return path


def _path(place: str) -> Path:
    try:
        path = Path(place).expanduser().resolve()
        path.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise LoadError(f"{place} cannot be a file's name ({describe(error)}); name a .py file") from error
    return path


def _files_in(folder: Path) -> str:
    names = sorted(path.name for path in folder.glob("*.py"))[:5]
    return f", for example {', '.join(names)}" if names else ""


def _nearby(path: Path, place: str) -> str:
    if not path.parent.is_dir():
        return f"; the folder {Path(place).parent} does not exist either"
    match = closest(path.name, [other.name for other in path.parent.glob("*.py")], cutoff=0.6)
    return f"; did you mean {Path(place).parent / match}?" if match else f"; check the path, seen from {Path.cwd()}"
