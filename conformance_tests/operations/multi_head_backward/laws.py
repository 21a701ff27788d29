"""Laws of the gradients of attention between projections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Bound, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.attention.case import MASK_SHAPES_OF_ONE_HEAD, AttentionSpace, MaskShape
from veriformer.conformance_tests.operations.gradients import (
    added_up,
    agrees_at_empty_rows,
    equal,
    linear,
    without_grad_output,
)
from veriformer.conformance_tests.operations.multi_head_backward.inputs import (
    MultiHeadBackwardInputs,
    SingleHeadBackwardInputs,
)
from veriformer.conformance_tests.operations.parts import agrees_in, worst

AnyTrial = Trial[MultiHeadBackwardInputs | SingleHeadBackwardInputs]
ManyTrial = Trial[MultiHeadBackwardInputs]

_SINGLE = ("single_head_attention_backward",)
_MULTI = ("multi_head_attention_backward",)
_ONE = AttentionSpace(
    heads=1, lengths="equal", biases="never", mask_shapes=MASK_SHAPES_OF_ONE_HEAD, mask="sometimes", least_keys=2
)
_MANY = AttentionSpace(mask="sometimes", causal="sometimes", least_keys=2)
# Each operation with the space of its cases.
_BOTH = ((_ONE, _SINGLE), (_MANY, _MULTI))


def _with_empty_rows(space: AttentionSpace, *shapes: MaskShape) -> AttentionSpace:
    return replace(space, mask="always", causal="never", mask_kinds=("empty_rows",), mask_shapes=shapes)


for _space, _operations in _BOTH:
    for _name in ("grad_x", "grad_w_q", "grad_w_k", "grad_w_v"):
        judges(_name, space=_space, operations=_operations)(agrees_in(_name))
    judges("grad_output.linear", space=replace(_space, palettes=EXACT_PALETTES), operations=_operations)(linear)
    judges("grad_output.zero", space=_space, operations=_operations)(without_grad_output)
    judges("mask.value", space=replace(_space, mask="always", causal="never"), operations=_operations)(agrees_in())
for _name in ("grad_context", "grad_w_o"):
    judges(_name, space=_MANY, operations=_MULTI)(agrees_in(_name))
judges("grad_biases", space=replace(_MANY, biases="always"), operations=_MULTI)(
    agrees_in("grad_b_q", "grad_b_v", "grad_b_o")
)


@judges("mask.empty_row", space=_with_empty_rows(_ONE, "full", "lengths"), operations=_SINGLE)
@judges("mask.empty_row", space=_with_empty_rows(_MANY, "full", "lengths", "shared_by_heads"), operations=_MULTI)
def empty_row(trial: AnyTrial) -> Verdict:
    """A query without a visible key sends no gradient back through its heads, where these are zero."""
    return agrees_at_empty_rows(trial, trial.inputs, trial.inputs.empty_rows(trial.conventions))


@judges("b_k.no_gradient", space=replace(_MANY, biases="always"), operations=_MULTI)
def key_bias(trial: ManyTrial) -> Verdict:
    """The bias of the keys has no gradient."""
    inputs = trial.inputs
    expected, part = trial.expected(inputs), inputs.part("grad_b_k")
    received = part(trial.output(inputs))
    zeros, judged = np.zeros(received.shape), part(expected.judged)
    return trial.within(zeros, received, lambda bound: part(bound(inputs)), judged, "grad_b_k")


@judges("single_key", space=replace(_ONE, queries=1, keys=1, least_keys=1), operations=_SINGLE)
@judges("single_key", space=AttentionSpace(keys=1), operations=_MULTI)
def single_key(trial: AnyTrial) -> Verdict:
    """With one key the projections of queries and keys have no gradient."""
    inputs = trial.inputs
    output, expected = trial.output(inputs), trial.expected(inputs)
    parts = {name: inputs.part(name) for name in ("grad_w_q", "grad_w_k")}
    return trial.within_bounds(
        lambda bound: worst(
            compare(np.zeros(inputs.parts[name]), part(output), part(bound(inputs)), part(expected.judged), name)
            for name, part in parts.items()
        )
    )


@judges("projections.rescaled", space=_ONE, operations=_SINGLE)
@judges("projections.rescaled", space=replace(_MANY, biases="never"), operations=_MULTI)
def rescaled(trial: AnyTrial) -> Verdict:
    """Twice the queries and half the keys: the gradients of their projections have the other's factor."""
    inputs = trial.inputs
    weights = inputs.weights
    factors = {"grad_w_q": 0.5, "grad_w_k": 2.0}

    def scaled(name: str, part: Array) -> Array:
        return factors[name] * part if name in factors and part.dtype.kind == "f" else part

    other = inputs.with_weights(w_q=2.0 * weights.w_q, w_k=0.5 * weights.w_k)
    return equal(trial, inputs, other, of_first=scaled)


