"""y = x W on every row: the gradients of rows and matrix, and of networks that are made of such products."""

from __future__ import annotations

from sympy import Expr, Function, Integer
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, positive, size, up_to

rows, inputs, hidden, outputs, part = size("R"), size("E"), size("F"), size("M"), size("k")
ROWS, INPUTS, UNITS, OUTPUTS = up_to(rows), up_to(inputs), up_to(hidden), up_to(outputs)
i, s, t, f = index("i"), index("s"), index("t"), index("f")
x, matrix, gradient = array("x"), array("W"), array("G")
units, unit_gradient, slope, start = array("h"), array("D"), array("a"), array("c")
gate, branch = array("p"), array("u")
factor = positive("alpha")
order = Function("pi", integer=True)
RANGES = {i: ROWS, s: INPUTS, t: OUTPUTS, f: UNITS}
CONTEXT = Context(ranges=RANGES)
X, WEIGHT, UNIT_GRADIENT = entry_of(x), entry_of(matrix), entry_of(unit_gradient)


def product(row: Expr, column: Expr, left: Entries = X) -> Expr:
    """Σ_e x_re W_em, an entry of the product."""
    return total(lambda e: left(row, e) * matrix[e, column], "e", INPUTS)


def loss(left: Entries = X) -> Expr:
    """Σ_r Σ_m G_rm y_rm, whose gradients are those of any loss that has the gradient G by y."""
    return total(lambda r: total(lambda m: gradient[r, m] * product(r, m, left), "m", OUTPUTS), "r", ROWS)


def outer(row: Expr, column: Expr, left: Entries = X) -> Expr:
    """Σ_r x_rs G_rt, an entry of the gradient of the matrix."""
    return total(lambda r: left(r, row) * gradient[r, column], "r", ROWS)


def back_through(unit_gradients: Entries, weight: Entries) -> Expr:
    """Σ_f D_f W_sf, the gradient of component s through the hidden units."""
    return total(lambda unit: unit_gradients(unit) * weight(s, unit), "f", UNITS)


ONE_MATRIX = (
    Step(
        "The gradient of a matrix is a sum over rows",
        Partial(loss(), matrix[s, t]),
        outer(s, t),
        "Every row uses the matrix, and the gradients of all uses add up: dW = Σ xᵀ G, row by row. So the sum over "
        "some rows and the sum over the others add up to the whole, in any order.",
        context=CONTEXT,
    ),
    Step(
        "The gradient passes a matrix by its transpose",
        Partial(loss(), x[i, s]),
        total(lambda m: gradient[i, m] * matrix[s, m], "m", OUTPUTS),
        "Row i is used in row i of the output only, so that dx = G Wᵀ, each row alone.",
        context=CONTEXT,
    ),
    Step(
        "A matrix times its gradient is the output times its gradient",
        total(lambda e: total(lambda m: matrix[e, m] * outer(e, m), "m", OUTPUTS), "e", INPUTS),
        loss(),
        "The sums change places. It holds for whatever is linear in the matrix.",
        context=CONTEXT,
    ),
    Step(
        "Scaled rows scale the gradient of a matrix",
        outer(s, t, lambda r, e: factor * x[r, e]),
        factor * outer(s, t),
        "The factor is in every term. With ReLU the slopes are 0 and 1 and stay, so that G stays.",
        context=CONTEXT,
    ),
    Difference(
        "A mean over the rows is not the gradient of a matrix",
        x[1, 1] * gradient[1, 1] + x[2, 1] * gradient[2, 1],
        (x[1, 1] * gradient[1, 1] + x[2, 1] * gradient[2, 1]) / 2,
        "Two rows, 1 and 2, whose outputs have the gradients 3 and 4: their sum is 11, the mean 5.5.",
        example=World(
            arrays={(x, (1, 1)): 1, (x, (2, 1)): 2, (gradient, (1, 1)): 3, (gradient, (2, 1)): 4},
        ),
        values=("11", "5.5"),
        optional=True,
    ),
)

