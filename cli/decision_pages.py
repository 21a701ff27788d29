"""The pages of a decision of implementers, and of one choice in it, such as `scale=length`."""

from __future__ import annotations

from veriformer.cli.output import page_width
from veriformer.conformance_tests.core.text import counted, first_few
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.decisions import KnownDecision, decisions_named
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, paragraph
from veriformer.conformance_tests.variants.decision import Option
from veriformer.spec.conventions import CONVENTIONS, ConventionValue

_LABEL = 14
_KINDS = {
    "standard": "what the reference does",
    "convention": "a convention",
    "mistake": "a mistake",
    "harmless": "harmless",
}
_MOST_CITATIONS = 3


def decision_pages(identifier: str) -> list[Lines]:
    """Return the pages of the decisions or choices of a name; none where there are none."""
    name, is_choice, taken = identifier.partition("=")
    if not is_choice:
        return [_decision_page(known) for known in decisions_named(name)]
    return [
        _choice_page(known, option)
        for known in decisions_named(name)
        for option in known.options
        if option.name == taken
    ]


def _decision_page(known: KnownDecision) -> Lines:
    opening = f"{known.decision.question} The reference takes {known.decision.standard.name}; {_others(known)}."
    return [heading(known.name), *paragraph(opening, page_width()), blank(), *_facts(known), *_choices(known)]


def _others(known: KnownDecision) -> str:
    others = len(known.options) - 1
    wrong = sum(option.status == "mistake" for option in known.options)
    if wrong == others:
        return "the other choice is a mistake" if others == 1 else f"each of the {others} other choices is a mistake"
    return f"of the {counted(others, 'other choice')} {wrong} {'is a mistake' if wrong == 1 else 'are mistakes'}"


def _choice_page(known: KnownDecision, option: Option) -> Lines:
    mistake, value = catalogue().get(option.slug), _value(known, option)
    opening = f"A choice in the decision {known.name}, and {_KINDS[option.status]}: {_meaning(known, option)}."
    opening += f" The question is: {known.decision.question}"
    lines = [heading(f"{known.name}={option.name}"), *paragraph(opening, page_width()), blank()]
    if mistake is not None:
        reports = first_few([citation.issue for citation in mistake.citations], _MOST_CITATIONS)
        # A value of a convention is the mistake only where another one is declared.
        where = "" if option.status == "mistake" else " where another value is declared"
        lines += _entry("mistake", f"{mistake.slug}{where} (veriformer explain {mistake.slug})")
        lines += _entry("met in", reports or "no known report")
    elif option.status == "mistake":
        lines += _entry("mistake", "not in the catalogue; no report of it is known")
    lines += _entry("followed by", value.followed_by) if value is not None else []
    return [*lines, *_facts(known), *_choices(known)]


def _facts(known: KnownDecision) -> Lines:
    lines = _entry("operations", ", ".join(known.operations))
    if name := known.decision.convention:
        lines += _entry("convention", f"{name} settles it (veriformer explain {name})")
    return lines


def _choices(known: KnownDecision) -> Lines:
    lines = [blank(), heading(f"Choices ({len(known.options)})")]
    column = min(max(len(option.name) for option in known.options) + 2, page_width() // 2)
    for option in known.options:
        text = f"{option.status}: {_meaning(known, option)}"
        lines += entry(option.name, text, page_width(), indent=2, label_width=column)
    return lines


def _meaning(known: KnownDecision, option: Option) -> str:
    """Return what an option does, from the convention, from the option itself, or from the catalogue of mistakes."""
    value, mistake = _value(known, option), catalogue().get(option.slug)
    if value is not None:
        return value.meaning.rstrip(".")
    if option.meaning or (mistake is not None and option.status == "mistake"):
        return (option.meaning or (mistake.sentence if mistake else "")).rstrip(".")
    return option.name.replace("_", " ")


def _value(known: KnownDecision, option: Option) -> ConventionValue | None:
    convention = CONVENTIONS.get(known.decision.convention)
    values = () if convention is None else convention.values
    return next((value for value in values if value.name == option.name and option.status != "mistake"), None)


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, page_width(), indent=2, label_width=_LABEL)
