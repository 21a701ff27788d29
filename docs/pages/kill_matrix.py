"""`kill_matrix.md`: which laws catch which planted mistakes, the laws that catch none, and the mistakes of one law."""

from __future__ import annotations

from veriformer.conformance_tests.mistakes import planted
from veriformer.conformance_tests.mistakes.kills import Killed, KillMatrix, kill_matrix, reasons_for_catching_nothing
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

from pages.markdown import code, counted, link, notice, page, table
from pages.references import law_link, mistake_link

PATH = "kill_matrix.md"
DATA = "conformance_tests/mistakes/kill_matrix.json"
_FEW = 8

_INTRODUCTION = f"""\
Every [planted mistake](mistakes_caught.md) was run as an implementation, and every law that applies to its program was
tried on it. A law *kills* a mistake if it fails on it. The whole matrix is in {link("a file", f"../{DATA}")}.
`python benchmarks/kill_matrix.py` measures it anew. With `--seeds 0-9 --fail-fast` the program measures whether other
seeds catch each mistake, and how soon."""
_QUICK = "Where the quick tier had too few cases for a law that names the mistake, the standard one decided."
_CATCHES = """\
If a mistake makes calls raise an exception, every law ends with an error. That is a violation, but it says nothing of
the law. So the tables count only the results that a law judges to be wrong."""
_ONE_LAW = "If the law were wrong, or its cases missed the place, nothing else would tell."
_NOTHING = "No planted mistake breaks these. Each says why it exists."
_NONE = "There are none: every law catches at least one."
_NOT_YET = "Stated or planted since the last measurement; `python benchmarks/kill_matrix.py --only-missing` adds them."


def kill_matrix_page() -> dict[str, str]:
    """Return the page of the kill matrix, by its path."""
    matrix = kill_matrix()
    sections = (
        page("## Score", _score(matrix), _QUICK if matrix.tier == "quick" else ""),
        page("## What each law catches", _CATCHES, *(_of_operation(matrix, name) for name in OPERATIONS)),
        page("## Mistakes that only one law catches", _ONE_LAW, _caught_by_one(matrix)),
        page("## Laws that catch no planted mistake", _catching_nothing(matrix)),
        _not_measured_yet(matrix),
    )
    return {PATH: page(notice(DATA), "# Kill matrix", _INTRODUCTION, *sections)}


def _not_measured_yet(matrix: KillMatrix) -> str:
    known = {mistake.name for mistake in matrix.mistakes}
    links = [law_link(law) for name, law in LAWS.items() if name not in matrix.milliseconds]
    links += [code(mistake.name) for mistake in planted() if mistake.name not in known]
    return page("## Not measured yet", _NOT_YET, ", ".join(links)) if links else ""


def _score(matrix: KillMatrix) -> str:
    share = len(matrix.caught) / len(matrix.mistakes)
    return (
        f"{len(matrix.caught)} of {counted(len(matrix.mistakes), 'planted mistake')} are caught ({share:.1%}) at the "
        f"{matrix.tier} tier, seed {matrix.seed}, by {len(matrix.laws)} laws, of which "
        f"{len(matrix.laws) - len(matrix.catching_nothing)} catch at least one; a mistake violates "
        f"{_median([len(mistake.violated) for mistake in matrix.caught])} laws in the median."
    )


def _median(numbers: list[int]) -> int:
    return sorted(numbers)[len(numbers) // 2]


def _of_operation(matrix: KillMatrix, operation: str) -> str:
    catches = {law: names for law, names in matrix.by_law.items() if LAWS[law].operation.name == operation and names}
    if not catches:
        return ""
    ranked = sorted(catches, key=lambda law: -len(catches[law]))
    rows = ((law_link(LAWS[law]), str(len(catches[law])), _slugs(matrix, catches[law])) for law in ranked)
    return page(f"### {code(operation)}", table(("law", "mistakes", "which"), rows))


def _slugs(matrix: KillMatrix, names: tuple[str, ...]) -> str:
    slug = {mistake.name: mistake.slug for mistake in matrix.mistakes}
    found = list(dict.fromkeys(slug[name] for name in names))
    shown = ", ".join(map(mistake_link, found[:_FEW]))
    return f"{shown} and {len(found) - _FEW} more" if len(found) > _FEW else shown


def _caught_by_one(matrix: KillMatrix) -> str:
    def row(mistake: Killed) -> tuple[str, str, str]:
        return mistake_link(mistake.slug), mistake.source, law_link(LAWS[mistake.violated[0]])

    return table(("mistake", "planted in", "law"), (row(mistake) for mistake in matrix.caught_by_one_law))


def _catching_nothing(matrix: KillMatrix) -> str:
    if not matrix.catching_nothing:
        return _NONE
    reasons = reasons_for_catching_nothing()
    grouped: dict[str, list[str]] = {}
    for law in matrix.catching_nothing:
        grouped.setdefault(reasons.get(law) or reasons[LAWS[law].claim.key], []).append(law_link(LAWS[law]))
    return page(_NOTHING, "\n".join(f"- {reason}: {', '.join(links)}" for reason, links in grouped.items()))
