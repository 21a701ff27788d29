"""The pages of operations, conventions and derivations in `veriformer explain`."""

from __future__ import annotations

from rich.text import Text
from veriformer.cli.output import page_width
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, paragraph
from veriformer.spec.conventions import CONVENTIONS, Convention, ConventionValue
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

_LABEL = 14


def operation_page(operation: Operation) -> Lines:
    """Return an operation: signature, parameters, formula, source, conventions and laws."""
    lines = [heading(operation.name), *paragraph(f"{operation.summary} {_met_in(operation)}", page_width()), blank()]
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
            lines += entry(name, CONVENTIONS[name].question, page_width(), indent=2, label_width=20)
    laws = [law for law in LAWS.values() if law.operation is operation]
    column = max(len(law.id) for law in laws) + 2 if laws else 0
    lines += [blank(), heading(f"Laws ({len(laws)})")]
    return lines + [
        line for law in laws for line in entry(law.id, law.statement, page_width(), indent=2, label_width=column)
    ]


def _met_in(operation: Operation) -> str:
    """Return the sentence about its laws and its mistakes, with the one of its own that is reported most often."""
    from veriformer.conformance_tests.mistakes import catalogue

    laws = counted(sum(law.operation is operation for law in LAWS.values()), "law")
    known = [one for one in catalogue().values() if operation.name in one.operations]
    if not known:
        return f"It has {laws}."
    own = max(known, key=lambda one: (-len(one.operations), len(one.citations)))
    mistakes = counted(len(known), "known mistake")
    return f"It has {laws}, and {mistakes} can be made in it, such as {own.slug} ({own.sentence.rstrip('.')})."


def convention_page(convention: Convention) -> Lines:
    """Return a convention: the question, its answers, who gives them, and which operations it bears on."""
    usual = next(value for value in convention.values if value.name == convention.standard)
    usually = f"The standard answer is {usual.name}: {usual.meaning.rstrip('.')}."
    lines = [heading(convention.name), *paragraph(f"{convention.question} {usually}", page_width()), blank()]
    for value in convention.values:
        lines += _value(value, value.name == convention.standard)
    operations = [name for name, operation in OPERATIONS.items() if convention.name in operation.conventions]
    lines += _entry("operations", ", ".join(operations) or "none yet")
    laws = [law.id for law in LAWS.values() if convention.name in law.claim.conventions]
    return lines + (_entry("laws", ", ".join(laws)) if laws else [])


def derivation_page(identifier: str, *, proof: bool = False) -> Lines:
    """Return a derivation, with its proof if asked for, and the laws that it proves."""
    proved = [law.id for law in LAWS.values() if law.claim.derivation == identifier]
    motivated = [law.id for law in LAWS.values() if law.claim.motivation == identifier]
    lines = [*derivation_lines(identifier, proof=proof)]
    lines += _entry("proves", ", ".join(proved)) if proved else []
    lines += _entry("says why", ", ".join(motivated)) if motivated else []
    lines += [] if proof else _entry("the proof", f"veriformer explain {identifier} --proof")
    return [*lines, blank()]


def derivation_lines(identifier: str, first: tuple[str, ...] = (), *, proof: bool) -> Lines:
    """Return a derivation, the steps named in `first` before the others."""
    from veriformer.spec.derivations import load_derivation, render_text

    page = render_text(load_derivation(identifier), width=page_width(), first=first, proof=proof)
    return [Text(line) for line in page.splitlines()] + [blank()]


def _parameter(parameter: Parameter) -> Lines:
    optional = {"positional": "", "keyword": " (by name)", "feature": " (optional keyword)"}[parameter.requirement]
    shape = f"{parameter.shape}: " if parameter.shape else ""
    return entry(parameter.name, f"{shape}{parameter.meaning}{optional}", page_width(), indent=2, label_width=20)


def _value(value: ConventionValue, is_standard: bool) -> Lines:
    marks = [mark for mark, given in (("standard", is_standard), ("only if declared", not value.inferred)) if given]
    text = f"{value.meaning}{f' ({marks[0]})' if marks else ''}"
    return [
        *entry(value.name, text, page_width(), indent=2, label_width=20),
        *entry("", f"followed by {value.followed_by}", page_width(), indent=2, label_width=20, style="dim"),
    ]


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, page_width(), indent=2, label_width=_LABEL)
