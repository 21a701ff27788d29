"""What is installed: every folder of code in the rooms, which setuptools finds by its `__init__.py`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("package", "spec", "reference", "conformance_tests", "adapters", "cli", "pictures", "lessons")
# Programs that mistakes are planted in are data: nothing imports them.
DATA = {ROOT / "conformance_tests" / "mistakes" / "sources"}


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")} - DATA
    assert len(folders) > 20
    assert not {folder for folder in folders if not (folder / "__init__.py").is_file()}


def test_every_folder_above_a_package_is_a_package() -> None:
    """A package below a folder that is none is not found."""
    inits = [path.parent for room in ROOMS for path in (ROOT / room).rglob("__init__.py")]
    assert not {folder.parent for folder in inits if folder.parent != ROOT} - set(inits)
