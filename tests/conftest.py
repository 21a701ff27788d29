"""Array shapes in the reference's signatures are enforced while the tests run.

The import hook has to be in place before the package is first imported. A plugin that imported the reference
earlier would switch the checks off unnoticed, were it not for tests/reference/test_shapes_enforced.py.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import pytest
from jaxtyping import install_import_hook

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


@pytest.fixture(autouse=True, scope="module")
def shapes_are_checked_in_tests_of_the_reference(request: pytest.FixtureRequest) -> Iterator[None]:
    """Elsewhere the reference serves as oracle, thousands of times a second; checking would take most of the time."""
    jaxtyping.config.update("jaxtyping_disable", "reference" not in request.path.parts)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)
