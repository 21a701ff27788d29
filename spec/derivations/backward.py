"""What every backward pass has in common, and the gradients of softmax, of a gain and of an offset."""

from __future__ import annotations

from sympy import Expr, Integer
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, real, size, up_to, weights

inputs, hidden, outputs, rows = size("n"), size("h"), size("m"), size("R")
s, k, o = index("s"), index("k"), index("o")
x, y, gain, offset = array("x"), array("y"), array("gamma"), array("beta")
jacobian, upper = array("J"), array("A")
grad_output, other_grad = array("G"), array("F")
first, second, same = real("a"), real("b"), real("c")
INPUTS, HIDDEN, OUTPUTS, ROWS = up_to(inputs), up_to(hidden), up_to(outputs), up_to(rows)
CONTEXT = Context(ranges={s: INPUTS, k: INPUTS})
GRADIENT = entry_of(grad_output)

p = weights(entry_of(x), INPUTS)
WEIGHTS = Definition(array("p"), p, (k,))
P = WEIGHTS.name


def passed_on(gradient: Entries, place: Expr) -> Expr:
    """Σ_o G_o J_os, the gradient by input s."""
    return total(lambda m: gradient(m) * jacobian[m, place], "o", OUTPUTS)


def over_rows(of: Entries) -> Expr:
    """Σ_r Σ_e of(r, e), over rows and components."""
    return total(lambda r: total(lambda e: of(r, e), "e", INPUTS), "r", ROWS)


def grad_logit(place: Expr, gradient: Entries = GRADIENT) -> Expr:
    """p_k (G_k − Σ_l p_l G_l), in terms of the name p."""
    return P[place] * (gradient(place) - total(lambda m: P[m] * gradient(m), "l", INPUTS))


COMMON = (
    Step(
        "The gradient is the transposed Jacobian times G",
        Partial(
            total(lambda m: grad_output[m] * total(lambda i: jacobian[m, i] * x[i], "i", INPUTS), "o", OUTPUTS), x[s]
        ),
        passed_on(GRADIENT, s),
        "Near a point a differentiable function is a constant plus its Jacobian times the change of its inputs.",
        context=CONTEXT,
    ),
    Step(
        "The gradient is linear in G",
        passed_on(lambda m: first * grad_output[m] + second * other_grad[m], s),
        first * passed_on(GRADIENT, s) + second * passed_on(entry_of(other_grad), s),
        "The Jacobian does not depend on G. With a = b = 0 there is no gradient.",
        context=CONTEXT,
    ),
    Step(
        "The gradient passes through one layer after the other",
        total(lambda m: grad_output[m] * total(lambda i: upper[m, i] * jacobian[i, s], "i", HIDDEN), "o", OUTPUTS),
        total(lambda i: total(lambda m: grad_output[m] * upper[m, i], "o", OUTPUTS) * jacobian[i, s], "i", HIDDEN),
        "By the chain rule the Jacobian of two layers is the product A J. Its product with G is taken from the last "
        "layer on, so that each layer needs the gradient of its own result only.",
        context=CONTEXT,
    ),
)

SHARED = (
    Step(
        "A gain that every row uses gets the sum over the rows",
        Partial(over_rows(lambda r, e: grad_output[r, e] * gain[e] * y[r, e]), gain[s]),
        total(lambda r: grad_output[r, s] * y[r, s], "r", ROWS),
        "Each row uses the gain, and the gradients of all uses add up. A mean would depend on the number of rows.",
        context=CONTEXT,
    ),
    Step(
        "An offset that every row uses gets the sum of G over the rows",
        Partial(over_rows(lambda r, e: grad_output[r, e] * (y[r, e] + offset[e])), offset[s]),
        total(lambda r: grad_output[r, s], "r", ROWS),
        "The same with the factor 1. Biases of projections are such offsets.",
        context=CONTEXT,
    ),
)

SOFTMAX = (
    Step(
        "The gradient of softmax: dx = p ∘ (G − Σ p G)",
        Partial(total(lambda m: grad_output[m] * P[m], "j", INPUTS), x[k]),
        grad_logit(k),
        "By the derivation softmax, p_j has the derivative p_j (δ_jk − p_k) by x_k. The sum over j leaves the weight "
        "times what its gradient is above the average.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "The gradients of softmax sum to 0",
        total(grad_logit, "k", INPUTS),
        Integer(0),
        "The weights sum to 1, so that the average of G less the average of G is left.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "Equal gradients of the weights give the logits none",
        grad_logit(k, lambda _: same),
        Integer(0),
        "The loss c Σ p is the constant c.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Difference(
        "Without the average the gradient is wrong",
        p(1) * (grad_output[1] - p(1) * grad_output[1] - p(2) * grad_output[2]),
        p(1) * grad_output[1],
        "Two equal logits with G = (3, 1): the gradient of the first is 0.5 with and 1.5 without the average.",
        example=World(
            symbols={inputs: 2}, arrays={(x, (1,)): 0, (x, (2,)): 0, (grad_output, (1,)): 3, (grad_output, (2,)): 1}
        ),
        values=("0.5", "1.5"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="backward",
    title="What every backward pass has in common",
    opening=(
        "What does a backward pass compute, and what must hold for it whatever the operation is? People write backward "
        "passes by hand for fused norms, losses and kernels, and a wrong one still trains, slowly, to something else."
    ),
    see_also=(
        "softmax",
        "matrices_backward",
        "lookup",
        "attention_backward",
        "additions_backward",
    ),
    symbols=(
        Meaning((inputs, hidden, outputs), "how many inputs, inner values and outputs there are"),
        Meaning((rows,), "how many rows there are"),
        Meaning((s, k, o, index("j"), index("l")), "numbers of inputs, or of outputs"),
        Meaning((x, y), "inputs, and values that are multiplied or added to"),
        Meaning((gain, offset), "a gain and an offset with one number for each component"),
        Meaning((jacobian, upper), "Jacobians: J_os is the derivative of output o by input s, A is of the layer above"),
        Meaning((grad_output, other_grad), "two gradients of the loss by the output"),
        Meaning((first, second, same), "three numbers"),
        Meaning((P,), "the weights, softmax(x)"),
        Meaning((real("dx"),), "the gradient of the loss by x"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("The loss is any differentiable function of the output, with the gradient G there.",),
    sources=(
        Source(
            "Rumelhart, Hinton & Williams 1986, Learning representations by back-propagating errors",
            comment="the chain rule from the last layer to the first",
        ),
        Source("Bridle 1990, Training Stochastic Model Recognition Algorithms", comment="the Jacobian of softmax"),
    ),
    steps=COMMON + SHARED + SOFTMAX,
    remarks=("Rounding is left out. What it adds is bounded with the laws of each operation.",),
)
