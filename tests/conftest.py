"""Array shapes in the reference's signatures are enforced while the tests run.

The import hook has to be in place before the package is first imported. A plugin that imported the reference
earlier would switch the checks off unnoticed, were it not for tests/reference/test_shapes_enforced.py.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

import jaxtyping
import pytest
from jaxtyping import install_import_hook
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

# The numeric tower lets an integer stand for a float, as Python's own typing does.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

# A test neither depends on what was compiled before nor writes to the cache of whoever runs it.
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")

# Commands say more where a workflow of GitHub runs them.
os.environ.pop("GITHUB_ACTIONS", None)

# Tests start hundreds of processes, each of which would compile the package anew: a third of what most of them take.
# Where no bytecode shall be written, it goes to a folder of its own.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(tempfile.gettempdir(), "veriformer_bytecode")

install_import_hook("veriformer.reference", CHECKER)
jaxtyping.config.update("jaxtyping_disable", True)
_every_function_checked = jaxtyping.jaxtyped


def _checked_where_it_is_worth_it(*, typechecker: Any) -> Callable[[Any], Any]:
    """Decorate what the import hook decorates, but no function inside a function while nothing is checked.

    Such a function is made anew in every call, and compiling its check took a third of what layers and models took.
    """
    decorated = _every_function_checked(typechecker=typechecker)

    def of(function: Any) -> Any:
        inside = "<locals>" in getattr(function, "__qualname__", "")
        return function if inside and jaxtyping.config.jaxtyping_disable else decorated(function)

    return of


jaxtyping.jaxtyped = _checked_where_it_is_worth_it


# What makes JSON, in the modules that `reports` holds, by the command whose schema it satisfies.
MAKES_JSON = {
    "check": ("json_report.report_as_json", "json_report.failure_as_json"),
    "compare": ("comparison_json.comparison_as_json", "ports_json.ports_as_json"),
    "identify": ("identified.identification_as_json", "identified.failure_of_identify"),
}


def strictly(command: str, written: Any) -> None:
    """Fail unless JSON is what the schema of its command says, without any key that the schema does not have."""
    error = best_match(_strict(command).iter_errors(written))
    if error is not None:
        where, file = error.json_path, f"conformance_tests/reports/schemas/{command}-1.json"
        raise AssertionError(f"JSON is not what {file} says, at {where}: {error.message[:500]}. A key is added there.")


@cache
def _strict(command: str) -> Draft202012Validator:
    from veriformer.conformance_tests.reports.schemas import schema

    closed = _closed(schema(command))
    # Looking at each of a million numbers would take most of the time; test_schemas.py does for some.
    closed["$defs"]["values"] = {}
    return Draft202012Validator(closed)


def _closed(part: Any) -> Any:
    """Return a schema in which an object has no key that is not listed."""
    if isinstance(part, list):
        return [_closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    listed = "type" in part and isinstance(part.get("properties"), dict)
    return {**({"additionalProperties": False} if listed else {}), **{name: _closed(one) for name, one in part.items()}}


def _hold_every_report_to_its_schema() -> None:
    """Validate whatever these functions return; nothing has imported them by name yet."""
    for command, functions in MAKES_JSON.items():
        for name in functions:
            module, _, function = name.partition(".")
            home = import_module(f"veriformer.conformance_tests.reports.{module}")
            setattr(home, function, _validated(command, getattr(home, function)))


def _validated(command: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def validated(*given: Any, **named: Any) -> Any:
        written = function(*given, **named)
        strictly(command, written)
        return written

    return validated


_hold_every_report_to_its_schema()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that were measured to be long, before those of a marker are chosen."""
    times = run_path(str(Path(__file__).with_name("measured_times.py")))
    slow = times["listed"]()
    for item in items:
        if times["function_of"](item.nodeid) in slow:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def holds_to_its_schema() -> Callable[[str, Any], None]:
    """Return a function that fails unless JSON is exactly what the schema of a command says."""
    return strictly


@pytest.fixture(autouse=True, scope="module")
def shapes_are_checked_in_tests_of_the_reference(request: pytest.FixtureRequest) -> Iterator[None]:
    """Elsewhere the reference serves as oracle, thousands of times a second; checking would take most of the time."""
    jaxtyping.config.update("jaxtyping_disable", "reference" not in request.path.parts)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)
