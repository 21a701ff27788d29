"""The files of this folder: records, and the sources that mistakes are planted in. They may lie in an archive."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from veriformer.spec.extensions import installed


def read_json(name: str) -> Any:
    """Return the contents of a JSON file."""
    return json.loads(_folder().joinpath(name).read_text(encoding="utf-8"))


def read_planted() -> tuple[dict[str, Any], ...]:
    """Return the records of planted mistakes, file by file."""
    files = sorted(_members("planted", ".toml"), key=lambda file: file.name)
    return tuple(record for file in files for record in tomllib.loads(file.read_text(encoding="utf-8"))["mistake"])


def read_equivalent() -> tuple[dict[str, Any], ...]:
    """Return the records of mistakes that change nothing."""
    text = _folder().joinpath("equivalent.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["equivalent"])


def source_names() -> tuple[str, ...]:
    """Return the names of the correct sources; each ends in its framework, as `attention_numpy` does."""
    return tuple(sorted(file.name.removesuffix(".py") for file in _members("sources", ".py")))


def read_source(name: str) -> str:
    """Return the text of a correct source; KeyError where none has that name."""
    for extension in installed().extensions:
        if name in extension.sources:
            return str(extension.sources[name])
    if name not in source_names():
        raise KeyError(f"no source is called {name!r}; there are {', '.join(source_names())}")
    return _folder().joinpath("sources", f"{name}.py").read_text(encoding="utf-8")


def _members(folder: str, ending: str) -> list[Traversable]:
    return [file for file in _folder().joinpath(folder).iterdir() if file.name.endswith(ending)]


def _folder() -> Traversable:
    return resources.files(__package__)
