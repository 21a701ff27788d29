"""The pages of `veriformer explain`."""

from __future__ import annotations

from rich.text import Text
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, labelled, paragraph
from veriformer.spec.conventions import CONVENTIONS, Convention, ConventionValue
from veriformer.spec.laws import LAWS, LawStatement
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

_WIDTH = 100
_LABEL = 14


def law_page(law: LawStatement) -> Lines:
    """Return a law: statement, formula, source, what it needs, and its derivation or the reason for having none."""
    lines = [heading(law.id), *paragraph(law.statement, _WIDTH), blank()]
    lines += _entry("formula", law.formula)
    lines += _entry("operation", law.operation.name)
    lines += _entry("source", law.claim.source)
    lines += _entry("tier", "must" if law.obligation == "must" else "should: correct libraries are known to differ")
    if law.features:
        lines += _entry("features", f"needs the keyword {' and '.join(law.features)}")
    for number, name in enumerate(law.claim.conventions):
        lines += _entry("" if number else "conventions", f"{name}: {CONVENTIONS[name].question}")
    others = [other.id for other in LAWS.values() if other.claim is law.claim and other.id != law.id]
    if others:
        lines += _entry("also", ", ".join(others))
    lines += _mistakes(law)
    if law.claim.derivation is None:
        lines += _entry("no derivation", law.claim.reason or "")
    if law.claim.background is None:
        return lines
    label = "derivation" if law.claim.derivation else "why so chosen"
    lines += _entry(label, f"{law.claim.background}, {_steps(law.claim.background, law.claim.steps)}")
    return [*lines, blank(), *_derivation(law.claim.background, law.claim.steps)]


def _steps(identifier: str, names: tuple[str, ...]) -> str:
    from veriformer.spec.derivations import load_derivation

    numbers = {step.name: number for number, step in enumerate(load_derivation(identifier).steps, 1)}
    text = " and ".join(f"{numbers[name]} “{name}”" for name in names)
    return f"{'step' if len(names) == 1 else 'steps'} {text}"


def _mistakes(law: LawStatement) -> Lines:
    from veriformer.conformance_tests.mistakes import caught_by

    return _entry("catches", ", ".join(slugs)) if (slugs := caught_by(law.id)) else []


def operation_page(operation: Operation) -> Lines:
    """Return an operation: signature, parameters, formula, source, conventions and laws."""
    lines = [heading(operation.name), *paragraph(operation.summary, _WIDTH), blank()]
    lines += _entry("signature", operation.signature)
    lines += _entry("formula", operation.formula)
    lines += _entry("result", operation.result)
    lines += _entry("source", operation.source)
    lines += [
        blank(),
        heading("Parameters"),
        *(line for item in operation.parameters for line in _parameter(item)),
    ]
    if operation.conventions:
        lines += [blank(), heading("Conventions")]
        for name in operation.conventions:
            lines += entry(name, CONVENTIONS[name].question, _WIDTH, indent=2, label_width=20)
    laws = [law for law in LAWS.values() if law.operation is operation]
    column = max(len(law.id) for law in laws) + 2 if laws else 0
    lines += [blank(), heading(f"Laws ({len(laws)})")]
    return lines + [line for law in laws for line in entry(law.id, law.statement, _WIDTH, indent=2, label_width=column)]


def convention_page(convention: Convention) -> Lines:
    """Return a convention: the question, its answers, who gives them, and which operations it bears on."""
    lines = [heading(convention.name), *paragraph(convention.question, _WIDTH), blank()]
    for value in convention.values:
        lines += _value(value, value.name == convention.standard)
    operations = [name for name, operation in OPERATIONS.items() if convention.name in operation.conventions]
    lines += _entry("operations", ", ".join(operations) or "none yet")
    laws = [law.id for law in LAWS.values() if convention.name in law.claim.conventions]
    return lines + (_entry("laws", ", ".join(laws)) if laws else [])


def derivation_page(identifier: str) -> Lines:
    """Return a derivation and the laws that it proves."""
    proved = [law.id for law in LAWS.values() if law.claim.derivation == identifier]
    motivated = [law.id for law in LAWS.values() if law.claim.motivation == identifier]
    proves = _entry("proves", ", ".join(proved)) if proved else []
    says_why = _entry("says why", ", ".join(motivated)) if motivated else []
    return [*_derivation(identifier), *proves, *says_why, blank()]


def _derivation(identifier: str, first: tuple[str, ...] = ()) -> Lines:
    from veriformer.spec.derivations import load_derivation, render_text

    page = render_text(load_derivation(identifier), width=_WIDTH, first=first)
    return [Text(line) for line in page.splitlines()] + [blank()]


def _parameter(parameter: Parameter) -> Lines:
    optional = {"positional": "", "keyword": " (by name)", "feature": " (optional keyword)"}[parameter.requirement]
    shape = f"{parameter.shape}: " if parameter.shape else ""
    return entry(parameter.name, f"{shape}{parameter.meaning}{optional}", _WIDTH, indent=2, label_width=20)


def _value(value: ConventionValue, is_standard: bool) -> Lines:
    marks = [mark for mark, given in (("standard", is_standard), ("only if declared", not value.inferred)) if given]
    text = f"{value.meaning}{f' ({marks[0]})' if marks else ''}"
    return [
        *entry(value.name, text, _WIDTH, indent=2, label_width=20),
        *labelled("", [f"followed by {value.followed_by}"], indent=2, label_width=20, style="dim"),
    ]


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, _WIDTH, indent=2, label_width=_LABEL)
