"""Questions about attention: the order of axes and heads, masks, windows and the soft cap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.conventions.asking import FORWARD, Answer, Ask, Asking, fitting, fitting_all
from veriformer.conformance_tests.conventions.evidence import Evidence, keys_words
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention_backward.inputs import ASKED
from veriformer.conformance_tests.operations.masks.inputs import CausalMaskInputs
from veriformer.spec.operations import OPERATIONS

_NAN_REACHES = {
    "ignored": "the output stays as it was",
    "value_propagates": "the output changes, though not by the hidden keys alone",
    "propagates": "the output changes, by the hidden keys alone too",
}


def layout(asking: Asking) -> Answer:
    """Ask with lengths, heads and widths that all differ, so that no other order of axes passes for the right one.

    Whatever is wrong with the numbers, axes in another order do not fit each other: what is answered tells too.
    """
    return asking.under_each(asking.attention(5, 7))


def kv_grouping(asking: Asking) -> Answer:
    """Ask with more query heads than key/value heads."""
    return asking.under_each(asking.attention(3, 5))


def mask_polarity(asking: Asking) -> Answer:
    """Ask with a mask that hides no row's every key, and whose opposite does not either."""
    if not asking.has("mask"):
        return asking.unasked("mask")
    inputs = asking.attention(3, 4, mask="padding", mask_shape="keys_only")
    keys = inputs.mask.shape[-1]
    mask = (np.arange(keys) < np.array([[keys - 1], [1]])).reshape(inputs.mask.shape)
    return asking.under_each(replace(inputs, mask=mask))


def causal_alignment(asking: Asking) -> Answer:
    """Ask which keys each query depends on; that shows the alignment where the values are wrong for another reason."""
    lengths = ((3, 5), (5, 3), (4, 4))
    if asking.operation == "causal_mask":
        return asking.compared(CausalMaskInputs(*pair) for pair in lengths)
    if not asking.has("is_causal") and not asking.has("window"):
        return asking.unasked("is_causal", "window")
    if asking.operation in ASKED:
        return asking.compared(asking.attention(*pair, is_causal=True) for pair in lengths)
    # Without limit to the left, a window of nothing to the right is the causal flag.
    causal: dict[str, Any] = {"is_causal": True} if asking.has("is_causal") else {"window": (None, 0)}
    alignments: tuple[Any, ...] = asking.values
    evidence = []
    for pair in lengths:
        inputs = asking.attention(*pair, **causal)
        seen = _keys_seen(inputs, asking.result, asking.subject.conventions)
        # More queries than keys, say, may be refused; what is answered tells.
        if seen is not None:
            shown = {value: reference.causal_mask(*pair, causal_alignment=value) for value in alignments}
            fits = [value for value in alignments if _shows(seen, shown[value])]
            evidence.append(asking.evidence(inputs, keys_words(seen), fits))
    return Answer(fitting_all(asking.convention, evidence), tuple(evidence))


def _keys_seen(inputs: Any, ask: Ask, conventions: Conventions) -> Array | None:
    """Return which keys each query's answer depends on, (L, S), by changing one key after the other.

    This finds the alignment even where the values are wrong for another reason. None without an answer.
    """
    before = ask(inputs)
    if before is None:
        return None
    unseen = inputs.unseen_keys(conventions)
    columns = []
    for key in range(inputs.key_length):
        where = np.zeros_like(unseen)
        where[..., key] = True
        after = ask(inputs.with_keys_replaced(where, 9.0))
        if after is None:
            return None
        rest = tuple(axis for axis in range(before.ndim) if axis != inputs.result_axis("queries"))
        changed = (before != after) & ~(np.isnan(before) & np.isnan(after))
        if inputs.operation == "attention_weights":
            # The weight of the only key that is seen is 1, whatever the key.
            changed[..., key] |= before[..., key] != 0
        columns.append(changed.any(axis=rest))
    return np.stack(columns, axis=-1)


def _shows(seen: Array, mask: Array) -> bool:
    """Return whether the keys seen are those of the mask, in the rows that have any: others may average all."""
    rows = mask.any(axis=-1)
    return seen.shape == mask.shape and np.array_equal(seen[rows], mask[rows])


def causal_with_mask(asking: Asking) -> Answer:
    """Ask with mask and causal flag together, and with each alone where that raises; with a bias where no mask is."""
    if not asking.has("is_causal") or not (asking.has("mask") or asking.has("bias")):
        return asking.unasked("mask", "is_causal")
    # PyTorch refuses the two together in some of its kernels only, and the widths decide which one answers.
    refused = _refused_pair(asking, 2) or _refused_pair(asking, 3)
    if refused is not None:
        return Answer(("rejects",), (refused,))
    # A call that fails for another reason refuses nothing: what is refused is not drawn, and must be known.
    if asking.result(_both_masks(asking, 2)) is None:
        return Answer(None)
    if not asking.thorough or not asking.has("mask"):
        return Answer(("intersect",))
    # Query 1 sees other keys by both together than by either alone.
    both = replace(_both_masks(asking, 2), mask=np.array([True, False, True, True])[None, None, None])
    return asking.compared([both])


