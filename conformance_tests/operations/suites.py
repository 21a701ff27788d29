"""The suites of all operations, each found in the folder of its topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType

from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.space import Space
from veriformer.conformance_tests.variants import Family
from veriformer.spec.extensions import installed
from veriformer.spec.operations import OPERATIONS

# A suite of any types: its members fit each other, and their results are never passed to another suite's.
AnySuite = Suite[Space, Case, Inputs]
_PACKAGE = __name__.rpartition(".")[0]


@cache
def suites() -> Mapping[str, AnySuite]:
    """Return the suite of each operation, in the order of the operations; ValueError where one has none, or two."""
    found: list[AnySuite] = [suite for module in modules_of("suite") for suite in module.SUITES]
    found += [suite for extension in installed().extensions for suite in extension.suites]
    by_name = {suite.operation: suite for suite in found}
    if len(by_name) != len(found) or by_name.keys() != OPERATIONS.keys():
        raise ValueError(f"suites of {sorted(suite.operation for suite in found)} for {sorted(OPERATIONS)}")
    return MappingProxyType({name: by_name[name] for name in OPERATIONS})


def suite_of(operation: str) -> AnySuite:
    """Return the suite of an operation; KeyError if there is none of that name."""
    return suites()[operation]


def modules_of(name: str) -> Iterator[ModuleType]:
    """Yield the module of this name of each topic that has one, in the order of the topics' names."""
    for topic in iter_modules([str(Path(__file__).parent)]):
        package = f"{_PACKAGE}.{topic.name}"
        if topic.ispkg and name in {module.name for module in iter_modules(import_module(package).__path__)}:
            yield import_module(f"{package}.{name}")


@cache
def family_of(operation: str) -> Family | None:
    """Return the family of an operation; None if it has none."""
    return suites()[operation].family() if operation in suites() else None