ACTIVATIONS = (
    Step(
        "The gradient passes an activation by its slope",
        Partial(
            total(lambda unit: unit_gradient[unit] * (start[unit] + slope[unit] * units[unit]), "f", UNITS), units[f]
        ),
        unit_gradient[f] * slope[f],
        "Near its argument an activation is a constant plus its slope there times the change of the argument.",
        context=CONTEXT,
    ),
    Step(
        "Where all slopes are zero nothing passes",
        back_through(lambda unit: unit_gradient[unit] * slope[unit], WEIGHT),
        Integer(0),
        "Every term has a factor 0: ReLU is constant left of zero.",
        context=Context(ranges=RANGES, blocks=(Block(slope, (None,), 0),)),
    ),
    Difference(
        "Without the slope the gradient is wrong",
        unit_gradient[1] * slope[1],
        unit_gradient[1],
        "A unit that ReLU sets to zero passes nothing on, whatever the gradient above it: 0 and 5.",
        example=World(arrays={(unit_gradient, (1,)): 5, (slope, (1,)): 0}),
        values=("0", "5"),
        optional=True,
    ),
)

UNITS_STEPS = (
    Step(
        "The order of the hidden units does not matter",
        back_through(lambda unit: unit_gradient[order(unit)], lambda c, unit: matrix[c, order(unit)]),
        back_through(UNIT_GRADIENT, WEIGHT),
        "The sum runs over the same terms in another order.",
        context=Context(ranges=RANGES, bijections={order: UNITS}),
    ),
    Step(
        "The gradients through two parts of the hidden units add up",
        back_through(UNIT_GRADIENT, WEIGHT),
        total(lambda unit: unit_gradient[unit] * matrix[s, unit], "f", up_to(part))
        + total(lambda unit: unit_gradient[unit] * matrix[s, unit], "f", (part + 1, hidden)),
        "The sum over all units is the sum over the first k and the sum over the others.",
        context=Context(ranges=RANGES, splits={UNITS: part}, parametrisation={hidden: part + size("n")}),
    ),
)

GATED = (
    Step(
        "The gradient of a product is that of each factor times the other",
        Partial(total(lambda unit: unit_gradient[unit] * gate[unit] * branch[unit], "f", UNITS), branch[f]),
        unit_gradient[f] * gate[f],
        "The same with the factors exchanged. Where the gate is 0, the other branch gets nothing; where the other "
        "branch is 0, the gate gets nothing.",
        context=CONTEXT,
    ),
    Step(
        "A factor with the other sign gives the other factor's gradient the other sign",
        Partial(total(lambda unit: unit_gradient[unit] * gate[unit] * (-branch[unit]), "f", UNITS), gate[f]),
        -unit_gradient[f] * branch[f],
        "The gradient of the gate has the other branch as a factor.",
        context=CONTEXT,
    ),
)

DERIVATION = Derivation(
    id="matrices_backward",
    title="The gradients of matrices, and of networks that are made of them",
    opening=(
        "What does a backward pass through a matrix, an activation and a gate return? Fused networks have backward "
        "passes written by hand, and a slope or a sum over rows is easily forgotten."
    ),
    see_also=("backward", "feed_forward"),
    symbols=(
        Meaning((rows, inputs, outputs), "how many rows there are, and how wide they are before and after the matrix"),
        Meaning((hidden,), "how many hidden units there are"),
        Meaning((i, index("r")), "numbers of rows"),
        Meaning((s, index("e")), "numbers of components before the matrix"),
        Meaning((t, index("m")), "numbers of components after it"),
        Meaning((f,), "the number of a hidden unit"),
        Meaning((x, matrix), "the rows, and the matrix that they are multiplied by"),
        Meaning((array("y"),), "the output, x W"),
        Meaning((gradient,), "the gradient of the loss by the output"),
        Meaning((units,), "the hidden units before their activation"),
        Meaning((unit_gradient,), "the gradient of the loss by what comes out of the activation or of the gate"),
        Meaning((slope, start), "the slope of each activation at its argument, and the constant beside it"),
        Meaning((gate, branch), "the activated gate of a gated network, and its other branch"),
        Meaning((part, size("n")), "F = k + n: the numbers of hidden units in two parts"),
        Meaning((factor,), "a positive factor of the rows"),
        Meaning((order,), "a permutation of the hidden units"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("Vectors are rows: W has E rows and M columns.", "The loss has the gradient G by the output."),
    sources=(
        Source(
            "Rumelhart, Hinton & Williams 1986, Learning representations by back-propagating errors",
            comment="the chain rule from the last layer to the first",
        ),
        Source("Vaswani et al. 2017, Attention Is All You Need, section 3.3", comment="the network"),
        Source("Shazeer 2020, GLU Variants Improve Transformer, section 2", comment="the gated networks"),
    ),
    steps=ONE_MATRIX + ACTIVATIONS + UNITS_STEPS + GATED,
    remarks=("Projections of attention are such matrices, and their biases such offsets.",),
)
