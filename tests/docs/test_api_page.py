"""The page of what is used from Python: nothing public is without a sentence, a type, or a place on it."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest


@pytest.fixture(scope="session")
def api(builder: Any) -> Any:
    """Return the module that writes the page."""
    return import_module("pages.api")


def functions(api: Any) -> list[tuple[str, Any]]:
    """Return every public function, method and property, by name."""
    found = [*api.public(), *api.public_strategies()]
    methods = [
        (f"{name}.{member}", one) for name, kind in found if isinstance(kind, type) for member, one in api.members(kind)
    ]
    return [*(item for item in found if not isinstance(item[1], type)), *methods]


def test_everything_public_has_a_docstring_and_types(api: Any) -> None:
    for name, kind in [*api.public(), *api.public_strategies()]:
        assert inspect.getdoc(kind), name
    for name, value in functions(api):
        assert inspect.getdoc(value), name
        found = inspect.signature(value.fget if isinstance(value, property) else value)
        assert found.return_annotation is not found.empty, name
        untyped = [one.name for one in found.parameters.values() if one.annotation is one.empty and one.name != "self"]
        assert not untyped, f"{name}: {untyped}"


def test_the_page_has_all_of_it(api: Any, generated: dict[str, str]) -> None:
    page = generated["api.md"]
    for name, _ in api.public():
        assert f"### `veriformer.{name}`" in page
    for name, _ in functions(api):
        assert f"{name}`" in page
    assert "`operation`: the operation that a function is" in page
    assert "isolate: bool = False" in page


def test_a_list_of_parameters_is_a_list(api: Any) -> None:
    text = "Do it.\n\n    `one`: the first,\n        on two lines.\n    `two`: the W_k\n\n    Raises x."
    assert api.documented(text) == "Do it.\n\n- `one`: the first, on two lines.\n- `two`: the W\\_k\n\nRaises x.\n"
