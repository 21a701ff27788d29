"""Laws as tests of pytest: a decorator for test functions, and `pytest --veriformer my_attention.py`.

pytest imports this module at every start, so whatever costs time is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from veriformer.conformance_tests.reports.parametrization import parametrize_with_laws

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.law_tests import LawFailure, LawTest

__all__ = ["parametrize_with_laws"]

# The property of a report that says what is not judged.
_NOT_JUDGED = "veriformer_not_judged"
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
        nodeid = _from_the_root(config, implementation)
        collector = ImplementationCollector.from_parent(session, name=implementation, nodeid=nodeid)
        items.extend(session.genitems(collector))


def _from_the_root(config: pytest.Config, implementation: str) -> str:
    """Return a name as pytest's are, from the root: it prints them as they are seen from the working directory."""
    try:
        return (config.invocation_params.dir / implementation).relative_to(config.rootpath).as_posix()
    except ValueError:
        return implementation


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Place a law that turned out not to be declared, when it was tried, where its operation is defined."""
    report = yield
    if isinstance(item, LawItem) and report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        path, line, _ = item.reportinfo()
        report.longrepr = (path, line + 1, report.longrepr[2])
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what is not judged of the implementations, which a skipped test alone would not show."""
    reports = terminalreporter.stats.get("skipped", [])
    told = [said for report in reports for name, said in getattr(report, "user_properties", ()) if name == _NOT_JUDGED]
    if told:
        terminalreporter.write_sep("=", "not judged by veriformer")
        for said in told:
            terminalreporter.write_line(said)


class ImplementationCollector(pytest.Collector):
    """The laws of one implementation."""

    def collect(self) -> Iterator[LawItem | NotJudgedItem]:
        """Return a test for every law of every declared operation, and one for each function that is not judged.

        CollectError when the implementation cannot be loaded.
        """
        from veriformer.adapters.errors import LoadError
        from veriformer.adapters.loading import load
        from veriformer.conformance_tests.core.selection import Selection
        from veriformer.conformance_tests.reports.law_tests import law_tests, not_judged_in
        from veriformer.conformance_tests.run.expected_failures import ExpectedFailures, UnreadableList
        from veriformer.conformance_tests.run.options import RunOptions

        option = self.config.getoption
        try:
            expected_failures = ExpectedFailures.of(option("veriformer_expected_failures"))
            selection = Selection(effort=option("veriformer_tier"), seed=option("veriformer_seed"))
            loaded = load(self.name)
            tests = law_tests(loaded, RunOptions(selection, expected_failures))
        except (LoadError, UnreadableList) as error:
            raise self.CollectError(str(error)) from error
        for test in tests:
            yield LawItem.from_parent(self, name=test.id, test=test, implementation=self.name)
        for name, reason in not_judged_in(loaded).items():
            yield NotJudgedItem.from_parent(self, name=name, reason=reason, implementation=self.name)


class LawItem(pytest.Item):
    """One law of one implementation."""

    def __init__(self, *, test: LawTest, implementation: str, **given: Any) -> None:
        super().__init__(**given)
        self.implementation = implementation
        self.test = test
        if test.skip_reason:
            self.add_marker(pytest.mark.skip(reason=test.skip_reason))

    def runtest(self) -> None:
        """Try the law."""
        self.test()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what pytest shows of a failure: the summary has its gist, at the line of the operation."""
        shown = super().repr_failure(excinfo, style)
        crash = getattr(shown, "reprcrash", None)
        failure = excinfo.value
        if crash is not None and isinstance(failure, _law_failure()):
            crash.message = failure.gist
            if failure.place is not None:
                crash.path, crash.lineno = failure.place.file, failure.place.line
        return shown

    def reportinfo(self) -> tuple[str, int, str]:
        """Return where the operation is defined, its line counted from 0, and the heading of a failure.

        What is no file of the user has the line 0 too: pytest insists on one for a test that is skipped.
        """
        place = self.test.place
        # pytest makes two colons of a dot in a heading with which the test's id ends.
        heading = f"{self.implementation}: {self.name}"
        return (self.implementation, 0, heading) if place is None else (place.file, place.line - 1, heading)


class NotJudgedItem(pytest.Item):
    """A function or a class of an implementation that no law is tried on: a skipped test with the reason."""

    def __init__(self, *, reason: str, implementation: str, **given: Any) -> None:
        super().__init__(**given)
        self.implementation = implementation
        # Of a report, which the workers of pytest-xdist hand over.
        self.user_properties.append((_NOT_JUDGED, f"{implementation}: {self.name} ({reason})"))
        self.add_marker(pytest.mark.skip(reason=f"not judged: {reason}"))

    def runtest(self) -> None:
        """Do nothing: it is skipped."""

    def reportinfo(self) -> tuple[str, int, str]:
        """Return the implementation, and the heading."""
        return self.implementation, 0, f"{self.implementation}: {self.name}"


def _law_failure() -> type[LawFailure]:
    from veriformer.conformance_tests.reports.law_tests import LawFailure

    return LawFailure
