"""Rounding errors of the gradients of attention between projections, carried on from the last step to the first.

Queries, keys and values are wrong by what their projections round, and so is the gradient that the last projection
passes back to the heads. Both reach the gradients of the heads (`attended_back`), and these those of the projections.
"""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.estimates import attended
from veriformer.conformance_tests.operations.attention_backward.estimates import attended_back
from veriformer.conformance_tests.rounding.estimates import Estimate, Turn, added, projected
from veriformer.conformance_tests.rounding.going_back import of_bias, of_matrix, through_matrix
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.single_head import HasSingleHeadWeights
from veriformer.reference.weights import HasMultiHeadWeights

Gradients = dict[str, Estimate]


def multi_head_back(
    x: Estimate,
    context: Estimate,
    weights: HasMultiHeadWeights,
    gradient: Estimate,
    visible: Array,
    precision: Precision,
    *,
    num_heads: int,
    num_kv_heads: int,
    turn: Turn | None = None,
    turn_back: Turn | None = None,
) -> tuple[Estimate, Estimate, Gradients]:
    """Return the gradients of x, of the context and of each weight, biases where there are any.

    A model with rotary positions turns the heads of queries and keys, and their gradients back.
    """
    sources = {"q": (x, num_heads), "k": (context, num_kv_heads), "v": (context, num_kv_heads)}
    query, key, value = (
        _heads(projected(source, getattr(weights, f"w_{name}"), getattr(weights, f"b_{name}"), precision), count)
        for name, (source, count) in sources.items()
    )
    if turn is not None:
        query, key = turn(query), turn(key)
    merged = attended(query, key, value, visible, precision).mapped(reference.merge_heads)
    above = _heads(through_matrix(gradient, weights.w_o, precision), num_heads)
    of_heads = attended_back(query, key, value, above, visible, precision)
    if turn_back is not None:
        of_heads = turn_back(of_heads[0]), turn_back(of_heads[1]), of_heads[2]
    given = dict(zip("qkv", (one.mapped(reference.merge_heads) for one in of_heads), strict=True))
    gradients = {f"w_{name}": of_matrix(source, given[name], precision) for name, (source, _) in sources.items()}
    gradients["w_o"] = of_matrix(merged, gradient, precision)
    for name, one in {**given, "o": gradient}.items():
        if getattr(weights, f"b_{name}") is not None:
            gradients[f"b_{name}"] = of_bias(one, precision)
    back = {name: through_matrix(one, getattr(weights, f"w_{name}"), precision) for name, one in given.items()}
    return back["q"], added(back["k"], back["v"], precision), gradients


def _heads(wide: Estimate, count: int) -> Estimate:
    return wide.mapped(lambda array: reference.split_heads(array, count))


def single_head_back(
    x: Estimate, weights: HasSingleHeadWeights, gradient: Estimate, visible: Array, precision: Precision
) -> tuple[Estimate, Gradients]:
    """Return the gradients of the sequence and of each projection of one head.

    The three gradients of the sequence may be added in any order: each sum is rounded, at most as large as all three.
    """
    named = {name: getattr(weights, name) for name in ("w_q", "w_k", "w_v")}
    heads = [projected(x, weight, None, precision).mapped(lambda wide: wide[:, None]) for weight in named.values()]
    query, key, value = heads
    above = gradient.mapped(lambda wide: wide[:, None])
    of_heads = attended_back(query, key, value, above, visible[:, None], precision)
    given = dict(zip(named, (one.mapped(lambda wide: wide[:, 0]) for one in of_heads), strict=True))
    back = [through_matrix(given[name], weight, precision) for name, weight in named.items()]
    largest = sum(abs(one.value) + one.error for one in back)
    total = added(added(back[0], back[1], precision), back[2], precision)
    any_order = Estimate(total.value, total.error + precision.stored * largest)
    return any_order, {name: of_matrix(x, one, precision) for name, one in given.items()}