def _refused_pair(asking: Asking, value_width: int) -> Evidence | None:
    """Return the evidence where mask and causal flag are refused together and each alone is answered; else None."""
    both, before = _both_masks(asking, value_width), len(asking.errors)
    if asking.result(both) is not None:
        return None
    alone = ({"is_causal": True}, _mask_or_bias(asking))
    if any(asking.result(asking.attention(4, 4, value_width=value_width, **one)) is None for one in alone):
        return None
    return asking.evidence(both, f"{asking.errors[before]}; with either alone it does not", ("rejects",))


def _both_masks(asking: Asking, value_width: int) -> Any:
    return asking.attention(4, 4, value_width=value_width, is_causal=True, **_mask_or_bias(asking))


def _mask_or_bias(asking: Asking) -> dict[str, Any]:
    return {"mask": "padding"} if asking.has("mask") else {"bias": True}


def window_counting(asking: Asking) -> Answer:
    """Ask with windows to the left, and to both sides."""
    if not asking.has("window"):
        return asking.unasked("window")
    windows = ((5, (2, None)), (6, (1, 2)))
    return asking.compared([asking.attention(length, length, window=window) for length, window in windows])


def softcap_order(asking: Asking) -> Answer:
    """Ask with a soft cap and a mask."""
    if not asking.has("softcap", "mask"):
        return asking.unasked("softcap")
    return asking.compared([asking.attention(3, 5, softcap=2.0, mask="padding")])


def empty_row(asking: Asking) -> Answer:
    """Ask with rows of which the mask hides every key."""
    if asking.has("mask"):
        inputs = asking.attention(3, 4, mask="empty_rows", mask_shape="lengths")
    elif asking.has("is_causal") and asking.subject.conventions["causal_alignment"] == "bottom_right":
        # Of more queries than keys the first see none.
        inputs = asking.attention(5, 3, is_causal=True)
    else:
        return asking.unasked("mask")
    if OPERATIONS[asking.operation].forward:
        return _empty_row_of_gradients(asking, inputs)
    return asking.compared([inputs], empty_rows=True)


def _empty_row_of_gradients(asking: Asking, inputs: Inputs) -> Answer:
    """Return what the output of a query without a visible key is, or may be by the gradients that it reaches."""
    forward = OPERATIONS[asking.operation].forward
    # Grouped queries have empty rows like any other attention, so that the plain operation answers for them too.
    names = (forward, FORWARD) if asking.operation in ASKED else (forward,)
    name = next((name for name in names if asking.subject.implementation.declares(name)), None)
    if name is not None:
        findings = asking.examine(asking.subject.implementation, OPERATIONS[name]).findings
        of_forward = next(finding for finding in findings if finding.convention == "empty_row")
        fits = of_forward.standing or (of_forward.value,)
        return Answer(fits, (asking.evidence(inputs, f"as {name} does", fits),))
    result = asking.result(inputs)
    if result is None:
        return Answer(())
    other = "nan" if np.isnan(result).any() else "mean_of_values"
    value = "zeros" if "zeros" in fitting(result, asking.expected(inputs), empty_rows=True) else other
    return Answer((value,), (asking.evidence(inputs, f"the gradients are those of {value}", (value,)),))


def masked_nonfinite(asking: Asking) -> Answer:
    """Ask with NaN in every hidden key and value, and in the hidden keys alone."""
    if not asking.has("mask"):
        return asking.unasked("mask")
    # Where the keys are projected from x itself, what hides in them reaches every query as well.
    if asking.fixed.choices.offered.get("context") == (False,):
        return Answer(None)
    inputs = asking.attention(3, 4, mask="padding", mask_shape="keys_only")
    mask = np.ones((2, 1, 1, 4), dtype=bool)
    mask[..., 2:] = False
    inputs = replace(inputs, mask=mask)
    hidden = inputs.unseen_keys(asking.subject.conventions)
    clean = asking.result(inputs)
    if clean is None:
        return Answer(())
    found = _passed_by_nan(asking, clean, inputs, hidden)
    if found == "ignored" and _unchanged(asking, clean, inputs.with_keys_replaced(~hidden, np.nan)):
        # An operation that reads no key at all shows nothing of hidden ones.
        return Answer(())
    # In multi-head attention one array is both keys and values: a NaN may reach the output through either.
    either = asking.operation == "multi_head_attention" and found == "propagates"
    reaches = "the output changes" if either else _NAN_REACHES[found]
    fits = ("value_propagates", found) if either else (found,)
    came = f"with NaN in every hidden key and value {reaches}"
    return Answer((found,), (asking.evidence(inputs, came, fits),))


def _passed_by_nan(asking: Asking, clean: Array, inputs: Any, hidden: Array) -> str:
    if _unchanged(asking, clean, inputs.with_keys_replaced(hidden, np.nan)):
        return "ignored"
    if asking.operation == "multi_head_attention":
        return "propagates"
    keys_only = inputs.with_keys_replaced(hidden, np.nan, values=False)
    return "value_propagates" if _unchanged(asking, clean, keys_only) else "propagates"


def _unchanged(asking: Asking, clean: Array, inputs: Inputs) -> bool:
    result = asking.result(inputs)
    return result is not None and bool(np.allclose(clean, result, rtol=0.0, atol=1e-2))
