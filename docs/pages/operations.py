"""`operations.md`: every operation, topic by topic; `operations/`: a page for each, with its laws."""

from __future__ import annotations

from textwrap import wrap

from veriformer.conformance_tests.mistakes import remarks
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

from pages.laws import law_entry, laws_of
from pages.markdown import code, counted, formula, link, notice, page, table
from pages.mistakes import mistakes_table, others_shown_in
from pages.pictures import drawn
from pages.references import convention_link, operation_link, operation_page, topic_page
from pages.topic import Topic, topic_of, topics
from pages.visits import visits

PATH = "operations.md"
_WIDTH = 76

_REQUIREMENTS = {"positional": "by position", "keyword": "by name", "feature": "optional, by name"}
_INTRODUCTION = """\
These are the operations that have laws. [The interface](interface.md) says how an implementation offers them.

Vectors are rows, y = x W. The batch is the first axis and the heads are the second. Sizes have letters: B is the batch,
H the number of query heads, G the number of key/value heads, L the number of queries, S the number of keys, D the width
of a query or key head, Dv the width of a value head, and E the width of the model. Positions count from 0."""
_CAUGHT = """\
Each of these mistakes was planted in a correct program, and a law of this operation fails on that program. The page of
a mistake draws the smallest case that shows it."""

_TRIED = """\
Mistakes hide in certain regions, such as equal lengths, one head, the size of a block, or a mask that all heads share.
The table says how many cases of a quick run lie in each region, and a test demands that none is left out. Another page
says [what is never drawn](../never_drawn.md)."""


def operations_page() -> dict[str, str]:
    """Return the page of all operations and those of each, by their paths."""
    sections = (_of_topic(topic) for topic in topics())
    pages = {operation_page(name): _operation_page(operation) for name, operation in OPERATIONS.items()}
    return {PATH: page(notice("spec/operations"), "# Operations", _INTRODUCTION, *sections), **pages}


def _of_topic(topic: Topic) -> str:
    rows = (
        (operation_link(operation.name), operation.summary, str(len(laws_of(operation))))
        for operation in topic.operations
    )
    about = f"{topic.summary} {link('Pictures, conventions, derivations, mistakes', topic_page(topic.name))}."
    return page(f"## {topic.title}", about, table(("operation", "what it does", "laws"), rows))


def _operation_page(operation: Operation) -> str:
    topic = topic_of(operation)
    laws = laws_of(operation)
    place = f"Topic: {link(topic.title, f'../{topic_page(topic.name)}')}."
    return page(
        notice("spec/operations"),
        f"# {code(operation.name)}",
        f"{operation.summary} {place}",
        formula(operation.formula),
        f"```text\n{_signature(operation)}\n```",
        table(("parameter", "shape", "kind", "given", "meaning"), map(_row, operation.parameters)),
        "\n".join(_facts(operation)),
        f"## Mistakes\n\n{_CAUGHT}",
        remarks().get(operation.name, ""),
        mistakes_table(operation, "../"),
        others_shown_in(operation, "../"),
        f"## What a run tries\n\n{_TRIED}",
        drawn(visits(operation.name)),
        f"## The {counted(len(laws), 'law')}",
        *map(law_entry, laws),
    )


def _signature(operation: Operation) -> str:
    """Return the signature in lines that a page shows without cutting them."""
    name, bracket, rest = operation.signature.partition("(")
    return "\n".join(wrap(rest, _WIDTH, initial_indent=f"{name}{bracket}", subsequent_indent="    "))


def _facts(operation: Operation) -> list[str]:
    conventions = ", ".join(convention_link(name, "../") for name in operation.conventions)
    return [
        f"- Result: {code(operation.result)}",
        f"- Source: {operation.source}",
        f"- Conventions: {conventions or 'none'}",
    ]


def _row(parameter: Parameter) -> tuple[str, ...]:
    shape = code(parameter.shape) if parameter.shape else ""
    given = _REQUIREMENTS[parameter.requirement]
    return code(parameter.name), shape, parameter.kind, given, parameter.meaning