@judges("equal_shares", space=_ONE, operations=_SINGLE)
@judges("equal_shares", space=_MANY, operations=_MULTI)
def equal_shares(trial: AnyTrial) -> Verdict:
    """The sums of the queries' projection times its gradient, and of the keys'."""
    inputs = trial.inputs
    (query, query_error, judged), (key, key_error, _) = (_along(trial, (f"w_{one}", f"b_{one}")) for one in "qk")

    def allowed(bound: Bound) -> Array:
        return np.asarray(query_error(bound) + key_error(bound))

    return trial.within(query, key, allowed, judged, f"of {inputs.operation}")


@judges("w_v.along_itself", space=_ONE, operations=_SINGLE)
@judges("w_v.along_itself", space=_MANY, operations=_MULTI)
def values_along(trial: AnyTrial) -> Verdict:
    """The sum of the values' projection times its gradient, and of the outputs times theirs."""
    return _as_the_output(trial, ("w_v", "b_v"))


@judges("w_o.along_itself", space=_MANY, operations=_MULTI)
def last_along(trial: ManyTrial) -> Verdict:
    """The sum of the last projection times its gradient, and of the outputs times theirs."""
    return _as_the_output(trial, ("w_o",))


def _along(trial: AnyTrial, names: Iterable[str]) -> tuple[Array, Callable[[Bound], Array], Array]:
    """Return Σ W ∘ dW of some weights, its error bound, and whether it is judged."""
    inputs = trial.inputs
    output, judged = trial.output(inputs), trial.expected(inputs).judged
    weights = {name: getattr(inputs.weights, name, None) for name in names}
    given = [(weight, inputs.part(f"grad_{name}")) for name, weight in weights.items() if weight is not None]

    def allowed(bound: Bound) -> Array:
        return np.asarray(sum(np.sum(np.abs(weight) * part(bound(inputs))) for weight, part in given))

    total = sum(np.sum(weight * part(output)) for weight, part in given)
    return np.asarray(total), allowed, np.asarray(all(part(judged).all() for _, part in given))


def _as_the_output(trial: AnyTrial, names: Iterable[str]) -> Verdict:
    received, allowed, judged = _along(trial, names)
    expected = np.sum(trial.inputs.grad_output * _without_last_bias(trial))
    return trial.within(np.asarray(expected), received, allowed, judged)


def _without_last_bias(trial: AnyTrial) -> Array:
    """Return the outputs by the reference, without the last bias."""
    inputs = trial.inputs
    if isinstance(inputs, SingleHeadBackwardInputs):
        weights = reference.SingleHeadWeights(**vars(inputs.weights))
        return reference.single_head_attention(inputs.x, weights, mask=inputs.mask)
    obeyed = inputs.obeying(trial.conventions)
    return reference.multi_head_attention(
        inputs.x,
        inputs.context,
        replace(inputs.weights, b_o=None),
        num_heads=inputs.num_heads,
        num_kv_heads=inputs.num_kv_heads,
        mask=obeyed.mask,
        is_causal=obeyed.is_causal,
        causal_alignment=trial.conventions["causal_alignment"],
    )


@judges("samples.additive", space=replace(_ONE, least_batch=2), operations=_SINGLE)
@judges("samples.additive", space=replace(_MANY, least_batch=2), operations=_MULTI)
def additive(trial: AnyTrial) -> Verdict:
    """The weights' gradients over the first sample and over the others add up to those over all."""
    inputs = trial.inputs
    shares = inputs.take_samples(np.arange(1)), inputs.take_samples(np.arange(1, inputs.batch))
    return added_up(trial, shares, [name for name in inputs.parts if name not in ("grad_x", "grad_context")])


