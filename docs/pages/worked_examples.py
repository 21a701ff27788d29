"""`worked_examples.md`: what the seed documents print beside what is exact, the errata first; and how many of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from veriformer.spec.worked_examples import Verdict, load_worked_examples, render_markdown
from veriformer.spec.worked_examples.example import WorkedExample

from pages.markdown import counted, fenced_mathematics, filled, notice, page, table

PATH = "worked_examples.md"
SEEDS = "seeds/README.md"

_INTRODUCTION = """\
This page has every numeric example of the [five seed documents](seeds/README.md). It shows what the document prints and
the exact value, which SymPy computes. The verdict says whether the two agree, and is computed too:

- *correct*: both are equal,
- *rounded*: the document prints the exact value, rounded to the digits that it shows,
- *conditional*: the printed value is right if the stated condition holds, and wrong otherwise,
- *wrong*: the document has an erratum,
- *not given*: the document leaves the value open.

Implementations are held to the exact values of the examples that state an operation's inputs and result. The project
adds examples of its own where the documents have none: of gradients, and of training."""


def worked_examples_page() -> dict[str, str]:
    """Return the page of all worked examples, by its path."""
    examples = load_worked_examples()
    errata = [example for example in examples if example.verdict is Verdict.WRONG]
    others = [example for example in examples if example.verdict is not Verdict.WRONG]
    source = "spec/worked_examples"
    heading = "# Worked examples"
    own = _section("Examples of the project", [example for example in examples if not example.document])
    sections = (_section(f"Document {name}", _of_document(name, others)) for name in _documents(others))
    return {
        PATH: page(
            notice(source), heading, _INTRODUCTION, _summary(examples), _section("Errata", errata), *sections, own
        )
    }


def seeds_page(folder: Path) -> dict[str, str]:
    """Return the page in `folder` about the seed documents with its table of verdicts, by its path."""
    text = (folder / SEEDS).read_text(encoding="utf-8")
    of_documents = [example for example in load_worked_examples() if example.document]
    return {SEEDS: filled(text, "verdicts", _verdicts(of_documents))}


def _summary(examples: Iterable[WorkedExample]) -> str:
    examples = list(examples)
    executable = sum(example.execution is not None for example in examples)
    return page(
        f"{counted(len(examples), 'example')}, {executable} of them put to implementations:", _verdicts(examples)
    )


def _verdicts(examples: Iterable[WorkedExample]) -> str:
    return table(("document", *Verdict, "all"), _rows(list(examples)))


def _rows(examples: list[WorkedExample]) -> Iterable[tuple[str, ...]]:
    for name in _documents(examples):
        yield _row(name, _of_document(name, examples))
    if any(not example.document for example in examples):
        yield _row("of the project", _of_document("", examples))
    yield _row("all", examples)


def _row(name: str, examples: list[WorkedExample]) -> tuple[str, ...]:
    verdicts = Counter(example.verdict for example in examples)
    return name, *(str(verdicts[verdict]) for verdict in Verdict), str(len(examples))


def _documents(examples: Iterable[WorkedExample]) -> list[str]:
    return sorted({example.document for example in examples if example.document})


def _of_document(name: str, examples: Iterable[WorkedExample]) -> list[WorkedExample]:
    return [example for example in examples if example.document == name]


def _section(title: str, examples: Iterable[WorkedExample]) -> str:
    return page(f"## {title}", *map(_entry, examples))


def _entry(example: WorkedExample) -> str:
    if not example.document:
        return fenced_mathematics(render_markdown(example))
    place = f"[{example.source}](seeds/{example.document}.txt#L{example.line})"
    return fenced_mathematics(render_markdown(example).replace(example.source, place, 1))
