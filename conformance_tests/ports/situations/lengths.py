"""Other lengths than that of the recorded pass: one position, the most that both take, and more than was trained."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import Run
from veriformer.conformance_tests.ports.findings import Situation
from veriformer.conformance_tests.ports.situations.both import Both, Outcome, judged

_MOST_BEYOND = 1024


def at_other_lengths(both: Both, recorded: int) -> Iterator[Outcome]:
    """Yield what the models do at other lengths than the recorded one."""
    longest = both.longest
    if longest == 1:
        # An image, or one vector.
        yield _at(both, 1, "on other inputs")
        return
    for length in sorted({both.shortest, longest} - {recorded}):
        yield _at(both, length, f"at length {length}")
    beyond = 2 * max(longest, recorded)
    if both.shortest < longest < beyond <= _MOST_BEYOND:
        yield from _beyond(both, beyond, max(longest, recorded))


def _at(both: Both, length: int, name: str) -> Outcome:
    run = Run(both.drawn(1, length))
    try:
        apart = both.apart(run)
    except LoadError as error:
        return Outcome(Situation(name, "unknown", str(error)))
    if apart > both.bound and length > 2:
        name, run, apart = _shortest_that_differs(both, run, apart)
    return judged(both, name, run, apart, both.bound)


def _shortest_that_differs(both: Both, run: Run, apart: float) -> tuple[str, Run, float]:
    """Return the shortest beginning, of about half the length at each step, that differs too."""
    length = run.inputs.shape[1]
    fits = both.shortest
    while length - fits > 1:
        middle = (length + fits) // 2
        shorter = Run(run.inputs[:, :middle])
        found = both.apart(shorter)
        if found > both.bound:
            run, length, apart = shorter, middle, found
        else:
            fits = middle
    return f"at length {length}", run, apart


def _beyond(both: Both, length: int, declared: int) -> Iterator[Outcome]:
    """Yield whether both do the same beyond what they were made for, which is held against neither."""
    name, run = f"at length {length}", Run(both.drawn(1, length))
    try:
        first = both.first.results(run)
    except LoadError:
        # The first model says that it was not made for that.
        return
    try:
        apart = both.apart(run) if first.shape[1] == length else float("inf")
    except LoadError as error:
        sentence = f"{error}; A goes on beyond the {declared} positions that both were made for"
        yield Outcome(Situation(name, "beyond", sentence))
        return
    same = apart <= both.bound
    sentence = "" if same else f"beyond the {declared} positions that both were made for, results differ by {apart:.1e}"
    yield Outcome(Situation(name, "same" if same else "beyond", sentence, apart))
