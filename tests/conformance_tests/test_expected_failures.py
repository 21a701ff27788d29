"""A reason that begins with "at some seeds" lets the law hold; every other entry is stale when it does."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.expected_failures import Entry, ExpectedFailures
from veriformer.conformance_tests.reports.law_tests import law_tests


@pytest.mark.parametrize(("reason", "conforms"), [("at some seeds: rounding", True), ("rounding", False)])
def test_an_entry_whose_law_holds(reason, conforms):
    law = next(result.law.id for result in check("numpy", operations=["gelu"], tier="quick").results)
    expected = ExpectedFailures((Entry(law, reason),))
    report = check("numpy", laws=[law], tier="quick", expected_failures=expected)
    assert (report.exit_status == 0) is conforms
    assert bool(report.stale) is not conforms


def test_an_entry_of_some_seeds_is_stale_when_its_law_is_not_declared():
    class OnlySilu:
        framework = "numpy"

        def silu(self, x):
            return x

    law = next(result.law.id for result in check("numpy", operations=["gelu"], tier="quick").results)
    expected = ExpectedFailures((Entry(law, "at some seeds: rounding"),))
    assert check(OnlySilu(), laws=[law], tier="quick", expected_failures=expected).stale


def test_under_pytest_a_law_that_holds_passes():
    law = next(result.law.id for result in check("numpy", operations=["gelu"], tier="quick").results)
    expected = ExpectedFailures((Entry(law, "at some seeds: rounding"),))
    (test,) = law_tests("numpy", laws=[law], tier="quick", expected_failures=expected)
    assert test().status == "passed"
