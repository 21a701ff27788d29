"""Masks: hidden keys have no influence, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.drawing.case import MaskKind
from veriformer.conformance_tests.operations.attention.case import AttentionSpace, MaskShape
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

_KEY_MASKS: tuple[MaskKind, ...] = ("padding", "left_padding")
_SHARED: tuple[MaskShape, ...] = ("keys_only",)


@judges("mask.value", space=AttentionSpace(mask="always", bias="sometimes", least_keys=2, also_causal=True))
@judges(
    "mask.polarity", space=AttentionSpace(mask="always", mask_kinds=("one_visible",), least_keys=2, also_causal=True)
)
def agrees_with_formula(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The result is that of a softmax over the visible keys."""
    return trial.agrees()


@judges(
    "mask.masked_content",
    space=AttentionSpace(mask="always", mask_kinds=_KEY_MASKS, mask_shapes=_SHARED, bias="sometimes", least_keys=2),
)
def masked_content(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Other content in keys that no query may see changes nothing."""
    hidden = trial.inputs.unseen_keys(trial.conventions)
    return trial.equal(trial.inputs, trial.inputs.with_keys_replaced(hidden, 5.0))


@judges(
    "mask.low_logits",
    space=AttentionSpace(
        mask="always", least_keys=2, amplitudes=(100,), palettes=("integers", "normal", "offset"), also_causal=True
    ),
)
def low_logits(trial: Trial[AttentionInputs]) -> Verdict:
    """With opposite queries and keys the logits are as low as they can be, and the masked keys still hidden."""
    inputs = trial.inputs
    return trial.agrees(replace(inputs, query=np.abs(inputs.query), key=-np.abs(inputs.key)))


@judges(
    "mask.nonfinite_behind_mask",
    space=AttentionSpace(mask="always", mask_kinds=_KEY_MASKS, mask_shapes=_SHARED, least_batch=2, least_keys=2),
)
def nonfinite_behind_mask(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """A NaN or infinity behind the mask reaches no further than the convention allows."""
    inputs, convention = trial.inputs, trial.conventions["masked_nonfinite"]
    hidden = inputs.unseen_keys(trial.conventions)
    content = float(trial.generator.choice([np.nan, np.inf, -np.inf]))
    if convention == "ignored":
        poisoned = inputs.with_keys_replaced(hidden, content)
    elif convention == "value_propagates" and inputs.operation != "multi_head_attention":
        poisoned = inputs.with_keys_replaced(hidden, content, values=False)
    else:
        return _poison_stays_in_its_sample(trial, hidden, content)
    results, judged = (trial.output(inputs), trial.output(poisoned)), trial.expected(inputs).judged
    return trial.within(*results, lambda bound: 2.0 * bound(inputs), judged)


def _poison_stays_in_its_sample(
    trial: Trial[AttentionInputs | MultiHeadInputs], hidden: Array, content: float
) -> Verdict:
    """Judge the samples in which nothing was replaced: even a value that propagates must not leave its sample."""
    where = hidden.copy()
    where[0] = False
    poisoned = trial.inputs.with_keys_replaced(where, content)
    results, judged = (trial.output(trial.inputs)[:1], trial.output(poisoned)[:1]), trial.expected(trial.inputs).judged
    return trial.within(*results, lambda bound: 2.0 * bound(trial.inputs)[:1], judged[:1])


@judges(
    "mask.removed_keys",
    space=AttentionSpace(mask="always", mask_kinds=("random",), mask_shapes=("lengths",), least_keys=2),
)
def removed_keys(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Omitting the keys that are masked for every query changes nothing."""
    inputs = trial.inputs
    # How many are kept follows from the length alone, so that compiling frameworks see few new shapes.
    kept = np.sort(trial.permutation(inputs.key_length)[: (inputs.key_length + 1) // 2])
    mask = np.zeros((inputs.query_length, inputs.key_length), dtype=bool)
    mask[:, kept] = True
    full = replace(inputs, mask=mask)
    cut = replace(full.take_keys(kept), mask=None)
    if inputs.operation == "attention_weights":
        return trial.equal(cut, full, of_second=lambda result: result[..., kept])
    return trial.equal(cut, full)


@judges(
    "mask.padding",
    space=AttentionSpace(mask="always", mask_kinds=("padding",), mask_shapes=_SHARED, least_batch=2, least_keys=2),
)
def padding(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The last sample, without its padding, gives the same result alone as in the padded batch."""
    inputs = trial.inputs
    last = inputs.batch - 1
    kept = np.arange((inputs.key_length + 1) // 2)
    mask = present(inputs.mask).copy()
    mask[last] = False
    mask[last, ..., kept] = True
    padded = replace(inputs, mask=mask)
    alone = replace(padded.take_samples(np.array([last])).take_keys(kept), mask=None)
    width = slice(0, len(kept)) if inputs.operation == "attention_weights" else slice(None)
    return trial.equal(alone, padded, of_second=lambda result: result[last:, ..., width])


@judges("mask.additive", space=AttentionSpace(mask="always", bias="sometimes", least_keys=2))
def additive(trial: Trial[AttentionInputs]) -> Verdict:
    """The mask written as a bias of 0 and −∞ gives the same result."""
    inputs = trial.inputs
    shape = (inputs.batch, inputs.heads, inputs.query_length, inputs.key_length)
    written = np.where(np.broadcast_to(present(inputs.mask), shape), 0.0, -np.inf)
    plain = replace(inputs, bias=None)
    return trial.equal(plain, replace(plain, mask=None, bias=written))


@judges(
    "mask.broadcast",
    space=AttentionSpace(
        mask="always",
        mask_shapes=("shared_by_heads", "shared_by_batch", "lengths", "keys_only"),
        least_batch=2,
        least_heads=2,
        least_keys=2,
        also_causal=True,
    ),
)
def broadcast(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The expanded mask gives the same result as the short one."""
    inputs = trial.inputs
    shape = (inputs.batch, inputs.heads, inputs.query_length, inputs.key_length)
    expanded = replace(inputs, mask=np.broadcast_to(present(inputs.mask), shape).copy())
    return trial.equal(expanded, inputs)


@judges(
    "mask.empty_row",
    space=AttentionSpace(
        mask="always",
        mask_kinds=("empty_rows",),
        mask_shapes=("full", "lengths", "shared_by_heads"),
        also_causal=True,
    ),
)
def empty_row(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """A query without a visible key gets the result that the convention specifies."""
    expected = trial.expected(trial.inputs)
    return trial.within(expected.value, trial.output(trial.inputs), lambda bound: bound(trial.inputs))


@judges(
    "mask.empty_row_is_local",
    space=AttentionSpace(
        mask="always",
        mask_kinds=("empty_rows",),
        mask_shapes=("full", "lengths"),
        least_queries=2,
        least_keys=2,
        also_causal=True,
    ),
)
def empty_row_is_local(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Queries next to an empty row follow the formula."""
    return trial.agrees()
