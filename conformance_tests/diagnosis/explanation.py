"""What is known of a suspect's mistakes: a sentence each, and the reports of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.diagnosis.diagnosis import Suspect
from veriformer.conformance_tests.diagnosis.elimination import is_convention, mistake_of
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants.family import Change, Point
from veriformer.spec.conventions import CONVENTIONS

_HOW = {"declared": "is declared", "inferred": "was inferred", "standard": "is assumed"}


@dataclass(frozen=True)
class Explanation:
    """One mistake in words.

    `name` is that of the suspect; `recorded` says that the catalogue has it, with more to read. `changes` are the
    decisions that make it, none where it is no choice in a formula. `citations` are issues, `owner/name#1`.
    """

    name: str
    sentence: str
    recorded: bool
    changes: tuple[Change, ...] = ()
    citations: tuple[str, ...] = ()
    hidden_when: str = ""

    @property
    def places(self) -> tuple[str, ...]:
        """The parts of the operation in which the mistake is made, none where it has no parts."""
        return tuple(dict.fromkeys(decision.rpartition(".")[0] for decision, _ in self.changes if "." in decision))


def explanations(operation: str, suspect: Suspect, findings: Mapping[str, Finding]) -> tuple[Explanation, ...]:
    """Return what is known of each mistake of a suspect; `findings` are the operation's conventions by name."""
    family = family_of(operation)
    changes: dict[str, list[Change]] = {}
    sentences: dict[str, str] = {}
    if family is not None:
        base = family.under({name: finding.value for name, finding in findings.items()})
        for change in suspect.changes:
            name = mistake_of(base, change)
            changes.setdefault(name, []).append(change)
            sentences[name] = _sentence(base, change, findings)
    return tuple(_explained(name, sentences.get(name, ""), tuple(changes.get(name, ()))) for name in suspect.mistakes)


def hidden_conventions(operation: str, suspect: Suspect, findings: Mapping[str, Finding]) -> Mapping[str, str]:
    """Return the conventions that the operation follows and that its mistake kept from being found."""
    family = family_of(operation)
    if family is None:
        return {}
    base = family.under({name: finding.value for name, finding in findings.items()})
    others = [change for change in suspect.changes if mistake_of(base, change) not in suspect.mistakes]
    settled = ((family.all_decisions[name].convention, value) for name, value in others)
    return {convention: value for convention, value in settled if convention}


def harmless_choices(operation: str, suspect: Suspect) -> tuple[str, ...]:
    """Return what the program does beside its mistake that breaks no law by itself, each in a sentence."""
    family, known = family_of(operation), catalogue()
    if family is None:
        return ()
    free = [change for change in suspect.changes if not family.all_decisions[change[0]].convention]
    others = [change for change in free if mistake_of(family.standard, change) not in suspect.mistakes]
    options = [family.all_decisions[name].option(value) for name, value in others]
    return tuple(dict.fromkeys(one.meaning or f"{known[one.slug].sentence}; no law finds that" for one in options))


def _explained(name: str, sentence: str, changes: tuple[Change, ...]) -> Explanation:
    known = catalogue().get(name)
    if known is None:
        return Explanation(name, sentence, recorded=False, changes=changes)
    return Explanation(
        name,
        sentence or known.sentence,
        recorded=True,
        changes=changes,
        citations=tuple(citation.issue for citation in known.citations),
        hidden_when=known.hidden_when,
    )


def _sentence(base: Point, change: Change, findings: Mapping[str, Finding]) -> str:
    """Return what only the family knows: the convention that is not followed, or what an unrecorded option does."""
    name, taken = change
    decision = base.family.all_decisions[name]
    if not is_convention(base, change):
        return decision.option(taken).meaning
    convention = CONVENTIONS[decision.convention]
    meanings = {value.name: value.meaning for value in convention.values}
    finding = findings.get(convention.name)
    due, how = (convention.standard, "standard") if finding is None else (finding.value, finding.how)
    followed = f"it follows {taken} in {convention.name} ({meanings[taken]})"
    return f"{followed} though {due} {_HOW[how]} ({meanings.get(due, '')})"
