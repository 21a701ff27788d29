"""What is installed: every folder of code in the rooms, for setuptools is given their names one by one."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("spec", "reference", "conformance_tests", "adapters", "cli")


def test_every_package_is_installed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    folders = [path.parent.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("__init__.py")]
    assert len(folders) > 20
    assert sorted(listed) == sorted("veriformer." + ".".join(folder.parts) for folder in folders)
