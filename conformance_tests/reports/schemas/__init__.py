"""JSON Schemas (2020-12) of what `--json` writes: a file for each command, its number that of `"schema"` in reports.

They allow further keys, since later versions of Veriformer may add some under the same number: an older file describes
a newer report as well.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal, get_args

from veriformer.conformance_tests.reports.json_report import SCHEMA

Command = Literal["check", "compare", "identify"]
COMMANDS: tuple[Command, ...] = get_args(Command)


def file_name(command: Command, version: int = SCHEMA) -> str:
    """Return the name of the file in this package, and in the folder `schemas` of the documentation."""
    return f"{command}-{version}.json"


def schema_text(command: Command, version: int = SCHEMA) -> str:
    """Return the JSON Schema of what a command writes; FileNotFoundError for a version that there never was."""
    return (files(__name__) / file_name(command, version)).read_text(encoding="utf-8")


def schema(command: Command, version: int = SCHEMA) -> dict[str, Any]:
    """Return the JSON Schema of what a command writes; FileNotFoundError for a version that there never was."""
    written: dict[str, Any] = json.loads(schema_text(command, version))
    return written
