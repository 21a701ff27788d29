"""The files of users of JAX whose checking is timed: right programs, in which every law of attention has its say."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

pytestmark = pytest.mark.long

USERS = Path(__file__).parents[2] / "benchmarks" / "users"
LAWS = (
    "attention.sinks.value",
    "attention.softcap.value",
    "grouped_query.window.value",
    "grouped_query.repeated_heads",
)


@pytest.mark.parametrize("name", ["attention_eager.py", "attention_jitted.py"])
def test_a_file_that_is_timed_conforms_in_every_keyword(name: str) -> None:
    pytest.importorskip("jax")
    report = check(str(USERS / name), laws=LAWS, tier="quick")
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(LAWS, "passed")
