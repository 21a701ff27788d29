"""How a script loads the implementation of a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath


def is_file(source: str | None) -> bool:
    """Return whether a source names a file, perhaps with an object in it, rather than a module."""
    return source is not None and source.partition(":")[0].endswith(".py")


def loading(source: str | None, taken_as: Mapping[str, str]) -> list[str]:
    """Return the lines that load an implementation as `implementation`; with the functions `taken_as` operations."""
    if source is None:
        return ["implementation = ...  # the object that was checked"]
    if taken_as:
        asked = ", ".join(repr(f"{function}={operation}") for function, operation in taken_as.items())
        return [
            "from veriformer.adapters.asked import read_asked",
            "from veriformer.adapters.loading import load",
            "",
            f"# The arguments are handed over as {' and '.join(taken_as)} takes them.",
            f"operations = load({source!r}, read_asked(None, [{asked}])).operations",
            "implementation = SimpleNamespace(**operations)",
        ]
    place, _, object_path = source.partition(":")
    if is_file(source):
        name, folder = PurePath(place).stem, str(PurePath(place).parent)
        tail = f".{object_path}" if object_path else ""
        return [
            f"sys.path.append({folder!r})",
            f"spec = importlib.util.spec_from_file_location({name!r}, {place!r})",
            f"module = sys.modules[{name!r}] = importlib.util.module_from_spec(spec)",
            "spec.loader.exec_module(module)",
            f"implementation = module{tail}",
        ]
    if not object_path:
        return [f"import {place} as implementation"]
    return [f"import {place}", "", f"implementation = {place}.{object_path}"]