@judges("batch.independence", space=replace(_ONE, least_batch=2), operations=_SINGLE)
@judges("batch.independence", space=replace(_MANY, least_batch=2), operations=_MULTI)
def samples_alone(trial: AnyTrial) -> Verdict:
    """The gradients of the last sample's vectors are the same alone as in the batch."""
    inputs = trial.inputs
    alone = inputs.take_samples(np.array([inputs.batch - 1]))

    def of_vectors(name: str, part: Array) -> Array:
        return part[-1:] if name in ("grad_x", "grad_context") else part.ravel()[:0]

    return equal(trial, alone, inputs, of_vectors, of_vectors)


@judges("heads.permutation", space=replace(_MANY, least_heads=2, ungrouped=True), operations=_MULTI)
def head_order(trial: ManyTrial) -> Verdict:
    """Heads in another order, weights and all, have the gradients of their weights in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.num_heads)

    def moved(name: str, part: Array) -> Array:
        if name in ("grad_x", "grad_context", "grad_b_o"):
            return part
        axis = 0 if name == "grad_w_o" else -1
        blocks = np.split(part, inputs.num_heads, axis=axis)
        return np.concatenate([blocks[head] for head in order], axis=axis)

    return equal(trial, inputs, inputs.take_heads(order), of_first=moved)


@judges("grouped_heads", space=replace(_MANY, grouped=True), operations=_MULTI)
def grouped_heads(trial: ManyTrial) -> Verdict:
    """Projections written out for every query head have gradients that add up to those of the shared ones."""
    inputs = trial.inputs
    groups, times = inputs.num_kv_heads, inputs.num_heads // inputs.num_kv_heads
    repeated = replace(
        inputs, weights=inputs.weights.repeated(groups, times), num_kv_heads=inputs.num_heads, name_kv_heads=False
    )
    shared = ("grad_w_k", "grad_w_v", "grad_b_k", "grad_b_v")

    def summed(name: str, part: Array) -> Array:
        if name not in shared:
            return part
        of_heads = part.reshape(*part.shape[:-1], groups, times, -1)
        added = of_heads.all(axis=-2) if part.dtype == bool else of_heads.sum(axis=-2)
        return np.asarray(added.reshape(*part.shape[:-1], -1))

    return equal(trial, repeated, inputs, of_first=summed)


@judges(
    "mask.masked_keys",
    space=AttentionSpace(mask="always", mask_kinds=("padding", "left_padding"), least_keys=2),
    operations=_MULTI,
)
def masked_keys(trial: ManyTrial) -> Verdict:
    """Positions of the context that no query may see have no gradient."""
    return _no_gradient(trial, trial.inputs, trial.inputs.unseen_keys(trial.conventions))


@judges(
    "causal.no_future_gradient",
    space=AttentionSpace(causal="always", least_queries=2, least_keys=2),
    operations=_MULTI,
)
def no_future_gradient(trial: ManyTrial) -> Verdict:
    """A loss on the first half of the outputs gives no gradient to what only later queries see."""
    inputs = trial.inputs
    cut = inputs.query_length // 2
    grad_output = inputs.grad_output.copy()
    grad_output[:, cut:] = 0.0
    later = np.asarray(~inputs.visible(trial.conventions)[:, :, :cut].any(axis=(1, 2)))
    return _no_gradient(trial, replace(inputs, grad_output=grad_output), later)


def _no_gradient(trial: ManyTrial, inputs: MultiHeadBackwardInputs, where: Array) -> Verdict:
    """Judge whether the context's gradient at `where` (B, S) is zero."""
    expected, part = trial.expected(inputs), inputs.part("grad_context")
    received = part(trial.output(inputs))
    judged = part(expected.judged) & where[..., None]
    wanted = np.where(where[..., None], 0.0, received)
    return trial.within(wanted, received, lambda bound: part(bound(inputs)), judged, "grad_context", may_be_nan=False)
