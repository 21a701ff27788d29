"""Laws of every operation, independent of its formula."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.law import LawStatement, Property, state
from veriformer.spec.operations.operation import Operation

INTERFACE = "the interface of an implementation under test (docs/interface.md)"
_BY_DEFINITION = "part of the interface: a promise to the caller, not a consequence of the formula"

SIGNATURE = Property(
    key="signature",
    statement="The operation takes the parameters of the interface, under the same names.",
    formula="parameters(f) ⊇ required parameters, and no keyword is a misspelt feature",
    source=INTERFACE,
    reason=_BY_DEFINITION,
)
SHAPE = Property(
    key="shape",
    statement="The result has the shape that the interface specifies.",
    formula="shape(f(inputs)) = the shape in the operation's record",
    source=INTERFACE,
    reason="the shapes are part of the formula's types; nothing simpler proves them",
)
DTYPE = Property(
    key="dtype",
    statement="The result has the dtype of the inputs.",
    formula="dtype(f(x)) = dtype(x)",
    source=INTERFACE,
    reason=_BY_DEFINITION,
)
BOOLEAN = Property(
    key="dtype",
    statement="The mask is boolean.",
    formula="dtype(f(...)) = bool",
    source=INTERFACE,
    reason=_BY_DEFINITION,
)
INPUTS_UNCHANGED = Property(
    key="inputs_unchanged",
    statement="A call does not change the arrays that it gets.",
    formula="x after f(x) = x before f(x), bit for bit",
    source=INTERFACE,
    reason="purity is a promise of the program; the formula cannot express a mutation",
)
RESULT_KEPT = Property(
    key="result_kept",
    statement="A result does not change when its arguments are overwritten and the call is repeated.",
    formula="y = f(x); x ← x′; f(x): y is as it was, bit for bit",
    source=INTERFACE,
    reason="purity is a promise of the program; the formula knows no memory that two arrays share",
    obligation="should",
)
SAME_CALL = Property(
    key="same_call_same_answer",
    statement="The same call gives the same answer twice in a row.",
    formula="f(x) = f(x)",
    source=INTERFACE,
    reason="a function of its arguments by definition; only the program can break it",
)
HISTORY = Property(
    key="history_independence",
    statement="An answer does not depend on earlier calls.",
    formula="f(x) = f(x) after f(y), for any y",
    source=INTERFACE,
    reason="a function of its arguments by definition; only the program can break it",
)
MEMORY_LAYOUT = Property(
    key="memory_layout",
    statement="A view that is not contiguous in memory gives the same answer as a contiguous copy.",
    formula="f(view(x)) = f(x)",
    source=INTERFACE,
    reason="the formula speaks of values; strides exist in the program only",
)

# A random operation may draw its numbers in the order in which the entries lie in memory.
MEMORY_LAYOUT_OF_RANDOM = Property(
    key="memory_layout",
    statement="Of a view that is not contiguous in memory each entry is judged by its own place, as in a copy.",
    formula="f(view(x)) is a result of x for some random numbers",
    source=INTERFACE,
    reason="the formula speaks of values; strides exist in the program only",
)
# What calls a model makes the tokens itself, and makes them contiguous.
MEMORY_LAYOUT_OF_MODELS = replace(MEMORY_LAYOUT, obligation="should")

EVERY_OPERATION = (SIGNATURE, SHAPE, SAME_CALL, HISTORY)
EVERY_FLOAT_OPERATION = (DTYPE, INPUTS_UNCHANGED, MEMORY_LAYOUT)
EVERY_RANDOM_OPERATION = (DTYPE, INPUTS_UNCHANGED, MEMORY_LAYOUT_OF_RANDOM)
EVERY_MODEL = (DTYPE, INPUTS_UNCHANGED, MEMORY_LAYOUT_OF_MODELS)

WORKED_EXAMPLES = Property(
    key="worked_examples",
    statement="The worked examples give their exact values.",
    formula="f(example inputs) = exact result",
    source="seed documents 000 to 004 (docs/seeds), and the project; exact values in veriformer.spec.worked_examples",
    reason="each example is an exact computation of its own: `veriformer explain WORKED_EXAMPLE_ID`",
)


def promises(operation: Operation) -> tuple[LawStatement, ...]:
    """Return the laws of an operation that do not depend on its formula."""
    properties: tuple[Property, ...] = EVERY_OPERATION
    if operation.takes_floats and not operation.is_black_box:
        properties += EVERY_RANDOM_OPERATION if operation.random else EVERY_FLOAT_OPERATION
        properties += (RESULT_KEPT,) if operation.keeps_results else ()
    return state(properties, operation)
