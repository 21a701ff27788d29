"""Finding an implementation under test: a built-in one, a file, an import path, or an object."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType

from veriformer.adapters import compilation_cache, declarations
from veriformer.adapters.arrays import import_package
from veriformer.adapters.asked import NOTHING_ASKED, Asked
from veriformer.adapters.built_in import BUILT_IN, BuiltIn
from veriformer.adapters.derived import derived_from, with_derived
from veriformer.adapters.errors import LoadError
from veriformer.adapters.files import load_file
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.matching.adopting import adopt
from veriformer.adapters.matching.forms import one_by_one_in, rearranged_in
from veriformer.adapters.modules import load_module, object_in
from veriformer.adapters.notices import notices
from veriformer.adapters.siblings import SiblingImports


def load(target: str | object, asked: Asked = NOTHING_ASKED) -> Implementation:
    """Return the implementation that `target` names or is.

    A string is a built-in name (see BUILT_IN), a file ("my_attention.py", or "my_attention.py:object" for something
    in it), or an import path ("package.module" or "package.module:object") for which the working directory is
    searched first. An `Implementation` is returned as it is; any other object is taken as the implementation itself.

    Raises LoadError, or its subclass MissingFramework, with one sentence that says what was wrong and what to do; its
    `__cause__` is an exception that the implementation raised. KeyboardInterrupt passes.
    """
    if isinstance(target, Implementation):
        return target
    with compilation_cache.kept():
        return _loaded(target, asked)


def _loaded(target: str | object, asked: Asked) -> Implementation:
    if not isinstance(target, str):
        return _implementation(target, _name_of(target), None, None, asked=asked)
    if target in BUILT_IN:
        return _built_in(BUILT_IN[target])
    SO_FAR.begin(target)
    SO_FAR.doing("importing it")
    place, _, object_path = target.partition(":")
    if is_path(place):
        module, siblings = load_file(place)
        return _implementation(object_in(module, object_path, place), target, place, siblings, module, asked=asked)
    module = load_module(place, tuple(BUILT_IN))
    return _implementation(object_in(module, object_path, place), target, target, None, module, asked=asked)


def load_again(implementation: Implementation) -> Implementation:
    """Return another copy of an implementation, which shares only global state with it.

    In a worker the copy is loaded when it is first called. Raises LoadError as `load` does.
    """
    if implementation.residence is not None:
        return replace(implementation, residence=implementation.residence.another())
    return replace(load(implementation.name, implementation.asked), dtypes=implementation.dtypes)


def _built_in(built_in: BuiltIn) -> Implementation:
    with compilation_cache.environment(built_in.environment):
        for package in built_in.packages:
            import_package(package)
    return _implementation(import_module(built_in.module), built_in.name, built_in.module, None)


def _with_documented(documented: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """Return the conventions that are declared, and those that documentation states of which no value is declared."""
    stated = {name: value for name, value in documented.items() if name.partition(".")[2] not in declared}
    return {**stated, **declared}


def _implementation(
    found: object,
    name: str,
    source: str | None,
    siblings: SiblingImports | None,
    home: ModuleType | None = None,
    asked: Asked = NOTHING_ASKED,
) -> Implementation:
    adopted = adopt(found, name, home, asked)
    arrays = declarations.read_framework(found, name, home, adopted.framework)
    names_framework = (asked.framework or declarations.declared_framework(found, name, home)) is not None
    offered = with_derived(adopted.operations, found, arrays)
    declared = declarations.read_declarations(found, name, arrays)
    limited = replace(
        declared,
        limitations=(*declared.limitations, *adopted.limitations),
        fixed_values={**adopted.fixed_values, **declared.fixed_values},
        conventions=MappingProxyType(_with_documented(adopted.conventions, declared.conventions)),
    )
    return Implementation(
        name=name,
        framework=arrays,
        operations=offered,
        source=source,
        files=_files(source, siblings),
        notices=(
            *adopted.sentences,
            *notices(
                found,
                adopted.operations,
                home,
                framework_found=adopted.framework is not None,
                judged={one.name: one.operation for one in adopted.matches},
            ),
        ),
        siblings=siblings,
        derived=derived_from(offered),
        taken_as={one.name: one.operation for one in adopted.matches},
        not_judged=adopted.others,
        judged_alone=adopted.alone,
        rearranged_with=rearranged_in(adopted.operations),
        one_by_one=one_by_one_in(adopted.operations),
        is_declared=not isinstance(found, ModuleType) or names_framework,
        asked=asked,
        **vars(limited),
    )


def _files(source: str | None, siblings: SiblingImports | None) -> tuple[str, ...]:
    if source is None:
        return ()
    if siblings is None:
        return _of_modules([sys.modules.get(source)])
    imported = siblings.modules
    return (str(Path(source).expanduser().resolve()), *_of_modules([imported[name] for name in sorted(imported)]))


def _of_modules(modules: Iterable[ModuleType | None]) -> tuple[str, ...]:
    places = (getattr(module, "__file__", None) for module in modules)
    return tuple(place for place in places if place and Path(place).is_file())


def _name_of(found: object) -> str:
    if isinstance(found, ModuleType | type | FunctionType):
        return found.__name__
    if found is None:
        raise LoadError("the implementation is None; give a module, an object, or the name of one")
    return type(found).__name__


def is_path(place: str) -> bool:
    """Return whether a string names a file or folder rather than a module."""
    if place.endswith(".py") or os.sep in place or "/" in place or not place:
        return True
    path = Path(place)
    try:
        return path.is_file() or (path.is_dir() and not (path / "__init__.py").exists())
    except (OSError, ValueError):
        # No file can have this name; it may be too long.
        return False
