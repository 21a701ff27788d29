"""An operation that Veriformer does not have: the squared ReLU of Primer (So et al. 2021), max(x, 0)²."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from veriformer.conformance_tests import suite as vf

NAME = "relu_squared"
OPERATION = vf.Operation(
    name=NAME,
    prefix=NAME,
    summary="Square each positive entry, and put zero in place of each negative one.",
    parameters=(vf.Parameter("x", "(...)", "float", "positional", "entries, each on its own"),),
    result="(...)",
    formula="max(x, 0)²",
    source="So et al. 2021, section 3",
)
VALUE = vf.Property(
    key="value",
    statement="Each entry is the square of its positive part.",
    formula="f(x) = max(x, 0)²",
    source="So et al. 2021, section 3",
    reason="the definition",
)
DOUBLED = vf.Property(
    key="doubled",
    statement="Twice the entries give four times the results.",
    formula="f(2x) = 4 f(x)",
    source="a product of two factors that are doubled",
    reason="max(2x, 0)² = 4 max(x, 0)²",
)


def relu_squared(x):
    return np.maximum(x, 0.0) ** 2


@dataclass(frozen=True, eq=False)
class Inputs(vf.VectorInputs):
    operation: ClassVar[str] = NAME
    dtype: str
    x: vf.Array

    @classmethod
    def draw(cls, operation, case):
        shape = (case.batch, case.rows, case.width)
        return cls(case.dtype, vf.filled(np.random.default_rng(case.seed), case, shape))

    def expected(self, conventions):
        exact, precision = relu_squared(self.x), vf.Precision.of(self.dtype)
        # One product of numbers that the dtype holds: it is rounded once, and it may underflow.
        bound = (precision.output * exact + precision.tiny) * precision.with_reference
        return vf.Expected(exact, bound, np.ones(exact.shape, dtype=bool))


@vf.judges("value", space=vf.VectorSpace(), operation=NAME)
def value(trial):
    return trial.agrees()


@vf.judges("doubled", space=vf.VectorSpace(), operation=NAME)
def doubled(trial):
    twice = trial.inputs.with_x(2.0 * trial.inputs.x)
    bound = 4.0 * trial.allowed(trial.inputs) + trial.allowed(twice)
    return vf.compare(4.0 * trial.output(trial.inputs), trial.output(twice), bound)


POWER = vf.Decision(
    "power",
    "What becomes of the positive part?",
    (
        vf.standard("square", lambda x: x**2),
        vf.mistake("relu_not_squared", lambda x: x),
        vf.mistake("relu_cubed", lambda x: x**3),
    ),
)
FAMILY = vf.Family(NAME, (POWER,), lambda arguments, point: point["power"](np.maximum(arguments["x"], 0.0)))

SOURCE = """import numpy as np


def relu_squared(x):
    return np.maximum(x, 0) ** 2
"""
LAWS = (f"{NAME}.value", f"{NAME}.doubled")
EXTENSION = vf.Extension(
    operations=(OPERATION,),
    laws=vf.state((VALUE, DOUBLED), OPERATION),
    suites=(
        vf.Suite(
            NAME,
            space=lambda how: vf.VectorSpace(),
            draw=vf.vector_cases,
            inputs=Inputs,
            weight=10,
            variants=("relu_squared_laws", "FAMILY"),
        ),
    ),
    mistakes=(
        vf.PlantedMistake(
            "relu_not_squared", "relu_squared_numpy", " ** 2", "", LAWS, "max(x, 0), which is not squared"
        ),
        vf.PlantedMistake("relu_cubed", "relu_squared_numpy", "** 2", "** 3", LAWS, "the cube in place of the square"),
    ),
    sources={"relu_squared_numpy": SOURCE},
)
