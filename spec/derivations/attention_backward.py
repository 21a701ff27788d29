"""The gradients of attention with respect to values, logits, queries and keys, and their sums."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, IndexedBase, Integer, exp, log
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, Range, total
from veriformer.spec.derivations.formulas import Entries, array, attention, entry_of, index, real, size, up_to, weights

L, S, d_k, d_v, heads = size("L"), size("S"), size("d_k"), size("d_v"), size("H")
shown, hidden = size("P"), size("R")
i, s, t, a, e = index("i"), index("s"), index("t"), index("a"), index("e")
query, key, value, keep = array("Q"), array("K"), array("V"), IndexedBase("B", nonnegative=True)
grad_output, other_grad = array("G"), array("F")
free_logit, free_weight = array("S"), array("P")
row_gradient = array("h")
OUTPUT_GRADIENT = entry_of(grad_output)
scale, first, second = real("sigma"), real("alpha"), real("beta")
QUERIES, KEYS, WIDTH, VALUE_WIDTH = up_to(L), up_to(S), up_to(d_k), up_to(d_v)
TOKENS, SHOWN, HIDDEN = up_to(shown + hidden), up_to(shown), (shown + 1, shown + hidden)
FREE = Context(ranges={i: QUERIES, s: QUERIES, t: KEYS, a: WIDTH, e: VALUE_WIDTH})
OF_KEY = Context(ranges={**FREE.ranges, s: KEYS})


def score(row: Expr, column: Expr) -> Expr:
    """S[i, j] = σ ⟨Q_i, K_j⟩."""
    return scale * total(lambda c: query[row, c] * key[column, c], "c", WIDTH)


def attended(logit: Entries = score) -> Entries:
    """O[i, e] = Σ_j P[i, j] V[j, e], the weights being the softmax over the keys that B shows."""
    return attention(logit, entry_of(value), KEYS, entry_of(keep))


def weight(row: Expr, column: Expr, logit: Entries = score, keys: Range = KEYS) -> Expr:
    """P[i, j] = B[i, j] e^(S[i, j]) / Σ_l B[i, l] e^(S[i, l])."""
    return weights(lambda m: logit(row, m), keys, lambda m: keep[row, m])(column)


def loss(output: Callable[[Expr, Expr], Expr]) -> Expr:
    """Σ_i Σ_e G[i, e] O[i, e], whose gradient is that of any loss with ∂loss/∂O = G."""
    return total(lambda m: total(lambda c: grad_output[m, c] * output(m, c), "e", VALUE_WIDTH), "i", QUERIES)


def grad_weight(row: Expr, column: Expr, grad: Entries = OUTPUT_GRADIENT) -> Expr:
    """dP[i, j] = Σ_e G[i, e] V[j, e]."""
    return total(lambda c: grad(row, c) * value[column, c], "e", VALUE_WIDTH)


def row_term(row: Expr, logit: Entries = score, keys: Range = KEYS, grad: Entries = OUTPUT_GRADIENT) -> Expr:
    """D[i] = Σ_l P[i, l] dP[i, l]."""
    return total(lambda m: weight(row, m, logit, keys) * grad_weight(row, m, grad), "l", keys)


def grad_logit(
    row: Expr, column: Expr, logit: Entries = score, keys: Range = KEYS, grad: Entries = OUTPUT_GRADIENT
) -> Expr:
    """dS[i, j] = P[i, j] (dP[i, j] − D[i])."""
    return weight(row, column, logit, keys) * (grad_weight(row, column, grad) - row_term(row, logit, keys, grad))


def grad_query(row: Expr, component: Expr) -> Expr:
    """dQ[i, a] = σ Σ_j dS[i, j] K[j, a]."""
    return scale * total(lambda m: grad_logit(row, m) * key[m, component], "j", KEYS)


def grad_key(column: Expr, component: Expr, queries: Range = QUERIES, keys: Range = KEYS) -> Expr:
    """dK[j, a] = σ Σ_i dS[i, j] Q[i, a]."""
    return scale * total(lambda m: grad_logit(m, column, keys=keys) * query[m, component], "i", queries)


def grad_value(column: Expr, component: Expr, queries: Range = QUERIES, keys: Range = KEYS) -> Expr:
    """dV[j, e] = Σ_i P[i, j] G[i, e]."""
    return total(lambda m: weight(m, column, keys=keys) * grad_output[m, component], "i", queries)


def free_score(row: Expr, column: Expr) -> Expr:
    """The logits as variables of their own."""
    return free_logit[row, column]


log_sum = array("lambda")
LOG_SUM = Definition(log_sum, lambda row: log(total(lambda m: keep[row, m] * exp(free_logit[row, m]), "l", KEYS)), (i,))


def with_free_weights(row: Expr, component: Expr) -> Expr:
    """Σ_j P[i, j] V[j, e], the weights being variables of their own."""
    return total(lambda m: free_weight[row, m] * value[m, component], "j", KEYS)


GRADIENTS = (
    Step(
        "The gradient of the values: dV = Pᵀ G",
        Partial(loss(attended()), value[s, e]),
        grad_value(s, e),
        "The output is linear in the values, and the weights are the coefficients.",
        context=OF_KEY,
    ),
    Step(
        "The gradient of the weights: dP = G Vᵀ",
        Partial(loss(with_free_weights), free_weight[s, t]),
        grad_weight(s, t),
        "The output is linear in the weights too.",
        context=FREE,
    ),
    Step(
        "The gradient of the logits: dS = P ∘ (dP − D)",
        Partial(loss(attended(free_score)), free_logit[s, t]),
        grad_logit(s, t, free_score),
        "By the derivation softmax, P_ij has the derivative P_ij (δ_jt − P_it) by the logit S_it. Summing "
        "over j leaves the weight times dP less its mean D.",
        context=FREE,
    ),
    Step(
        "D from the output: rowsum(P ∘ dP) = rowsum(G ∘ O)",
        row_term(i),
        total(lambda c: grad_output[i, c] * attended()(i, c), "e", VALUE_WIDTH),
        "Exchange the sums over keys and over components. So D can be computed from the output alone.",
        context=FREE,
    ),
    Step(
        "The gradient of the queries: dQ = σ dS K",
        Partial(loss(attended()), query[s, a]),
        grad_query(s, a),
        "By the chain rule: the logit S_ij has the derivative σ K_ja by Q_ia.",
        context=FREE,
    ),
    Step(
        "The gradient of the keys: dK = σ dSᵀ Q",
        Partial(loss(attended()), key[s, a]),
        grad_key(s, a),
        "By the chain rule again. Every query reads a key, so the sum runs over all queries.",
        context=OF_KEY,
    ),
    Step(
        "The weights from the log-sum-exp",
        keep[i, t] * exp(free_logit[i, t] - log_sum[i]),
        weight(i, t, free_score),
        "One number for each query, kept from the forward pass, gives back every weight: P = B e^(S − λ).",
        context=FREE,
        where=(LOG_SUM,),
        optional=True,
    ),
)

IGNORED_KEY = Context(ranges=FREE.ranges, facts={keep[i, t]: Integer(0)})
PADDED = Context(
    ranges={s: HIDDEN, a: WIDTH, e: VALUE_WIDTH},
    blocks=(Block(keep, (None, HIDDEN), 0),),
)
LATER = Context(
    ranges=PADDED.ranges,
    splits={TOKENS: shown},
    blocks=(Block(keep, (SHOWN, HIDDEN), 0), Block(grad_output, (HIDDEN, None), 0)),
)


def grad_logit_of_weights(
    row: Expr, column: Expr, logit: Entries = score, keys: Range = KEYS, grad: Entries = OUTPUT_GRADIENT
) -> Expr:
    """dS[i, j] = P[i, j] (G[i, j] − Σ_l P[i, l] G[i, l]), G being the gradient of the weights."""
    average = total(lambda m: weight(row, m, logit, keys) * grad(row, m), "l", keys)
    return weight(row, column, logit, keys) * (grad(row, column) - average)


SHOWN_KEY = Context(ranges={i: QUERIES, t: SHOWN}, splits={TOKENS: shown}, blocks=(Block(keep, (None, HIDDEN), 0),))

OF_WEIGHTS = (
    Step(
        "The gradient of the logits by that of the weights alone",
        Partial(
            total(lambda m: total(lambda n: grad_output[m, n] * weight(m, n, free_score), "l", KEYS), "i", QUERIES),
            free_logit[s, t],
        ),
        grad_logit_of_weights(s, t, free_score),
        "Where the loss depends on the weights themselves, G being its gradient by them, G stands for dP. The rest, "
        "from dS to queries and keys, is as before.",
        context=FREE,
    ),
    Step(
        "Equal gradients of a query's weights give its logits none",
        grad_logit_of_weights(i, t, grad=lambda m, _: row_gradient[m]),
        Integer(0),
        "The weights of a query sum to 1 whatever its logits are, so that h_i Σ_j P_ij is a constant.",
        context=FREE,
    ),
    Step(
        "The gradient of a masked weight does not matter",
        grad_logit_of_weights(i, t, keys=TOKENS),
        grad_logit_of_weights(i, t, keys=SHOWN),
        "Its weight is 0, a factor of its term in the sum over keys: what is left has the shown keys only.",
        context=SHOWN_KEY,
    ),
)

MASKED = (
    Step(
        "A masked logit has no gradient",
        grad_logit(i, t),
        Integer(0),
        "Its weight is a factor of its gradient.",
        context=IGNORED_KEY,
    ),
    Step(
        "A key hidden from every query has no gradient",
        grad_key(s, a, QUERIES, TOKENS),
        Integer(0),
        "Padding, for example: B_ij = 0 for all queries i.",
        context=PADDED,
    ),
    Step(
        "The value of a hidden key has no gradient",
        grad_value(s, e, QUERIES, TOKENS),
        Integer(0),
        "The weight of the key is a factor of the gradient of its value too.",
        context=PADDED,
    ),
    Step(
        "With a causal mask a loss on a prefix sends no gradient to later keys",
        grad_key(s, a, TOKENS, TOKENS),
        Integer(0),
        "Queries of the prefix do not see the key (B = 0), the others do not enter the loss (G = 0).",
        context=LATER,
    ),
    Step(
        "With a causal mask a loss on a prefix sends no gradient to later values",
        grad_value(s, e, TOKENS, TOKENS),
        Integer(0),
        "The step before for values: either the weight is 0, or the gradient of the output.",
        context=LATER,
    ),
)

matrix = array("C")


def rows_summing_to(row_sum: Expr, row: Expr, column: Expr) -> Expr:
    """C[i, j] + (c − Σ_l C[i, l])/S: the general form of an array whose rows sum to c."""
    return matrix[row, column] + (row_sum - total(lambda m: matrix[row, m], "l", KEYS)) / S


SUMS = (
    Step(
        "Every row of dS sums to 0",
        total(lambda m: grad_logit(i, m), "j", KEYS),
        Integer(0),
        "A constant added to a row of logits changes nothing: Σ_j P_ij = 1.",
        context=FREE,
    ),
    Step(
        "So the gradients of the keys sum to 0",
        total(
            lambda m: scale * total(lambda q: rows_summing_to(Integer(0), q, m) * query[q, a], "i", QUERIES), "j", KEYS
        ),
        Integer(0),
        "The rows of dS sum to 0. Any such array is some C less the means of its rows, and for all of them the sum is "
        "0. This is the derivative of a fact: one vector added to all keys changes no output.",
        context=FREE,
    ),
    Step(
        "The gradients of the values sum to those of the outputs",
        total(
            lambda m: total(lambda q: rows_summing_to(Integer(1), q, m) * grad_output[q, e], "i", QUERIES), "j", KEYS
        ),
        total(lambda m: grad_output[m, e], "i", QUERIES),
        "The rows of P sum to 1. Any such array is some C plus what its rows fall short of 1, spread evenly. This is "
        "the derivative of a fact: one vector added to all values is added to every output.",
        context=FREE,
    ),
    Step(
        "Queries and keys have equal shares: Σ Q ∘ dQ = Σ K ∘ dK",
        total(lambda m: total(lambda c: query[m, c] * grad_query(m, c), "a", WIDTH), "i", QUERIES),
        total(lambda m: total(lambda c: key[m, c] * grad_key(m, c), "a", WIDTH), "j", KEYS),
        "Multiplying all queries and dividing all keys by the same number changes nothing, and this is the derivative "
        "of that fact. ∘ multiplies entry by entry.",
        context=FREE,
    ),
    Step(
        "The gradients are linear in G",
        grad_logit(s, t, grad=lambda m, c: first * grad_output[m, c] + second * other_grad[m, c]),
        first * grad_logit(s, t) + second * grad_logit(s, t, grad=entry_of(other_grad)),
        "dP is linear in G, and dS in dP; dQ and dK are linear in dS, and dV in G.",
        context=FREE,
    ),
)

ALL_HEADS = up_to(heads)


def head_weight(head: Expr, row: Expr, column: Expr) -> Expr:
    """The weights of one of the heads that read the same keys and values."""
    return weights(lambda m: free_logit[head, row, m], KEYS)(column)


def output_of_head(head: Expr, row: Expr, component: Expr) -> Expr:
    """O[r, i, e] = Σ_j P[r, i, j] V[j, e]."""
    return total(lambda m: head_weight(head, row, m) * value[m, component], "j", KEYS)


def loss_of_head(head: Expr) -> Expr:
    """Σ_i Σ_e G[r, i, e] O[r, i, e]."""
    return total(
        lambda m: total(lambda c: grad_output[head, m, c] * output_of_head(head, m, c), "e", VALUE_WIDTH), "i", QUERIES
    )


def logit_of_head(head: Expr, row: Expr, column: Expr) -> Expr:
    """S[r, i, j] = σ ⟨Q_ri, K_j⟩."""
    return scale * total(lambda c: query[head, row, c] * key[column, c], "a", WIDTH)


def attended_of_head(head: Expr) -> Entries:
    """The output of a head with a key and a value head that several read."""
    return attention(lambda m, j: logit_of_head(head, m, j), entry_of(value), KEYS)


def loss_of_attended(head: Expr) -> Expr:
    """Σ_i Σ_e G[r, i, e] O[r, i, e], the output as a function of the keys."""
    return total(
        lambda m: total(lambda c: grad_output[head, m, c] * attended_of_head(head)(m, c), "e", VALUE_WIDTH),
        "i",
        QUERIES,
    )


def grad_logit_of_head(head: Expr, row: Expr, column: Expr) -> Expr:
    """dS[r, i, j] = P[r, i, j] (dP[r, i, j] − D[r, i])."""
    share = weights(lambda m: logit_of_head(head, row, m), KEYS)

    def grad(m: Expr) -> Expr:
        return total(lambda c: grad_output[head, row, c] * value[m, c], "e", VALUE_WIDTH)

    return share(column) * (grad(column) - total(lambda m: share(m) * grad(m), "l", KEYS))


x, v, g = array("x"), array("v"), real("g")
plain = weights(entry_of(x), up_to(2))

SHARED = (
    Step(
        "Heads that share a value add up their gradients",
        Partial(total(loss_of_head, "r", ALL_HEADS), value[s, e]),
        total(lambda r: total(lambda m: head_weight(r, m, s) * grad_output[r, m, e], "i", QUERIES), "r", ALL_HEADS),
        "In grouped-query attention the gradient of a shared value is the sum over the query heads that read it.",
        context=Context(ranges={s: KEYS, e: VALUE_WIDTH}),
    ),
    Step(
        "Heads that share a key add up their gradients",
        Partial(total(loss_of_attended, "r", ALL_HEADS), key[s, a]),
        total(
            lambda r: scale * total(lambda m: grad_logit_of_head(r, m, s) * query[r, m, a], "i", QUERIES),
            "r",
            ALL_HEADS,
        ),
        "Each query head adds σ dSᵀ Q with its own queries and weights. A mean over them would be the gradient of "
        "another loss, in which every head counts H times less.",
        context=Context(ranges={s: KEYS, a: WIDTH}),
    ),
    Difference(
        "Without D the gradient is wrong",
        g * plain(1) * (v[1] - plain(1) * v[1] - plain(2) * v[2]),
        g * plain(1) * v[1],
        "One query, two keys with the logits 0 and 1 and the values 5 and 2, G = 3: dS of the first is 1.76951 with "
        "and 4.03412 without D.",
        example=World(symbols={g: 3}, arrays={(x, (1,)): 0, (x, (2,)): 1, (v, (1,)): 5, (v, (2,)): 2}),
        values=("1.76951", "4.03412"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="attention_backward",
    title="The gradients of attention by queries, keys and values",
    opening=(
        "Which gradients does attention pass to its queries, keys and values? Hand-written backward passes, such as "
        "those of fused kernels, are easy to get wrong unnoticed, because training continues with a wrong gradient "
        "and only learns worse."
    ),
    see_also=(
        "backward",
        "softmax",
        "masking",
        "grouped_query",
        "merging_backward",
        "additions_backward",
    ),
    symbols=(
        Meaning((L, S), "how many queries and how many keys there are; with two indices, S is a logit"),
        Meaning((d_k, d_v), "the widths of a key and of a value"),
        Meaning((heads,), "how many query heads share a key/value head"),
        Meaning((i, s, t, index("j")), "numbers of queries and keys: i a query, t and j keys, s as the step says"),
        Meaning((a, e), "numbers of components"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((keep,), "the mask: B_ij is 0 where query i may not attend to key j, and positive elsewhere"),
        Meaning((grad_output, other_grad), "two gradients of the loss by the output, one row for each query"),
        Meaning((row_gradient,), "one number for each query"),
        Meaning((free_weight,), "the weights, one row for each query; without indices, how many tokens come first"),
        Meaning((scale,), "the scale of the logits, such as 1/√d_k"),
        Meaning((first, second), "two numbers"),
        Meaning((hidden,), "how many tokens come after the first P"),
        Meaning((matrix,), "any array, one row for each query"),
        Meaning((log_sum,), "the log-sum-exp of the logits of a row"),
        Meaning((x, v, g), "two logits, two values and one gradient of an example"),
        Meaning((array("O"),), "the output, one row for each query"),
        Meaning((array("D"),), "D_i is Σ_l P_il dP_il over all keys l"),
        Meaning((real("dV"),), "a d before a name is the gradient of the loss by it: dV, dP, dS, dQ, dK"),
        Meaning((real("r"),), "the number of a head"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The loss is any differentiable function of the output; σ is any scale.",
        "B_ij is 0 where query i may not attend to key j, elsewhere 1, or e^b with a bias b; no row is empty.",
        "One head of one batch entry: the others add nothing to its gradients, unless keys are shared.",
    ),
    sources=(
        Source(
            "Dao et al. 2022, FlashAttention, appendix B.2",
            comment="dV, dP, dS, dQ, dK, and D from the output",
        ),
        Source(
            "Rabe & Staats 2021, Self-attention Does Not Need O(n²) Memory, section 5",
            comment="differentiation with recomputed weights",
        ),
    ),
    steps=GRADIENTS + OF_WEIGHTS + MASKED + SUMS + SHARED,
    remarks=(
        "Rows without a visible key are left out: their value is a convention, and so is their gradient.",
        "The sums are consequences of invariances: each invariance of attention is a linear relation of its gradients.",
    ),
)
