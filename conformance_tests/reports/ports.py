"""The comparison of two whole models, for people: the verdict, the parts side by side, what differs, what to change."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.ports.arrangements import STORED
from veriformer.conformance_tests.ports.findings import (
    NO_NAME,
    Difference,
    PairStatus,
    PartPair,
    PortComparison,
    PortVerdict,
    Situation,
    SituationStatus,
    WeightPair,
)
from veriformer.conformance_tests.reports.departures import quoted
from veriformer.conformance_tests.reports.layers import alike, placed
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, heading, labelled, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.reports.port_places import (
    and_others,
    changes,
    corrections,
    gathered,
    joined_places,
    listed,
    place_of,
    ranged,
    sentences,
    weights_alike,
)

DEFAULTS = Options()
_LABEL = 14
_MOST_WEIGHTS = 8
_MOST_SENTENCES = 3
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
    lines = paragraph(verdict_sentence(found), options.width, style=_STYLES[found.verdict])
    sections = [
        _facts(found, options),
        _table(found, options),
        _weights(found, options),
        *(_difference(group, options) for group in gathered(found.differences)),
        _inside(found, options),
        _situations(found, options),
        _remarks(found, options),
        _changes(found, options),
        _what_matters_most(found, options),
    ]
    for section in sections:
        lines += [blank(), *section] if section else []
    return [*lines, blank(), *paragraph(counts_sentence(found), options.width, style=_STYLES[found.verdict])]


def verdict_sentence(found: PortComparison) -> str:
    """Return what was found in one sentence, and that it is not all where an interrupt ended the comparison."""
    return _sentence(found) + ("; interrupted before other inputs were tried" if found.interrupted else "")


def _sentence(found: PortComparison) -> str:
    first, second = plain(found.first), plain(found.second)
    if found.differences:
        groups = gathered(found.differences)
        more = f"; {counted(len(groups) - 1, 'other difference')} below" if len(groups) > 1 else ""
        if all(one.departs == "A" for one in groups[0]):
            return f"{first} departs, and {second} does not, {_told(groups[0])}{more}"
        return f"{second} differs from {first} {_told(groups[0])}{more}"
    if found.verdict == "inside":
        inside = _told(gathered(found.inside)[0])
        return f"{second} agrees with {first}, though not inside: {_rounding(found)}; {inside}"
    unknown = sum(pair.status == "unmatched" for pair in found.pairs)
    parts = "and all parts are the same" if found.pairs and not unknown else "not all of their parts were recognised"
    return f"{second} agrees with {first}: {_rounding(found)}, {parts}"


def _told(group: Sequence[Difference]) -> str:
    one = group[0]
    where = f"in {place_of(group)}"
    if one.situation:
        where = f"only {plain(one.situation)}{f', {where}' if one.path_b else ''}"
    return f"{where}: {plain(one.cause.sentence, 400)}"


def _rounding(found: PortComparison) -> str:
    if not found.apart:
        return "their results are the same"
    return f"their results differ by rounding only ({found.apart:.1e} of the largest entry)"


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


def _facts(found: PortComparison, options: Options) -> Lines:
    """Return which model is called A, which B, and what they were run on."""
    sides = zip("AB", (found.first, found.second), found.frameworks, found.dtypes, strict=True)
    facts = [(side, joined(map(plain, (name, framework, dtype)))) for side, name, framework, dtype in sides]
    facts += [("inputs", plain(found.inputs))] if found.inputs else []
    return [line for label, text in facts for line in entry(label, text, options.width, indent=0, label_width=_LABEL)]


def _table(found: PortComparison, options: Options) -> Lines:
    """Return the pairs of parts, those of layers that are alike in one line."""
    rows = pairs_alike(found.pairs, folded=not options.verbose)
    if not rows:
        return []
    limit = max((options.width - 30) // 2, 12)
    widths = [min(max(map(len, column)), limit) for column in ([row[0] for row in rows], [row[1] for row in rows])]
    lines = [heading(f"    {'A'.ljust(widths[0])}  {'B'.ljust(widths[1])}  part")]
    for first, second, pair in rows:
        mark, style = _MARKS[pair.status]
        line = Text("  ").append(mark, style=style)
        role, summary = plain(pair.role).replace("_", " "), plain(pair.summary).replace("_", " ")
        said = f"{role} ({summary})" if summary not in ("", role) else role
        cells = (_fitted(first, widths[0]), _fitted(second, widths[1]), said)
        lines.append(line.append(f" {'  '.join(cells)}", style="" if pair.status == "same" else style))
    return lines


def pairs_alike(pairs: Sequence[PartPair], *, folded: bool = True) -> list[tuple[str, str, PartPair]]:
    """Return the pairs of parts with their names in both models, those of layers that are alike once if `folded`."""
    groups = alike(pairs, _shape) if folded else [[pair] for pair in pairs]
    return [(_named(group, "path_a"), _named(group, "path_b"), group[0]) for group in groups]


def _fitted(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _shape(pair: PartPair) -> object:
    if pair.layer is None:
        return id(pair)
    first, second = placed(pair.path_a, pair.layer), placed(pair.path_b, pair.layer)
    return pair.role, first.stem, first.rest, second.stem, second.rest, pair.status, pair.summary


def _named(group: Sequence[PartPair], side: str) -> str:
    places = [placed(getattr(pair, side), pair.layer) for pair in group if getattr(pair, side)]
    if places:
        return ranged(places)
    return "–" if group[0].status == "unmatched" else "(no module)"


def _weights(found: PortComparison, options: Options) -> Lines:
    """Return the weights that are not as they are in the first model, and how many are."""
    others = weights_alike(one for one in found.weights if one.relation not in ("same", "unknown"))
    unknown = [name for one in found.weights if one.relation == "unknown" for name in one.names_a]
    if not others and not unknown:
        return []
    most = len(others) if options.verbose else _MOST_WEIGHTS
    texts = [weights_sentence(group) for group in others[:most]]
    rest, noun = len(others) - most, "other" if others else "weight"
    same = sum(one.relation == "same" for one in found.weights)
    texts.append(joined([f"{rest} more (--verbose)" if rest > 0 else "", f"{counted(same, noun)} the same"]))
    if unknown:
        names = first_few([plain(name) for name in dict.fromkeys(unknown)], len(unknown) if options.verbose else 3)
        texts.append(f"not found out, and held against nobody: {names}")
    lines: Lines = []
    for number, text in enumerate(texts):
        lines += entry("" if number else "Weights", text, options.width, indent=0, label_width=_LABEL)
    return lines


def weights_sentence(group: Sequence[WeightPair]) -> str:
    """Return what is said of weights that are alike."""
    one = group[0]
    return f"{plain(one.sentence, 400)}{and_others(len(group) - 1)}{_made_up_for(one)}"


def _made_up_for(one: WeightPair) -> str:
    """Return why what differs is no difference, where it is none."""
    if not one.harmless:
        return ""
    return " (held against nobody)" if one.relation == STORED else " (made up for)"


def _difference(group: Sequence[Difference], options: Options) -> Lines:
    one = group[0]
    lines = paragraph(f"✗ {place_of(group)}", options.width, 2, "bold red")
    for sentence in sentences(group)[:_MOST_SENTENCES]:
        lines += paragraph(_ended(plain(sentence, 1000)), options.width, INDENT)
    lines.append(blank())
    known = one.cause.name in catalogue()
    cause = one.cause.kind if one.cause.name == NO_NAME else f"{one.cause.kind}: {one.cause.name}"
    lines += entry("cause", plain(cause), options.width)
    lines += entry("how to look", f"veriformer explain {one.cause.name}", options.width) if known else []
    lines += entry("step", _steps(group), options.width)
    lines += _where("A", [(each.path_a, each.layer) for each in group], one.file_a, one.line_a, options)
    lines += _where("B", [(each.path_b, each.layer) for each in group], one.file_b, one.line_b, options)
    return lines


def _steps(group: Sequence[Difference]) -> str:
    """Return the steps of the specification where differences are, and the parts."""
    steps, parts = (
        list(dict.fromkeys(plain(name).replace("_", " ") for name in names if name))
        for names in ([one.step for one in group], [one.operation for one in group])
    )
    return listed(steps) if parts in ([], steps) else f"{listed(steps)}, of {listed(parts)}"


def _where(side: str, paths: Sequence[tuple[str, int | None]], file: str, line: int, options: Options) -> Lines:
    """Return where a difference is in one of the two models: the modules, the file, the line of code."""
    place = joined_places([placed(path, layer) for path, layer in paths if path])
    rows = [place, f"{plain(shown_file(file), 1000)}:{line}" if file else ""]
    said = [row for row in rows if row] or ["–"]
    lines = [each for number, row in enumerate(said) for each in entry("" if number else side, row, options.width)]
    code = quoted(file, line)
    return [*lines, *labelled("", [plain(code, max(options.width - 20, 20))], style="bold")] if code else lines


def _inside(found: PortComparison, options: Options) -> Lines:
    texts = [f"{place_of(group)}: {plain(said, 400)}" for group in gathered(found.inside) for said in sentences(group)]
    lines: Lines = []
    for number, text in enumerate(texts):
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
    """Return what the second model must change, and what the first one where it is that which departs."""
    lines: Lines = []
    for title, wanted in to_change(found):
        lines.append(heading(title))
        lines += [line for change in wanted for line in _item(plain(change, 500), options.width)]
    return lines


def _what_matters_most(found: PortComparison, options: Options) -> Lines:
    """Return the first difference again, in a few lines: a terminal ends with them."""
    groups = gathered(found.differences)
    if not groups:
        return []
    one = groups[0][0]
    side = "A" if one.departs == "A" else "B"
    lines = paragraph(f"What matters most: {_side_and_place(found, groups[0], side)}", options.width, style="bold red")
    for label, text in _first_facts(found, one, side):
        lines += entry(label, text, options.width) if text else []
    return lines


def _side_and_place(found: PortComparison, group: Sequence[Difference], side: str) -> str:
    name = plain(found.first if side == "A" else found.second)
    departs = ", which departs" if group[0].departs in ("A", "B") else ""
    return f"{place_of(group)} of {name}{departs}{f', only {plain(group[0].situation)}' if group[0].situation else ''}"


def _first_facts(found: PortComparison, one: Difference, side: str) -> list[tuple[str, str]]:
    """Return the cause of a difference, where it is, the smallest input that shows it, and the command to read on."""
    known = one.cause.name in catalogue()
    sentence = plain(one.cause.sentence, 400)
    file, line = (one.file_a, one.line_a) if side == "A" else (one.file_b, one.line_b)
    return [
        ("cause", sentence if one.cause.name == NO_NAME else f"{one.cause.name}: {sentence}"),
        ("where", f"{plain(shown_file(file), 1000)}:{line}" if file else ""),
        ("smallest case", plain(found.smallest)),
        ("next", f"veriformer explain {one.cause.name}" if known else ""),
    ]


def to_change(found: PortComparison) -> list[tuple[str, list[str]]]:
    """Return lists of what must change, each with its title: in the second model, and where only the first departs."""
    groups = gathered(found.differences)
    of_first = [mended for group in groups for mended in corrections(group)]
    of_second = [change for group in groups if not corrections(group) for change in changes(group)]
    first, second = plain(found.first), plain(found.second)
    titles = [(f"{first} must change:", of_first), (f"To do as {first} does, {second} must change:", of_second)]
    return [(title, wanted) for title, wanted in titles if wanted]


def _item(text: str, width: int) -> Lines:
    """Return an item of a list, whose later lines stand below the text of the first."""
    return labelled("-", textwrap.wrap(text, max(width - 4, 20), break_on_hyphens=False), indent=2, label_width=2)


def _ended(sentence: str) -> str:
    # A name at its beginning stays as it is.
    is_word = sentence.split(" ")[0].rstrip(":").isalpha()
    return f"{sentence[:1].upper() if is_word else sentence[:1]}{sentence[1:].rstrip('.')}."
