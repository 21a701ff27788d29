"""One departure of a model, for people: where it is, in the user's own code, and the mistake behind it."""

from __future__ import annotations

import linecache
import os
from collections.abc import Sequence

from rich.text import Text
from veriformer.conformance_tests.core.text import first_few, plain
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.recognition.findings import Departure, Suspected
from veriformer.conformance_tests.reports.layers import alike, placed, places_named
from veriformer.conformance_tests.reports.layout import (
    INDENT,
    LABEL,
    Lines,
    blank,
    entry,
    headed,
    heading,
    labelled,
    paragraph,
)
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.places import shown_file

CROSS = "✗"
TITLE = "Diagnosis"
# The confidence above which a mistake is likely, and the one at which no other known mistake fits.
LIKELY = 0.25
CERTAIN = 1.0
_MOST_SUSPECTS = 4
_MOST_CITATIONS = 2
_LARGEST_FILE = 10_000_000


def gathered(departures: Sequence[Departure]) -> list[list[Departure]]:
    """Return the departures in groups: those of layers that share the line and the mistake are one."""
    return alike(departures, _kind)


def _kind(one: Departure) -> object:
    place = placed(one.path, one.layer)
    if place.number is None:
        return id(one)
    return place.stem, place.rest, one.step, one.operation, one.file, one.line, one.sentence, one.suspects


def place_of(group: Sequence[Departure]) -> str:
    """Return where departures of one group are, in the model's own names."""
    return plain(places_named([placed(one.path, one.layer) for one in group]))


def departure_lines(group: Sequence[Departure], options: Options) -> Lines:
    """Return everything about one departure; `group` has it once for each layer."""
    one = group[0]
    place, sentence = f"{CROSS} {place_of(group)}", _ended(plain(one.sentence, 2000))
    if options.compact:
        first = headed(place, sentence, options.width, "bold red")
        return [*first, *_facts(one, group, options), *_diagnosis(one, options)]
    return [
        *(Text(line.plain, style="bold red") for line in paragraph(place, options.width, 2)),
        *paragraph(sentence, options.width, INDENT),
        blank(),
        *_facts(one, group, options),
        blank(),
        heading(f"  {TITLE}"),
        *_diagnosis(one, options),
    ]


def _facts(one: Departure, group: Sequence[Departure], options: Options) -> Lines:
    step = plain(one.step)
    operation = f"{step}, of {plain(one.operation)}" if one.operation and one.operation != step else step
    lines = entry("step", operation, options.width)
    # The heading names it as well.
    if one.layer is not None and len(group) == 1 and not options.compact:
        lines += entry("layer", str(one.layer), options.width)
    if one.file:
        lines += entry("where", f"{plain(shown_file(one.file), 1000)}:{one.line}", options.width)
    if code := quoted(one.file, one.line):
        # A line of code is not wrapped, so that it reads as it stands in the file.
        lines += labelled("", [plain(code, max(options.width - INDENT - LABEL, 20))], style="bold")
    return lines


def quoted(file: str, line: int) -> str:
    """Return a line of the user's code, without the spaces around it; empty where it cannot be had."""
    try:
        # A cell of a notebook is no file and is in the cache; a device or a huge file must not be read.
        readable = file in linecache.cache or (os.path.isfile(file) and os.path.getsize(file) <= _LARGEST_FILE)
    except (OSError, ValueError):
        return ""
    if not file or not readable:
        return ""
    linecache.checkcache(file)
    return linecache.getline(file, line).strip()


def confidence_word(suspect: Suspected) -> str:
    """Return how sure a suspect is: certain, likely or perhaps."""
    if suspect.confidence >= CERTAIN:
        return "certain"
    return "likely" if suspect.confidence >= LIKELY else "perhaps"


def _diagnosis(one: Departure, options: Options) -> Lines:
    if not one.suspects:
        return _opened("No known mistake gives what the model computes there.", options)
    if len(one.suspects) == 1:
        only = one.suspects[0]
        return [*_opened(_sentence(only, options), options), *_more(only, options, INDENT)]
    lines = _opened("Each of these gives what the model computes there; the likeliest first:", options)
    for suspect in one.suspects[:_MOST_SUSPECTS]:
        lines += paragraph(f"- {_sentence(suspect, options)}", options.width, INDENT + 2)
        lines += _more(suspect, options, INDENT + 4)
    if (left := len(one.suspects) - _MOST_SUSPECTS) > 0:
        lines += paragraph(f"… and {left} more", options.width, INDENT + 2)
    return lines


def _opened(text: str, options: Options) -> Lines:
    """Return the first sentence of a diagnosis, behind its title where there is no room for a line of that."""
    return headed(TITLE, text, options.width) if options.compact else paragraph(text, options.width, INDENT)


def _sentence(suspect: Suspected, options: Options) -> str:
    known = catalogue().get(suspect.name)
    sentence = _ended(plain(suspect.sentence, 2000))
    if options.compact and known and known.hidden_when:
        sentence = f"{sentence.rstrip('.')}; hidden when {plain(known.hidden_when, 2000).rstrip('.')}."
    return f"`{plain(suspect.name)}` ({confidence_word(suspect)}): {sentence}"


def _more(suspect: Suspected, options: Options, indent: int) -> Lines:
    """Return where a mistake was reported, what hides it, and where to read on."""
    known = catalogue().get(suspect.name)
    citations = citations_of(suspect)
    most = len(citations) if options.verbose else _MOST_CITATIONS
    facts = {
        "met in": "" if options.compact else first_few(citations, most),
        "hidden when": known.hidden_when if known and not options.compact else "",
        "how to look": f"veriformer explain {suspect.name}" if known else "",
    }
    return [
        line
        for label, text in facts.items()
        if text
        for line in entry(label, plain(text, 2000), options.width, indent=indent)
    ]


def citations_of(suspect: Suspected) -> tuple[str, ...]:
    """Return the public reports of a mistake: the suspect's own, else those of the catalogue."""
    known = catalogue().get(suspect.name)
    return suspect.citations or (tuple(citation.issue for citation in known.citations) if known else ())


def _ended(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}."
