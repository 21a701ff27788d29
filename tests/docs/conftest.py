"""The program that builds the documentation, and what it draws from the code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="session")
def builder() -> Iterator[Any]:
    """Return the module docs/build.py, imported as it is when it is run as a program."""
    sys.path.insert(0, str(DOCS))
    try:
        yield import_module("build")
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="session")
def generated(builder: Any) -> dict[str, str]:
    """Return every page that is drawn from the code, by its path."""
    pages: dict[str, str] = builder.generated_pages()
    return pages


@pytest.fixture(scope="session")
def built(builder: Any, generated: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all pages, as Sphinx reads them."""
    folder: Path = tmp_path_factory.mktemp("documentation") / "sources"
    builder.write_sources(generated, folder)
    return folder
