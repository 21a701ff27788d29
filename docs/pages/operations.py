"""`operations.md`: every operation of this version."""

from __future__ import annotations

from veriformer.spec.operations import OPERATIONS, Operation, Parameter

from pages.laws import law_link, laws_of
from pages.markdown import code, link, notice, page, table

PATH = "operations.md"

_REQUIREMENTS = {"positional": "by position", "keyword": "by name", "feature": "optional keyword: a feature"}
_INTRODUCTION = """\
The operations whose laws this version checks. Row vectors, y = x W; batch first, heads second. B batch, H query heads,
G key/value heads, L query length, S key length, D width of a query or key head, Dv width of a value head, E model
width. Positions count from 0. [The interface](interface.md) says how an implementation offers them."""


def operations_page() -> dict[str, str]:
    """Return the page of all operations, by its path."""
    summaries = table(
        ("operation", "what it does"),
        ((link(code(name), "", name), operation.summary) for name, operation in OPERATIONS.items()),
    )
    sections = map(_section, OPERATIONS.values())
    return {PATH: page(notice("spec/operations"), "# Operations", _INTRODUCTION, summaries, *sections)}


def _section(operation: Operation) -> str:
    parameters = table(("parameter", "shape", "kind", "given", "meaning"), map(_row, operation.parameters))
    conventions = ", ".join(link(code(name), "conventions.md", name) for name in operation.conventions)
    facts = [
        f"- Result: {code(operation.result)}",
        f"- Formula: {code(operation.formula)}",
        f"- Source: {operation.source}",
        f"- Conventions: {conventions or 'none'}",
        f"- Laws: {', '.join(map(law_link, laws_of(operation)))}",
    ]
    signature = f"```text\n{operation.signature}\n```"
    return page(f"## {code(operation.name)}", operation.summary, signature, parameters, "\n".join(facts))


def _row(parameter: Parameter) -> tuple[str, ...]:
    shape = code(parameter.shape) if parameter.shape else ""
    given = _REQUIREMENTS[parameter.requirement]
    return code(parameter.name), shape, parameter.kind, given, parameter.meaning
