"""The smallest case that shows a mistake, from `smallest_cases.json`: the arguments, and the results as pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from veriformer.pictures.from_arrays import compared
from veriformer.spec.laws import LAWS

from pages.markdown import page, prose
from pages.pictures import block, drawn
from pages.references import law_link

DATA = Path(__file__).resolve().parents[1] / "smallest_cases.json"
_LONG = 16


def smallest_cases() -> Mapping[str, Mapping[str, Any]]:
    """Return the cases by the slug of the mistake."""
    cases: dict[str, dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    return cases


def smallest_case(case: Mapping[str, Any]) -> list[str]:
    """Return the section about a case: the law that fails, the sizes, the arguments, expected and got."""
    law = LAWS[case["law"]]
    about = f"{law_link(law, '../')} fails: {law.statement[0].lower()}{law.statement[1:].rstrip('.')}."
    sizes = f"With {prose(case['case'])}:" if case["case"] else ""
    return [page("## The smallest case", about, sizes, _arguments(case["inputs"]), _result(case))]


def _arguments(lines: list[str]) -> str:
    if not lines:
        return ""
    text = f"<pre>{escape(chr(10).join(lines), quote=False)}</pre>"
    return block(f"<details><summary>The arguments</summary>{text}</details>" if len(lines) > _LONG else text)


def _result(case: Mapping[str, Any]) -> str:
    if "error" in case:
        return f"The call cannot be judged: {prose(case['error'])}"
    if isinstance(case["expected"], str):
        return f"- Expected: {prose(case['expected'])}\n- Got: {prose(case['got'])}"
    expected, got = (np.array(case[name], dtype=float) for name in ("expected", "got"))
    rows, columns = case["axes"]
    return drawn(compared(case["note"], expected, got, np.array(case["wrong"]), (rows, columns)))
