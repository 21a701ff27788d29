"""Laws as tests of pytest: a decorator for test functions, and `pytest --veriformer my_attention.py`.

pytest imports this module at every start, so whatever costs time is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from veriformer.conformance_tests.reports.parametrization import parametrize_with_laws

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.law_tests import LawTest

__all__ = ["parametrize_with_laws"]

TIERS = ("quick", "standard", "thorough")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command line options."""
    group = parser.getgroup("veriformer", "conformance of Transformer implementations (veriformer)")
    group.addoption(
        "--veriformer",
        action="append",
        default=[],
        metavar="IMPLEMENTATION",
        help="check this implementation too, one test for each law: a built-in name, a file, or an import path "
        "(repeatable)",
    )
    group.addoption("--veriformer-tier", choices=TIERS, default="standard", help="how many cases each law gets")
    group.addoption("--veriformer-seed", type=int, default=0, metavar="N", help="the same seed draws the same cases")
    group.addoption(
        "--veriformer-expected-failures",
        metavar="FILE",
        default=None,
        help="a list of known failures, each with its reason",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of the implementations named on the command line, before -k and -m choose among all tests."""
    for implementation in dict.fromkeys(config.getoption("veriformer")):
        collector = ImplementationCollector.from_parent(session, name=implementation, nodeid=implementation)
        items.extend(session.genitems(collector))


class ImplementationCollector(pytest.Collector):
    """The laws of one implementation."""

    def collect(self) -> Iterator[LawItem]:
        """Return a test for every law of every declared operation; UsageError when it cannot be loaded."""
        from veriformer.adapters.errors import LoadError
        from veriformer.conformance_tests.core.selection import Selection
        from veriformer.conformance_tests.reports.law_tests import law_tests
        from veriformer.conformance_tests.run.expected_failures import ExpectedFailures, UnreadableList
        from veriformer.conformance_tests.run.options import RunOptions

        option = self.config.getoption
        try:
            expected_failures = ExpectedFailures.of(option("veriformer_expected_failures"))
            selection = Selection(effort=option("veriformer_tier"), seed=option("veriformer_seed"))
            tests = law_tests(self.name, RunOptions(selection, expected_failures))
        except (LoadError, UnreadableList) as error:
            raise self.CollectError(str(error)) from error
        for test in tests:
            yield LawItem.from_parent(self, name=test.id, test=test)


class LawItem(pytest.Item):
    """One law of one implementation."""

    def __init__(self, *, test: LawTest, **given: Any) -> None:
        super().__init__(**given)
        self.test = test
        if test.skip_reason:
            self.add_marker(pytest.mark.skip(reason=test.skip_reason))

    def runtest(self) -> None:
        """Try the law."""
        self.test()

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Return where the test stands in pytest's own listings."""
        return self.nodeid.partition("::")[0], None, self.nodeid
