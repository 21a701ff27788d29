"""The numeric examples of the five seed documents: what each prints, the exact value, and the verdict.

The exact value is what implementations are held to. Plain numbers load without SymPy (`executable_examples`);
exact ones import it when asked for (`load_worked_examples`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veriformer.spec.worked_examples.executable import ExecutableExample, executable_examples, read_values
from veriformer.spec.worked_examples.verdict import Verdict

if TYPE_CHECKING:
    from veriformer.spec.worked_examples.example import WorkedExample

__all__ = [
    "ExecutableExample",
    "Verdict",
    "executable_examples",
    "load_worked_example",
    "load_worked_examples",
    "render_markdown",
    "worked_example_ids",
]


def worked_example_ids() -> tuple[str, ...]:
    """Return the ids of all worked examples in the order of the documents."""
    return tuple(record["id"] for record in read_values())


def load_worked_examples() -> tuple[WorkedExample, ...]:
    """Return all worked examples with exact values; imports SymPy."""
    from veriformer.spec.worked_examples.registry import WORKED_EXAMPLES

    return WORKED_EXAMPLES


def load_worked_example(example_id: str) -> WorkedExample:
    """Return the worked example called `example_id`; KeyError when there is none."""
    for example in load_worked_examples():
        if example.id == example_id:
            return example
    raise KeyError(f"no worked example is called {example_id!r}; worked_example_ids() lists them")


def render_markdown(example: WorkedExample) -> str:
    """Return the example as a Markdown section: fragment, printed and exact values, verdict, correction."""
    from veriformer.spec.worked_examples import rendering

    return rendering.render_markdown(example)
