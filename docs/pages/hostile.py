"""The page of the programs that were written to deceive or to harm the suite."""

from __future__ import annotations

import ast
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

HOSTILE = Path(__file__).resolve().parents[2] / "tests" / "hostile"
_LOSS = {"failed": "violated", "passed": "holds", "error": "cannot be judged"}


def hostile_page() -> dict[str, str]:
    """Return the page: every program, and what the suite says of it."""
    told = tomllib.loads((HOSTILE / "verdicts.toml").read_text(encoding="utf-8"))
    lines = [
        "# Hostile implementations",
        "",
        f"{len(told)} programs that hang, crash, corrupt their process or cheat. Each gets the result below; none "
        "stops or hangs a run, or changes anything in the suite's own process. They run in "
        "[a process of their own](how_it_works.md#isolation), as every file does that `veriformer check` is given, "
        "with a time limit of one second a call and a memory limit of 128 MiB. The programs are in "
        "[tests/hostile/implementations](../tests/hostile/implementations); "
        "`python -m pytest tests/hostile` runs them.",
    ]
    for kind, entries in groupby(told.items(), key=lambda item: item[1]["kind"]):
        lines += ["", f"## {kind}", "", "| program | what it does | result |", "| --- | --- | --- |"]
        lines += [f"| `{name}` | {_sentence(name)} | {_result(entry)} |" for name, entry in entries]
    return {"hostile.md": "\n".join(lines) + "\n"}


def _sentence(name: str) -> str:
    text = (HOSTILE / "implementations" / f"{name}.py").read_text(encoding="utf-8")
    return _cell((ast.get_docstring(ast.parse(text)) or "").splitlines()[0].rstrip("."))


def _result(entry: dict[str, Any]) -> str:
    words = f": {_cell(entry['words'])}" if "words" in entry else ""
    law = f"`{entry['law']}` " if "law" in entry else ""
    return f"{law}{_LOSS[entry['status']]}{words}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
