"""The hand-written attention of the documentation conforms: no law accuses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
STEPS = ("window.*", "softcap.*", "sinks.*", "order_of_steps")
NEW = (*(f"{prefix}.{step}" for prefix in ("attention", "grouped_query") for step in STEPS), "merge.*")
# A law about each step is enough where every shape is compiled.
COMPILED = ("attention.window.value", "attention.softcap.value", "attention.sinks.value", "merge.value", "merge.shift")


@pytest.mark.parametrize(("framework", "laws"), [("torch", NEW), ("jax", COMPILED)])
def test_no_law_accuses_the_example(framework: str, laws: tuple[str, ...]) -> None:
    pytest.importorskip(framework)
    for seed in (0, 1):
        report = check(str(EXAMPLES / f"attention_{framework}.py"), laws=laws, tier="quick", seed=seed)
        accused = [(result.law.id, result.reason) for result in report.results if result.status != "passed"]
        assert accused == []
        assert report.results
