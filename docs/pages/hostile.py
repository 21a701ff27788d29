"""The page of the programs that were written to deceive or to harm the suite."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

HOSTILE = Path(__file__).resolve().parents[2] / "tests" / "hostile"
_LOSS = {"failed": "violated", "passed": "holds", "error": "ends in an error"}


def hostile_page() -> dict[str, str]:
    """Return the page: every program, and what the suite says of it."""
    told = tomllib.loads((HOSTILE / "verdicts.toml").read_text(encoding="utf-8"))
    lines = [
        "# Hostile implementations",
        "",
        f"These {len(told)} programs hang, crash, corrupt their process or cheat. The tables say what a run says of "
        "each. No program stops a run, makes it hang, or changes anything in the suite's own process. Each runs in "
        "[a process of its own](how_it_works.md#isolation), as every file that `veriformer check` is given does; here "
        "a call may take one second, and the process 128 MiB of memory. The programs are in "
        "[tests/hostile/implementations](../tests/hostile/implementations); "
        "`python -m pytest tests/hostile` runs them.",
    ]
    for kind in dict.fromkeys(entry["kind"] for entry in told.values()):
        lines += ["", f"## {kind}", "", "| program | what it does | result |", "| --- | --- | --- |"]
        alike = ((name, entry) for name, entry in told.items() if entry["kind"] == kind)
        lines += [f"| `{name}` | {_sentence(name)} | {_result(entry)} |" for name, entry in alike]
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
