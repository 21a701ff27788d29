"""The report on a whole model, for people: the verdict, the tree of its parts, and each departure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.text import Text
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.recognition.findings import Departure, Difference, Part, Status
from veriformer.conformance_tests.recognition.paths import layer_in
from veriformer.conformance_tests.reports.departures import departure_lines, gathered, place_of
from veriformer.conformance_tests.reports.layers import Place, alike, layers_named, placed, places_named
from veriformer.conformance_tests.reports.layout import Lines, entry, paragraph, spaced
from veriformer.conformance_tests.reports.model_laws import (
    explained_by_departures,
    first_broken,
    laws_broken,
    laws_tried,
)
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.model_report import ModelReport

DEFAULTS = Options()
_LABEL = 14
_MARKS: dict[Status, tuple[str, str]] = {
    "holds": ("✓", "green"),
    "departs": ("✗", "bold red"),
    "unrecognised": ("?", "yellow"),
}
_STYLES = {"conforms": "bold green", "violates": "bold red", "error": "bold yellow"}
# In the first sentence, which is to be read at a glance.
_MOST_UNUSED_FIRST = 2
_MOST_UNUSED = 5
_MOST_UNREAD = 3
_MOST_AGREED = 6


def model_lines(report: ModelReport, options: Options = DEFAULTS) -> Lines:
    """Return a whole report; its first line is the verdict, its last has the counts."""
    options = replace(options, compact=not options.verbose)
    sections = [
        [*paragraph(verdict_sentence(report), options.width, style=_STYLES[report.verdict]), _facts(report)],
        _differences(report, options),
        _notices(report, options),
        _tree(report, options),
        _remarks(report, options),
        *laws_tried(report, options),
        *laws_broken(report, options),
        *_departures(report, options),
        paragraph(counts_sentence(report), options.width, style=_STYLES[report.verdict]),
    ]
    return spaced(sections)


def verdict_sentence(report: ModelReport) -> str:
    """Return what was found in one sentence, and that it is not all where an interrupt ended the run."""
    return _sentence(report) + ("; interrupted before every law was tried" if report.interrupted else "")


def _sentence(report: ModelReport) -> str:
    name = plain(report.implementation)
    groups = gathered(report.departures)
    departs = " and ".join(filter(None, [_departs(groups) if groups else "", first_broken(report)]))
    following = len(explained_by_departures(report))
    departs += f"; {counted(following, 'law')} {'breaks' if following == 1 else 'break'} with it" if following else ""
    if not report.is_recognised:
        return f"{name}: {report.reason}" + (f"; it {departs}" if departs else "")
    if departs:
        return f"{name} {departs}"
    unjudged = not_judged(report)
    unused = _without_effect(report)
    if not unjudged and report.recognition.understood == report.recognition.captured:
        return f"{name} holds: {_found(report)} of the specification found{unused}"
    share = f"{int(100 * report.recognition.share_understood)} % of its steps"
    rest = f"; not judged: {'; '.join(unjudged)}" if unjudged else ""
    return f"{name} holds as far as it is judged, {share}: {_found(report)} of the specification found{rest}{unused}"


def _without_effect(report: ModelReport) -> str:
    """Return what the model holds or takes that no output depends on, for the end of the first sentence."""
    unused = [plain(name) for name in report.recognition.unused_in_words]
    return f"; without effect: {first_few(unused, _MOST_UNUSED_FIRST)}" if unused else ""


def not_judged(report: ModelReport) -> list[str]:
    """Return what was not judged, in words: parts that were not recognised, then modules with steps of no part."""
    parts = [part for part in report.parts if part.status == "unrecognised"]
    routers = [part for part in parts if part.role == "router"]
    others = len(parts) - len(routers)
    said = [f"how experts are chosen and weighed ({counted(len(routers), 'layer')})"] if routers else []
    said += [f"{counted(others, 'part')} that {'was' if others == 1 else 'were'} not recognised"] if others else []
    if parts:
        return said
    unread = [f"{counted(count, 'step')} in {place}" for place, count in unread_places(report)]
    return [first_few(unread, _MOST_UNREAD)] if unread else []


def unread_places(report: ModelReport) -> list[tuple[str, int]]:
    """Return the modules with steps that were not understood and how many, those of layers that are alike once."""
    modules = [(placed(path, layer_in(path)), count) for path, count in report.recognition.unread.items()]
    groups = alike(modules, lambda one: (one[0].stem, one[0].closing, one[0].rest))
    return [(plain(places_named([place for place, _ in group])), sum(count for _, count in group)) for group in groups]


def counts_sentence(report: ModelReport) -> str:
    """Return the last line: how much was found, and how much of the model that is."""
    counts, recognition = report.counts, report.recognition
    # A law that correct models may break is told above, and no violation.
    free = sum(one.status == "failed" and one.law.obligation == "should" for one in report.results)
    violated = counts["failed"] - free
    understood = f"{recognition.understood:,} of {counted(recognition.captured, 'step')} understood"
    parts = [
        f"{_found(report)} found",
        counted(counts["departures"], "departure"),
        f"{counted(counts['passed'], 'law')} held" if report.laws else "",
        f"{violated:,} violated" if violated else "",
        f"{counted(counts['unrecognised'], 'part')} not recognised" if counts["unrecognised"] else "",
        understood,
    ]
    return f"{joined(parts)}; {report.seconds:.1f} s"


def _found(report: ModelReport) -> str:
    return f"{report.explained:,} of {counted(report.steps, 'intermediate')}"


def _departs(groups: Sequence[Sequence[Departure]]) -> str:
    """Return where the model departs first, and how."""
    first = groups[0][0]
    sentence = plain(first.sentence).rstrip(".")
    name = f" ({plain(first.suspects[0].name)})" if first.suspects else ""
    more = f", and in {counted(len(groups) - 1, 'other place')}" if len(groups) > 1 else ""
    # The sentence goes on inside another one; a formula or a name at its beginning stays as it is.
    if sentence[1:2].islower() or sentence[:2] in ("A ", "I "):
        sentence = sentence[0].lower() + sentence[1:]
    return f"departs in {place_of(groups[0])}: {sentence}{name}{more}"


def _facts(report: ModelReport) -> Text:
    recognition = report.recognition
    facts = [plain(recognition.framework), plain(recognition.dtype), f"seed {report.seed}"]
    return Text(joined(facts), style="dim")


@dataclass(frozen=True)
class Row:
    """A line of the tree: a part, below the heading of its layers if it is in any."""

    label: str
    part: Part
    is_in_layer: bool

    @property
    def indent(self) -> int:
        """How far the line is from the margin."""
        return 4 if self.is_in_layer else 2


def _tree(report: ModelReport, options: Options) -> Lines:
    rows = list(model_rows(report.parts, folded=not options.verbose))
    labels = [len(row.label) + row.indent for row in rows if isinstance(row, Row)]
    # A label that is longer than that gets a line of its own.
    column = max((label for label in labels if label <= options.width // 3), default=0) + 4
    lines: Lines = []
    for row in rows:
        lines += _part(row, column, options) if isinstance(row, Row) else paragraph(row, options.width, 2, "bold")
    return lines


def model_rows(parts: Sequence[Part], *, folded: bool) -> Iterator[Row | str]:
    """Yield the parts and, as strings, the headings of layers; layers that are alike come once if `folded`."""
    blocks = alike([(placed(part.path, part.layer), part) for part in parts], _layer)
    for group in alike(blocks, _shape if folded else id):
        first = group[0]
        if _is_outside(first):
            yield Row(_named(first[0][0]), first[0][1], False)
            continue
        numbers = [block[0][0].number or 0 for block in group]
        yield plain(layers_named(numbers, first[0][0].of))
        yield from (Row(_named(place), part, True) for place, part in first)


def _layer(one: tuple[Place, Part]) -> object:
    """Return what the parts of one layer have in common; a part outside of layers is on its own."""
    place, part = one
    return id(part) if place.number is None else (place.stem, place.number, place.closing)


_Block = list[tuple[Place, Part]]


def _is_outside(block: _Block) -> bool:
    return block[0][0].number is None


def _shape(block: _Block) -> object:
    """Return what layers that are alike have in common; a part outside of layers is like no other."""
    if _is_outside(block):
        return id(block)
    stem = (block[0][0].stem, block[0][0].closing)
    return stem, tuple(
        (place.rest, part.role, part.summary, part.status, part.explained, part.steps) for place, part in block
    )


def _named(place: Place) -> str:
    return plain(place.label) or ("(the model)" if place.number is None else "(itself)")


def _part(row: Row, column: int, options: Options) -> Lines:
    mark, style = _MARKS[row.part.status]
    line = Text(" " * row.indent).append(mark, style=style).append(f" {row.label}")
    start = column + 2
    texts = textwrap.wrap(_summary(row.part, options), max(options.width - start, 20), break_on_hyphens=False) or [""]
    text_style = "" if row.part.status == "holds" else style
    if len(line) <= start - 2:
        line.append(" " * (start - len(line))).append(texts.pop(0), style=text_style)
    return [line, *(Text(" " * start).append(text, style=text_style) for text in texts)]


def _summary(part: Part, options: Options) -> str:
    said = part_words(part)
    if options.verbose:
        given = [f"{plain(name)} {plain(value)}" for name, value in part.conventions.items()]
        said = joined([said, *given, f"{part.explained} of {part.steps} found" if part.steps else ""])
    return {"holds": said, "departs": f"{said}: departs", "unrecognised": f"not recognised: {said}"}[part.status]


def part_words(part: Part) -> str:
    """Return what a part is: its role and what is special about it."""
    role, summary = plain(part.role), plain(part.summary)
    return summary if summary.startswith(role) or not role else joined([role, summary])


def _departures(report: ModelReport, options: Options) -> Iterator[Lines]:
    for group in gathered(report.departures):
        yield departure_lines(group, options)


def _remarks(report: ModelReport, options: Options) -> Lines:
    """Return what else there is to know: parameters without effect, modules whose inside was not seen."""
    recognition = report.recognition
    names = recognition.unused if options.verbose else recognition.unused_in_words
    unused = first_few([plain(name) for name in names], len(names) if options.verbose else _MOST_UNUSED)
    lines = (
        _entry("Unused", f"{unused}: no output depends on {'it' if len(names) == 1 else 'them'}", options)
        if unused
        else []
    )
    unread = [f"{counted(count, 'step')} in {place}" for place, count in unread_places(report)]
    if unread:
        shown = first_few(unread, len(unread) if options.verbose else _MOST_UNREAD)
        lines += _entry("Not read", f"{shown}: no known part is computed there", options)
    if recognition.agreed:
        shown = first_few([plain(one) for one in recognition.agreed], _MOST_AGREED)
        lines += _entry("As stated", shown, options)
    for path, reason in recognition.opaque.items():
        lines += _entry("Not seen", f"{plain(path) or 'the model'}: {plain(reason)}", options)
    return lines


def _differences(report: ModelReport, options: Options) -> Lines:
    lines: Lines = []
    for sentence in difference_sentences(report):
        lines += _entry("" if lines else "Layers", sentence, options, "yellow")
    return lines


def difference_sentences(report: ModelReport) -> list[str]:
    """Return what layers do otherwise than others: "layer 1 differs from layers 0 and 2: silu, they gelu"."""
    groups = alike(report.recognition.differences, _kind_of_difference)
    return [_difference_sentence(group) for group in groups]


def _kind_of_difference(one: Difference) -> object:
    place = placed(one.as_departure.path, one.as_departure.layer)
    return place.stem, place.closing, place.rest, one.as_departure.step, one.own, one.usual


def _difference_sentence(group: Sequence[Difference]) -> str:
    first = group[0].as_departure
    here = [placed(one.as_departure.path, one.as_departure.layer) for one in group]
    there = [placed(*one) for one in group[0].others]
    verb = "differs" if len({place.number for place in here}) == 1 else "differ"
    step = f"{plain(first.step)} of {plain(first.operation)}" if first.operation else plain(first.step)
    which = f"{plain(places_named(here))} {verb} from {plain(places_named(there))}"
    known = f" (`{plain(first.suspects[0].name)}` does the same)" if first.suspects else ""
    return f"{which} in the {step}: {plain(group[0].own)}; there: {plain(group[0].usual)}{known}"


def _notices(report: ModelReport, options: Options) -> Lines:
    lines: Lines = []
    for notice in report.notices:
        lines += _entry("" if lines else "Notices", plain(notice), options, "yellow")
    return lines


def _entry(label: str, text: str, options: Options, style: str = "") -> Lines:
    return entry(label, text, options.width, indent=0, label_width=_LABEL, style=style)
