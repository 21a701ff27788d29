"""The gradients of attention by what is added to its logits: a bias, and a sink."""

from __future__ import annotations

from sympy import Expr, Integer, exp
from veriformer.spec.derivations.attention_backward import (
    FREE,
    IGNORED_KEY,
    KEYS,
    QUERIES,
    VALUE_WIDTH,
    L,
    S,
    attended,
    d_v,
    free_logit,
    grad_logit,
    grad_output,
    grad_weight,
    i,
    keep,
    loss,
    s,
    t,
    value,
)
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import ONE, array, index, real

bias, shared = array("b"), array("c")
sink, shift = real("sigma"), real("h")


def biased(row: Expr, column: Expr) -> Expr:
    """The logits with a bias of an entry for each query and key."""
    return free_logit[row, column] + bias[row, column]


def biased_by_key(row: Expr, column: Expr) -> Expr:
    """The logits with a bias that all queries share."""
    return free_logit[row, column] + shared[column]


def _whole(row: Expr) -> Expr:
    """e^σ + Σ_l B[i, l] e^(S[i, l]), the denominator beside a sink."""
    return exp(sink) + total(lambda m: keep[row, m] * exp(free_logit[row, m]), "l", KEYS)


def beside_sink(row: Expr, column: Expr) -> Expr:
    """P[i, j] = B[i, j] e^(S[i, j]) / (e^σ + Σ_l B[i, l] e^(S[i, l]))."""
    return keep[row, column] * exp(free_logit[row, column]) / _whole(row)


def of_sink(row: Expr) -> Expr:
    """e^σ / (e^σ + Σ_l B[i, l] e^(S[i, l])), the weight of the sink."""
    return exp(sink) / _whole(row)


def output_beside_sink(row: Expr, component: Expr) -> Expr:
    """O[i, e] = Σ_j P[i, j] V[j, e], P the weights beside a sink."""
    return total(lambda m: beside_sink(row, m) * value[m, component], "j", KEYS)


def _row_term(row: Expr) -> Expr:
    """D[i] = Σ_l P[i, l] dP[i, l], P the weights beside a sink."""
    return total(lambda m: beside_sink(row, m) * grad_weight(row, m), "l", KEYS)


BIAS = (
    Step(
        "The gradient of a bias is that of the logits",
        Partial(loss(attended(biased)), bias[s, t]),
        grad_logit(s, t, biased),
        "A logit has the derivative 1 by its bias, whatever stands before it: neither the scale nor a soft cap, which "
        "are applied earlier, is a factor.",
        context=FREE,
    ),
    Step(
        "A bias that all queries share gets the sum of their gradients",
        Partial(loss(attended(biased_by_key)), shared[t]),
        total(lambda m: grad_logit(m, t, biased_by_key), "i", QUERIES),
        "One entry is added to a logit of every query. The same holds of samples and heads that share an entry.",
        context=FREE,
    ),
    Step(
        "A hidden entry of a bias has no gradient",
        grad_logit(i, t, biased),
        Integer(0),
        "The weight of the key is a factor of it. A bias of −∞ hides its key in the same way.",
        context=IGNORED_KEY,
    ),
)

SINK = (
    Step(
        "The gradient of a sink is minus the sum of its weights times D",
        Partial(loss(output_beside_sink), sink),
        -total(lambda m: of_sink(m) * _row_term(m), "i", QUERIES),
        "The sink is one key more, of value 0, so that dP is 0 for it: P ∘ (dP − D) is minus its weight times D.",
        context=FREE,
    ),
    Step(
        "The same from the output: D is the product of output and gradient",
        of_sink(i) * total(lambda m: beside_sink(i, m) * grad_weight(i, m), "j", KEYS),
        of_sink(i) * total(lambda c: grad_output[i, c] * output_beside_sink(i, c), "e", VALUE_WIDTH),
        "Exchange the sums over keys and over components.",
        context=FREE,
    ),
    Difference(
        "A sink that is left out of the weights gives another gradient",
        -exp(sink) / (exp(sink) + ONE) * shift / (exp(sink) + ONE),
        -exp(sink) / (exp(sink) + ONE) * shift,
        "One key of logit 0 beside a sink of logit 1, and G · V = h = 2: the gradient is −0.39322, not −1.46212.",
        example=World(symbols={sink: 1, shift: 2}),
        values=("-0.39322", "-1.46212"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="additions_backward",
    title="The gradients of attention by a bias and by a sink",
    opening=(
        "Which gradients does attention pass to a bias that is learned, and to its sinks? Kernels that are written by "
        "hand often leave them out, or forget to add up what queries, samples and heads contribute to one entry: "
        "the parameters then stay as they were, or learn too slowly."
    ),
    see_also=(
        "attention_backward",
        "sinks",
        "backward",
    ),
    symbols=(
        Meaning((L, S), "how many queries and keys there are; with two indices, S is a logit without its bias"),
        Meaning((d_v,), "the width of a value"),
        Meaning((i, s, t, index("j"), index("l")), "numbers of queries and keys: i and s a query, t, j and l keys"),
        Meaning((index("e"),), "the number of a component"),
        Meaning((value,), "the values, one row for each key"),
        Meaning((keep,), "the mask: B_ij is 0 where query i may not attend to key j, and positive elsewhere"),
        Meaning((grad_output,), "the gradient of the loss by the output, one row for each query"),
        Meaning((bias,), "a bias with an entry for each query and key"),
        Meaning((shared,), "a bias with an entry for each key, which all queries share"),
        Meaning((sink,), "the logit of the sink"),
        Meaning((shift,), "a number"),
        Meaning((array("P"),), "the weights, one row for each query"),
        Meaning((array("O"),), "the output, one row for each query"),
        Meaning((array("D"),), "D_i is Σ_l P_il dP_il over all keys l"),
        Meaning((real("dS"),), "a d before a name is the gradient of the loss by it: dP, dS"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The loss is any differentiable function of the output.",
        "One head of one batch entry: others that share an entry of the bias, or the sink, add their gradients.",
    ),
    sources=(
        Source("Raffel et al. 2020, T5, section 2.1", comment="a learned scalar added to each logit"),
        Source("Dao et al. 2022, FlashAttention, appendix B.2", comment="the gradient of the logits"),
        Source("OpenAI 2025, gpt-oss model card, section 2.2", comment="a learned logit in the denominator"),
    ),
    steps=BIAS + SINK,
    remarks=("Rows without a visible key are left out, as in attention_backward; beside a sink their output is 0.",),
)
