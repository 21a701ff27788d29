"""A comparison of two implementations, for a reader: what agrees, their conventions, and what the port must change."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from veriformer.adapters.implementation import LIMITATIONS
from veriformer.conformance_tests.comparison.comparison import Comparison, ConventionPair, OperationComparison
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.mistakes import remedy
from veriformer.conformance_tests.reports.diagnoses import TITLE, diagnosis_lines
from veriformer.conformance_tests.reports.first_difference import first_difference_lines, follows_from
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.partings import cause_words, certain_mistakes, parting, short_names

_CORRECT = "correct what does not obey the laws"


def comparison_page(comparison: Comparison, options: Options) -> Sequence[Table | Text]:
    """Return everything about a comparison, tables between lines; only why, if nothing could be compared."""
    if not comparison.compared:
        return paragraph(why_nothing(comparison), options.width)
    conventions = conventions_side_by_side(comparison, everything=options.verbose)
    differing: list[Table | Text] = [] if conventions is None else [blank(), conventions]
    return [
        outcomes(comparison),
        *differing,
        *details(comparison, options),
        *only_one_has(comparison, options),
        *notice_lines(comparison, options),
        *_what_matters_most(comparison, options),
        blank(),
        *paragraph(summary(comparison), options.width),
    ]


def _what_matters_most(comparison: Comparison, options: Options) -> Lines:
    lines = first_difference_lines(comparison, options)
    return [blank(), *lines] if lines else []


def outcomes(comparison: Comparison) -> Table:
    """Return a table with a row for each operation that both have."""
    table = _table("operation", "cases", "outcome")
    for operation in comparison.operations:
        table.add_row(operation.operation.name, f"{operation.cases}", Text(outcome_words(operation, comparison)))
    return table


def outcome_words(operation: OperationComparison, comparison: Comparison) -> str:
    """Return the outcome of one operation in a few words."""
    if operation.reason:
        return f"not compared: {plain(operation.reason)}"
    if operation.agrees:
        away = joined(operation.conventions_not_met)
        against = [name for name, does in zip(short_names(comparison), operation.contradicts, strict=True) if does]
        words = f"agree, but not in {away}" if away else "agree"
        return f"{words}; {' and '.join(against)} against its declared conventions" if against else words
    why = list(dict.fromkeys(cause_words(cause, comparison) for cause in operation.causes))
    refusing = [
        f"{name} refuses what the other takes"
        for name, alone in zip(short_names(comparison), operation.refused_by_one, strict=True)
        if alone
    ]
    unjudged = [f"{counted(operation.unjudged, 'case')} could not be judged"] if operation.unjudged else []
    return "; ".join([*why, *refusing, *([] if why else ["otherwise they agree"]), *unjudged])


def conventions_side_by_side(comparison: Comparison, *, everything: bool) -> Table | None:
    """Return a table of the conventions in which they differ, or of all; None if there are none."""
    table = _table("convention", *short_names(comparison), "operations")
    rows: dict[tuple[str, str, str], list[str]] = {}
    for operation in comparison.operations:
        for pair in operation.conventions:
            if everything or pair.differ:
                key = (pair.name, _value(pair, 0), _value(pair, 1))
                rows.setdefault(key, []).append(operation.operation.name)
    for (name, first, second), operations in rows.items():
        table.add_row(name, first, second, first_few(operations, 99 if everything else 2))
    return table if rows else None


def details(comparison: Comparison, options: Options) -> Lines:
    """Return a section for each operation in which they differ, and what else the port must change."""
    briefly: Lines = []
    lines: Lines = []
    for operation in comparison.operations:
        forward = "" if options.verbose else follows_from(comparison, operation)
        if forward:
            text = f"✗ {operation.operation.name}: derived from {forward}, cause below"
            briefly += paragraph(text, options.width, 2, "red")
            continue
        for compared in operation.differences:
            lines += [blank(), *parting(comparison, operation, compared, options)]
        lines += _mistakes(comparison, operation, options)
    return [
        *([blank(), *briefly] if briefly else []),
        *lines,
        *_refused(comparison, options),
        *_changes(comparison, options),
    ]


def _refused(comparison: Comparison, options: Options) -> Lines:
    """Return what each refuses, with its exception; such cases are not compared."""
    names = short_names(comparison)
    sentences = [
        f"{name}: {plain(refusal.words, 400)}"
        for operation in comparison.operations
        for name, refusals in zip(names, operation.refusals, strict=True)
        for refusal in refusals
    ]
    lines = [line for one in sentences for line in paragraph(f"- {one}", options.width, 2)]
    return [blank(), heading("Refused, and not compared"), *lines] if lines else []


def _mistakes(comparison: Comparison, operation: OperationComparison, options: Options) -> Lines:
    """Return the diagnosis of each implementation that is wrong, as `veriformer check` has it."""
    lines: Lines = []
    for name, check in zip(short_names(comparison), operation.checks, strict=True):
        if check is not None and (explained := diagnosis_lines(check, operation.operation.name, options)):
            lines += [blank(), heading(f"  {TITLE} of {name}"), *explained[1:]]
    return lines


def summary(comparison: Comparison) -> str:
    """Return the last line: the counts."""
    if not comparison.compared:
        return why_nothing(comparison)
    agreeing = sum(operation.agrees for operation in comparison.compared)
    parting = [operation for operation in comparison.compared if not operation.agrees]
    mistaken = sum(any(cause.side != "both" for cause in operation.causes) for operation in parting)
    refusing = sum(not operation.differences for operation in parting)
    by_refusals = f", {refusing} by what one refuses" if refusing else ""
    return (
        f"{counted(agreeing, 'operation agrees', 'operations agree')}, "
        f"{len(parting) - mistaken - refusing} differ by conventions, {mistaken} by a mistake{by_refusals}; "
        f"{counted(sum(operation.cases for operation in comparison.compared), 'case')}, seed {comparison.seed}, "
        f"{comparison.seconds:.1f} s"
    )


def why_nothing(comparison: Comparison) -> str:
    """Return why nothing could be compared, and what to do."""
    both = f"{plain(comparison.first)} and {plain(comparison.second)}"
    if not comparison.operations:
        own = [
            first_few(names) or "none of those asked for" for names in (comparison.only_first, comparison.only_second)
        ]
        return f"{both} have no operation in common: the first has {own[0]}, the second {own[1]}"
    reasons = "; ".join(f"{each.operation.name}: {plain(each.reason)}" for each in comparison.operations)
    return f"{both} could not be compared: {reasons}"


def only_one_has(comparison: Comparison, options: Options) -> Lines:
    """Return the keywords, widths, dtypes and operations that only one of the two has, which are not compared."""
    sentences = what_one_has(comparison, everything=options.verbose)
    lines = [line for sentence in sentences for line in paragraph(sentence, options.width)]
    return [blank(), *lines] if lines else []


def notice_lines(comparison: Comparison, options: Options) -> Lines:
    """Return what was taken for what, and what was not compared."""
    lines: Lines = []
    for number, notice in enumerate(comparison.notices):
        label = "" if number else "Notices"
        lines += entry(label, plain(notice, 600), options.width, indent=0, label_width=14, style="yellow")
    return [blank(), *lines] if lines else []


def what_one_has(comparison: Comparison, *, everything: bool = True) -> list[str]:
    """Return the same in sentences."""
    sentences = _offered_by_one(comparison, everything=everything)
    only = comparison.only_first, comparison.only_second
    for name, operations in zip(short_names(comparison), only, strict=True):
        if operations:
            sentences.append(f"Only {name} has {first_few(operations, 99 if everything else 4)}.")
    return sentences


def _offered_by_one(comparison: Comparison, *, everything: bool) -> list[str]:
    """Return what only one of the two takes or refuses in operations that both have."""
    sentences: list[str] = []
    for side, name in enumerate(short_names(comparison)):
        places: dict[str, list[str]] = {}
        for operation in comparison.operations:
            for keyword in operation.keywords[side]:
                places.setdefault(f"takes {keyword}", []).append(operation.operation.name)
            for limitation in operation.limitations[side]:
                sentence = f"refuses a case ({limitation}): {LIMITATIONS[limitation]}"
                places.setdefault(sentence, []).append(operation.operation.name)
        for sentence, operations in places.items():
            shown = first_few(operations, 99 if everything else 2)
            sentences.append(f"Only {name} {sentence} ({shown}).")
        if comparison.dtypes[side]:
            sentences.append(f"Only {name} declares {joined(comparison.dtypes[side])}.")
    return sentences


def _changes(comparison: Comparison, options: Options) -> Lines:
    """Return what the first must correct, and what the second must change to match the first, each thing once."""
    first, second = short_names(comparison)
    wanted = {
        f"What {first} must change": corrections_of_first(comparison),
        f"What {second} must change to match {first}": changes_by_sentence(comparison),
    }
    lines: Lines = []
    for title, places in wanted.items():
        items = [line for one in places.items() for line in _item(*one, options)]
        lines += [blank(), heading(title), *items] if items else []
    return lines


def _item(sentence: str, operations: Sequence[str], options: Options) -> Lines:
    most = 99 if options.verbose else 2
    item = paragraph(f"{plain(sentence, 400)} ({first_few(operations, most)})", options.width - 4, 4)
    item[0] = Text(f"  - {item[0].plain.lstrip()}")
    return item


def corrections_of_first(comparison: Comparison) -> dict[str, list[str]]:
    """Return what the first must correct where the laws side with the second, with the operations where it must."""
    places: dict[str, list[str]] = {}
    for operation in comparison.operations:
        if any(cause.side in ("second", "neither") for cause in operation.causes):
            places.setdefault(_correction(operation, 0), []).append(operation.operation.name)
    return places


def changes_by_sentence(comparison: Comparison) -> dict[str, list[str]]:
    """Return each thing that the second must change, with the operations where it must."""
    places: dict[str, list[str]] = {}
    for operation in comparison.operations:
        for sentence in operation.changes.values():
            places.setdefault(sentence, []).append(operation.operation.name)
    for operation in comparison.operations:
        if any(cause.side in ("first", "neither") for cause in operation.causes):
            places.setdefault(_correction(operation, 1), []).append(operation.operation.name)
        for sentence in operation.refused_by_one[1]:
            what = sentence.removeprefix(f"{operation.operation.name} refuses ")
            places.setdefault(f"take {what} too", []).append(operation.operation.name)
    return places


def _correction(operation: OperationComparison, side: int) -> str:
    """Return what to correct in one of the two: the mistake, if one is certain."""
    mistakes = certain_mistakes(operation, side)
    if not mistakes:
        return _CORRECT
    wanted = remedy(mistakes[0]) if len(mistakes) == 1 else ""
    return f"{_CORRECT}: {joined(f'`{one}`' for one in mistakes)}{f': {wanted}' if wanted else ''}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(Text(column), no_wrap=number == 0, overflow="fold")
    return table


def _value(pair: ConventionPair, side: int) -> str:
    value = plain(pair.second if side else pair.first)
    return f"{value} (assumed)" if pair.how[side] == "standard" and not pair.known else value
