"""A test that is parametrised with an implementation or a framework is skipped where a package of it is missing."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from veriformer.adapters import arrays
from veriformer.adapters.built_in import BUILT_IN


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the item when its parameter `name` or `framework` needs a package that cannot be imported."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    for name in {parameters.get("name"), parameters.get("framework")} & {*BUILT_IN, *arrays.FRAMEWORKS}:
        for package in BUILT_IN[name].packages if name in BUILT_IN else (name,):
            if "missing" not in item.name and find_spec(package) is None:
                pytest.skip(f"{package} is not installed")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Keep torch to one thread: on a busy machine a second one makes small calls far slower."""
    if find_spec("torch"):
        arrays.framework("torch").use_one_thread()
