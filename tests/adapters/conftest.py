"""A test that is parametrised with a framework is skipped where that framework is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from veriformer.adapters import arrays


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the item when its parameter `name` or `framework` is a framework that cannot be imported."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    for framework in {parameters.get("name"), parameters.get("framework")} & {"torch", "jax"}:
        if "missing" not in item.name and find_spec(framework) is None:
            pytest.skip(f"{framework} is not installed")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Keep torch to one thread: on a busy machine a second one makes small calls far slower."""
    if find_spec("torch"):
        arrays.framework("torch").use_one_thread()
