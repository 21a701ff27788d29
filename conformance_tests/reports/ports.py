"""The comparison of two whole models, for people: the verdict, the parts side by side, what differs, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.ports.findings import (
    Difference,
    PairStatus,
    PartPair,
    PortComparison,
    PortVerdict,
    Situation,
    SituationStatus,
)
from veriformer.conformance_tests.reports.departures import quoted
from veriformer.conformance_tests.reports.layers import alike, layers_named, placed
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, heading, labelled, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.places import shown_file

DEFAULTS = Options()
_LABEL = 14
_MOST_WEIGHTS = 8
_MARKS: dict[PairStatus, tuple[str, str]] = {
    "same": ("✓", "green"),
    "inside": ("≈", "yellow"),
    "differs": ("✗", "bold red"),
    "unmatched": ("✗", "bold red"),
}
_STYLES: dict[PortVerdict, str] = {
    "agree": "bold green",
    "inside": "bold green",
    "differ": "bold red",
}


def port_lines(found: PortComparison, options: Options = DEFAULTS) -> Lines:
    """Return a whole report; its first line is the verdict, its last has the counts."""
    lines = [*paragraph(verdict_sentence(found), options.width, style=_STYLES[found.verdict]), _facts(found)]
    sections = [
        _table(found, options),
        _weights(found, options),
        *(_difference(group, options) for group in gathered(found.differences)),
        _inside(found, options),
        _situations(found, options),
        _remarks(found, options),
        _changes(found, options),
    ]
    for section in sections:
        lines += [blank(), *section] if section else []
    return [*lines, blank(), *paragraph(counts_sentence(found), options.width, style=_STYLES[found.verdict])]


def verdict_sentence(found: PortComparison) -> str:
    """Return what was found in one sentence."""
    first, second = plain(found.first), plain(found.second)
    if found.differences:
        groups = gathered(found.differences)
        one = groups[0][0]
        more = f", and in {counted(len(groups) - 1, 'other place')}" if len(groups) > 1 else ""
        differs = f"{second} differs from {first}"
        if one.situation:
            where = f", in {place_of(groups[0])}" if one.path_b else ""
            return f"{differs} only {plain(one.situation)}{where}: {plain(one.cause.sentence, 400)}{more}"
        return f"{differs} in {place_of(groups[0])}: {plain(one.cause.sentence, 400)}{more}"
    rounding = f"results differ by {found.apart:.1e} of their largest entry" if found.apart else "results are the same"
    if found.verdict == "inside":
        groups = gathered(found.inside)
        return (
            f"{second} agrees with {first}, though not inside: {rounding}; in {place_of(groups[0])}: "
            f"{plain(groups[0][0].cause.sentence, 400)}"
        )
    unknown = sum(pair.status == "unmatched" for pair in found.pairs)
    parts = "and so do all parts" if found.pairs and not unknown else "not all of their parts were recognised"
    return f"{second} agrees with {first}: {rounding}, {parts}"


def counts_sentence(found: PortComparison) -> str:
    """Return the last line: how many parts and weights are the same."""
    same = sum(pair.status == "same" for pair in found.pairs)
    weights = sum(one.relation == "same" for one in found.weights)
    parts = [
        f"{same} of {counted(len(found.pairs), 'pair')} of parts the same",
        f"{weights} of {counted(len(found.weights), 'weight')} the same",
        counted(len(gathered(found.differences)), "difference"),
    ]
    return f"{joined(parts)}; {found.seconds:.1f} s"


def gathered(differences: Sequence[Difference]) -> list[list[Difference]]:
    """Return the differences in groups: those of several layers, or of weight and bias, that have one cause are one."""
    return alike(differences, _kind)


def _kind(one: Difference) -> object:
    first, second = placed(one.path_a, one.layer), placed(one.path_b, one.layer)
    places = first.stem, first.rest, second.stem, second.rest
    return *places, one.step, one.cause.kind, one.cause.name, one.line_b, one.situation


def place_of(group: Sequence[Difference]) -> str:
    """Return where differences of one group are, in the second model's own names, the first's where it has none."""
    paths = [(one.path_b or one.path_a, one.layer) for one in group]
    places = [placed(path, layer) for path, layer in paths]
    numbers = [place.number for place in places if place.number is not None]
    if not numbers:
        return plain(places[0].rest) or "the model itself"
    return plain(layers_named(numbers, places[0].inside))


def _facts(found: PortComparison) -> Text:
    names = [f"{framework} {dtype}" for framework, dtype in zip(found.frameworks, found.dtypes, strict=True)]
    return Text(joined([" and ".join(map(plain, names)), plain(found.inputs)]), style="dim")


def _table(found: PortComparison, options: Options) -> Lines:
    """Return the pairs of parts, those of layers that are alike in one line."""
    groups = [[pair] for pair in found.pairs] if options.verbose else alike(found.pairs, _shape)
    rows = [(_named(group, "path_a"), _named(group, "path_b"), group[0]) for group in groups]
    if not rows:
        return []
    limit = max((options.width - 30) // 2, 12)
    widths = [min(max(map(len, column)), limit) for column in ([row[0] for row in rows], [row[1] for row in rows])]
    lines = [heading(f"    {'A'.ljust(widths[0])}  {'B'.ljust(widths[1])}  part")]
    for first, second, pair in rows:
        mark, style = _MARKS[pair.status]
        line = Text("  ").append(mark, style=style)
        said = joined([plain(pair.role).replace("_", " "), plain(pair.summary)])
        cells = (_fitted(first, widths[0]), _fitted(second, widths[1]), said)
        lines.append(line.append(f" {'  '.join(cells)}", style="" if pair.status == "same" else style))
    return lines


def _fitted(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _shape(pair: PartPair) -> object:
    if pair.layer is None:
        return id(pair)
    first, second = placed(pair.path_a, pair.layer), placed(pair.path_b, pair.layer)
    return pair.role, first.stem, first.rest, second.stem, second.rest, pair.status, pair.summary


def _named(group: Sequence[PartPair], side: str) -> str:
    paths = [getattr(pair, side) for pair in group]
    places = [placed(path, pair.layer) for path, pair in zip(paths, group, strict=True) if path]
    if not places:
        return "–"
    numbers = [place.number for place in places if place.number is not None]
    if len(numbers) < 2:
        return plain(paths[0])
    shown = f"{min(numbers)}–{max(numbers)}" if len(numbers) > 2 else f"{numbers[0]}, {numbers[1]}"
    return plain(f"{places[0].stem}[{shown}]{places[0].closing}{places[0].rest}")


def _weights(found: PortComparison, options: Options) -> Lines:
    """Return the weights that are not as they are in the first model, and how many are."""
    others = [one for one in found.weights if one.relation not in ("same", "unknown")]
    unknown = [name for one in found.weights if one.relation == "unknown" for name in one.names_a]
    if not others and not unknown:
        return []
    most = len(others) if options.verbose else _MOST_WEIGHTS
    texts = [f"{plain(one.sentence, 400)}{' (made up for)' if one.harmless else ''}" for one in others[:most]]
    rest = len(others) - most
    same = sum(one.relation == "same" for one in found.weights)
    texts.append(joined([f"{rest} more (--verbose)" if rest > 0 else "", f"{counted(same, 'other')} the same"]))
    if unknown:
        names = first_few([plain(name) for name in dict.fromkeys(unknown)], len(unknown) if options.verbose else 3)
        texts.append(f"not found out, and held against nobody: {names}")
    lines: Lines = []
    for number, text in enumerate(texts):
        lines += entry("" if number else "Weights", text, options.width, indent=0, label_width=_LABEL)
    return lines


def _difference(group: Sequence[Difference], options: Options) -> Lines:
    one = group[0]
    lines = paragraph(f"✗ {place_of(group)}", options.width, 2, "bold red")
    for sentence in dict.fromkeys(each.cause.sentence for each in group[:3]):
        lines += paragraph(_ended(plain(sentence, 1000)), options.width, INDENT)
    lines.append(blank())
    cause = one.cause.kind if one.cause.name == "none that is known" else f"{one.cause.kind}: {one.cause.name}"
    lines += entry("cause", plain(cause), options.width)
    lines += entry("step", joined([plain(one.step), f"of {plain(one.operation)}"]), options.width)
    for side, path, file, line in (
        ("A", one.path_a, one.file_a, one.line_a),
        ("B", one.path_b, one.file_b, one.line_b),
    ):
        lines += _where(side, path, file, line, options)
    return lines


def _where(side: str, path: str, file: str, line: int, options: Options) -> Iterator[Text]:
    place = f"{plain(shown_file(file), 1000)}:{line}" if file else ""
    yield from entry(side, joined([plain(path), place]) or "–", options.width)
    code = quoted(file, line)
    if code:
        yield from labelled("", [plain(code, max(options.width - 20, 20))], style="bold")


def _inside(found: PortComparison, options: Options) -> Lines:
    groups = gathered(found.inside)
    lines: Lines = []
    for number, group in enumerate(groups):
        text = f"{place_of(group)}: {plain(group[0].cause.sentence, 400)}"
        lines += entry("" if number else "Without effect", text, options.width, indent=0, label_width=16)
    return lines


def _situations(found: PortComparison, options: Options) -> Lines:
    """Return where else the two were compared, and the smallest input that shows what differs."""
    lines: Lines = []
    if found.smallest:
        text = f"{plain(found.smallest)}: enough to show a difference"
        lines += entry("Smallest", text, options.width, indent=0, label_width=_LABEL)
    same = [plain(f"{one.name} ({one.sentence})" if one.sentence else one.name) for one in _of(found, "same")]
    texts = [f"the same {', '.join(same)}"] if same else []
    texts += [f"{plain(one.name)}: {plain(one.sentence, 400)}" for one in _of(found, "differs", "beyond", "measured")]
    texts += [f"{plain(one.name)}: not compared; {plain(one.sentence, 400)}" for one in _of(found, "unknown")]
    for number, text in enumerate(texts):
        lines += entry("" if number else "Repeated", text, options.width, indent=0, label_width=_LABEL)
    return lines


def _of(found: PortComparison, *statuses: SituationStatus) -> list[Situation]:
    return [one for one in found.situations if one.status in statuses]


def _remarks(found: PortComparison, options: Options) -> Lines:
    lines: Lines = []
    for number, notice in enumerate(found.notices):
        label = "" if number else "Notices"
        lines += entry(label, plain(notice, 600), options.width, indent=0, label_width=_LABEL, style="yellow")
    return lines


def _changes(found: PortComparison, options: Options) -> Lines:
    """Return what the second model must change, in one list."""
    lines: Lines = []
    for group in gathered(found.differences):
        changes = list(dict.fromkeys(one.cause.change for one in group if one.cause.change))
        if changes:
            more = f" (and {counted(len(changes) - 1, 'other')} alike)" if len(changes) > 1 else ""
            lines += paragraph(f"- {plain(changes[0], 400)}{more}", options.width, 2)
    if not lines:
        return []
    return [heading(f"To do as {plain(found.first)} does, {plain(found.second)} must change:"), *lines]


def _ended(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}."
