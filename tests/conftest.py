"""Array shapes in the reference's signatures are enforced while the tests run.

The import hook has to be in place before the package is first imported. A plugin that imported the reference
earlier would switch the checks off unnoticed, were it not for tests/reference/test_shapes_enforced.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import jaxtyping
import pytest
from jaxtyping import install_import_hook

# The numeric tower lets an integer stand for a float, as Python's own typing does.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

# A test neither depends on what was compiled before nor writes to the cache of whoever runs it.
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")

install_import_hook("veriformer.reference", CHECKER)


@pytest.fixture(autouse=True)
def shapes_are_checked_in_tests_of_the_reference(request: pytest.FixtureRequest) -> Iterator[None]:
    """Elsewhere the reference serves as oracle, thousands of times a second; checking would take most of the time."""
    jaxtyping.config.update("jaxtyping_disable", "reference" not in request.path.parts)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
