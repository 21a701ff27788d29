"""`conventions.md`: every convention, its values, and who follows them."""

from __future__ import annotations

from veriformer.spec.conventions import CONVENTIONS, Convention, ConventionValue
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

from pages.markdown import code, notice, page, table
from pages.references import CONVENTIONS_PAGE, law_link, operation_link

_INTRODUCTION = """\
A convention is a point where correct, popular implementations disagree. It has several values, and the laws hold under
each of them. An implementation may declare the value that it follows. If it does not, a run calls it on inputs that
tell the values apart, and takes the value that fits. A value marked *only if declared* is never taken in this way,
because a wrong implementation returns the same. The first value of each table is the standard one: a run takes it where
nothing is declared and no input tells. Some values are accepted but seldom meant. Where a run finds one of these, the
report has a notice, unless the implementation declares the value."""


def conventions_page() -> dict[str, str]:
    """Return the page of all conventions, by its path."""
    sections = map(_section, CONVENTIONS.values())
    return {CONVENTIONS_PAGE: page(notice("spec/conventions.py"), "# Conventions", _INTRODUCTION, *sections)}


def operations_under(convention: Convention) -> list[str]:
    """Return the names of the operations that a convention bears on."""
    return [name for name, operation in OPERATIONS.items() if convention.name in operation.conventions]


def _section(convention: Convention) -> str:
    values = table(
        ("value", "meaning", "followed by", "accepted"),
        ((code(value.name), value.meaning, value.followed_by, _accepted(value)) for value in convention.values),
    )
    facts = [f"- Operations: {', '.join(map(operation_link, operations_under(convention)))}"]
    laws = [law_link(law) for law in LAWS.values() if convention.name in law.claim.conventions]
    if laws:
        facts.append(f"- Laws: {', '.join(laws)}")
    return page(f"## {code(convention.name)}", convention.question, values, "\n".join(facts))


def _accepted(value: ConventionValue) -> str:
    if not value.inferred:
        return "only if declared"
    return "declared, or found with a notice" if value.seldom_meant else "declared or found"
