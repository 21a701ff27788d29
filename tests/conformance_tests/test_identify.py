"""`identify` finds what an implementation obeys, shows why, and flags what it cannot tell.

The implementations are the reference under one convention each, or small programs written for these tests.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.errors import LoadError
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Identification, identify
from veriformer.conformance_tests.conventions.identification import Identified
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.selection import UnknownName
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray
PLAIN, GROUPED = "scaled_dot_product_attention", "grouped_query_attention"


def attention(**chosen: Any) -> Any:
    """Return attention that differs from the standard by the reference's own keywords."""

    def scaled_dot_product_attention(
        query: Array, key: Array, value: Array, *, mask: Any = None, is_causal: bool = False, window: Any = None
    ) -> Array:
        result = reference.scaled_dot_product_attention(
            query, key, value, mask=mask, is_causal=is_causal, window=window, **chosen
        )
        return result.astype(query.dtype)

    return scaled_dot_product_attention


def plain(function: Any, **declared: Any) -> SimpleNamespace:
    return SimpleNamespace(scaled_dot_product_attention=function, **declared)


def blhd(query: Array, key: Array, value: Array) -> Array:
    swapped = (array.swapaxes(1, 2) for array in (query, key, value))
    return reference.scaled_dot_product_attention(*swapped).astype(query.dtype).swapaxes(1, 2)


def rejecting(query: Array, key: Array, value: Array, *, mask: Any = None, is_causal: bool = False) -> Array:
    if mask is not None and is_causal:
        raise ValueError("either, not both")
    return np.asarray(attention()(query, key, value, mask=mask, is_causal=is_causal))


def upside_down(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
    return np.asarray(attention()(query, key, value, mask=None if mask is None else ~mask))


def dropping_the_mask(query: Array, key: Array, value: Array, *, mask: Any = None, is_causal: bool = False) -> Array:
    return np.asarray(attention()(query, key, value, mask=None if is_causal else mask, is_causal=is_causal))


def tiled(query: Array, key: Array, value: Array) -> Array:
    times = (1, query.shape[1] // key.shape[1], 1, 1)
    return np.asarray(attention()(query, np.tile(key, times), np.tile(value, times)))


def concatenated(length: int, d_model: int) -> Array:
    return reference.sinusoidal_positions(length, d_model, layout="concatenated").astype(np.float32)


def half(x: Array, positions: Array) -> Array:
    return reference.rotary_embedding(x, positions, pairing="half").astype(x.dtype)


def tanh_gelu(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))).astype(x.dtype)


def quick_gelu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-1.702 * x))).astype(x.dtype)


def gemma_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * (1 + gamma)).astype(x.dtype)


def eps_outside(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return np.asarray(centred / (centred.std(-1, keepdims=True) + eps) * gamma + beta).astype(x.dtype)


def only(identification: Identification, convention: str) -> Identified:
    """Return what is known of a convention of the one operation there is."""
    (item,) = (item for item in identification.conventions if item.convention == convention)
    return item


OTHERWISE = (
    ("causal_alignment", "bottom_right", plain(attention(causal_alignment="bottom_right"))),
    ("causal_with_mask", "rejects", plain(rejecting)),
    ("empty_row", "nan", plain(attention(empty_row="nan"))),
    ("empty_row", "mean_of_values", plain(attention(empty_row="mean_of_values"))),
    ("layout", "blhd", plain(blhd)),
    ("window_counting", "exclusive", plain(attention(window_counting="exclusive"))),
    ("rotary_pairing", "half", SimpleNamespace(rotary_embedding=half)),
    ("sinusoidal_layout", "concatenated", SimpleNamespace(sinusoidal_positions=concatenated)),
    # By a name that states no form.
    ("gelu_form", "tanh", SimpleNamespace(gelu=lambda x: tanh_gelu(x))),
    ("gelu_form", "sigmoid", SimpleNamespace(gelu=quick_gelu)),
    ("rms_norm_gain", "one_plus_gamma", SimpleNamespace(rms_norm=gemma_norm)),
)


@pytest.mark.parametrize(("convention", "value", "target"), OTHERWISE, ids=[f"{c} {v}" for c, v, _ in OTHERWISE])
def test_another_value_is_told_and_the_standard_one_excluded(convention: str, value: str, target: Any) -> None:
    item = only(identify(target), convention)
    assert (item.value, item.how, item.told, item.fits) == (value, "inferred", "told", (value,))
    assert any(one.came and one.asked and one.excludes for one in item.evidence)


MISTAKES = (
    ("mask_polarity", "true_is_masked", plain(upside_down)),
    ("causal_with_mask", "mask_ignored", plain(dropping_the_mask)),
    ("kv_grouping", "tile", SimpleNamespace(grouped_query_attention=tiled)),
    ("layer_norm_eps", "outside_root", SimpleNamespace(layer_norm=eps_outside)),
)


@pytest.mark.parametrize(("convention", "value", "target"), MISTAKES, ids=[value for _, value, _ in MISTAKES])
def test_a_recorded_mistake_is_seen_and_not_accepted(convention: str, value: str, target: Any) -> None:
    found = identify(target)
    item = only(found, convention)
    assert (item.how, item.told, item.fits) == ("standard", "mistake", (value,))
    assert item.value != value
    assert value in item.reason
    assert found.exit_status == 0


@pytest.mark.parametrize(("convention", "value", "target"), MISTAKES, ids=[value for _, value, _ in MISTAKES])
def test_a_recorded_mistake_that_is_declared_is_a_convention(convention: str, value: str, target: Any) -> None:
    declaring = SimpleNamespace(**vars(target), conventions={convention: value})
    item = only(identify(declaring), convention)
    assert (item.value, item.how, item.told) == (value, "declared", "told")


CONTRADICTED = (
    ({"causal_alignment": "top_left"}, plain(attention(causal_alignment="bottom_right")), "bottom_right"),
    ({"empty_row": "nan"}, plain(attention()), "zeros"),
    ({"mask_polarity": "true_is_masked"}, plain(attention()), "true_attends"),
    ({"layout": "bhld"}, plain(blhd), "blhd"),
    ({"causal_with_mask": "intersect"}, plain(rejecting), "rejects"),
    ({"rotary_pairing": "interleaved"}, SimpleNamespace(rotary_embedding=half), "half"),
)


@pytest.mark.parametrize(("declared", "target", "found"), CONTRADICTED, ids=[f"{d}" for d, _, _ in CONTRADICTED])
def test_a_declared_value_that_is_not_obeyed_is_contradicted(declared: Any, target: Any, found: str) -> None:
    identification = identify(SimpleNamespace(**vars(target), conventions=declared))
    ((convention, value),) = declared.items()
    item = only(identification, convention)
    assert (item.value, item.how, item.told, item.fits) == (value, "declared", "contradicted", (found,))
    assert identification.contradicted == (item,)
    assert identification.exit_status == 1


def test_what_fits_no_value_is_not_told() -> None:
    item = only(identify(SimpleNamespace(gelu=lambda x: x)), "gelu_form")
    assert (item.value, item.how, item.told, item.fits) == ("erf", "standard", "untold", ())
    assert "fits no value" in item.reason
    assert item.evidence[0].excludes == ("erf", "tanh", "sigmoid")


def test_what_fits_several_values_is_not_told() -> None:
    item = only(identify(plain(attention(), dtypes=("float64",))), "softmax_dtype")
    assert (item.told, item.fits) == ("untold", ("input", "at_least_float32"))


def test_what_raises_is_not_told_and_its_error_is_shown() -> None:
    def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
        raise RuntimeError("not today")

    item = only(identify(SimpleNamespace(rms_norm=rms_norm)), "rms_norm_gain")
    assert (item.told, item.evidence) == ("untold", ())
    assert "not today" in item.reason


def test_an_operation_without_the_keyword_is_not_asked() -> None:
    item = only(identify(plain(blhd)), "empty_row")
    assert (item.how, item.told, item.evidence) == ("standard", "untold", ())
    assert item.reason == "the operation has no mask"


def test_a_nan_that_is_refused_tells_nothing() -> None:
    def careful(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
        if np.isnan(key).any():
            raise ValueError("no NaN, please")
        return np.asarray(attention()(query, key, value, mask=mask))

    item = only(identify(plain(careful)), "masked_nonfinite")
    assert item.told == "untold"
    assert "no NaN, please" in item.reason


def test_nothing_about_masks_is_told_where_the_mask_is_upside_down() -> None:
    found = identify(plain(upside_down))
    assert {only(found, name).told for name in ("empty_row", "masked_nonfinite")} == {"untold"}


def test_later_questions_obey_what_was_found_and_not_what_was_wrongly_declared() -> None:
    def transposed(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
        swapped = (array.swapaxes(1, 2) for array in (query, key, value))
        return np.asarray(attention(empty_row="nan")(*swapped, mask=mask)).swapaxes(1, 2)

    found = identify(plain(transposed, conventions={"layout": "bhld"}))
    assert only(found, "layout").told == "contradicted"
    assert (only(found, "empty_row").value, only(found, "empty_row").told) == ("nan", "told")


@pytest.mark.parametrize("alignment", ("top_left", "bottom_right"))
def test_the_alignment_of_weights_is_found_where_a_query_sees_one_key(alignment: Any) -> None:
    def attention_weights(query: Array, key: Array, *, is_causal: bool = False) -> Array:
        weights = reference.attention_weights(query, key, is_causal=is_causal, causal_alignment=alignment)
        return weights.astype(query.dtype)

    item = only(identify(SimpleNamespace(attention_weights=attention_weights)), "causal_alignment")
    assert (item.value, item.told) == (alignment, "told")


@pytest.mark.parametrize("name", ("numpy", "torch"))
def test_a_built_in_implementation_obeys_what_it_declares(name: str) -> None:
    found = identify(name)
    assert (found.contradicted, found.exit_status) == ((), 0)
    assert not [item for item in found.conventions if item.told == "mistake"]
    assert {item.told for item in found.conventions if item.operation == PLAIN and item.evidence} >= {"told"}


@pytest.mark.parametrize("name", ("numpy", "torch"))
def test_the_values_are_those_of_a_check(name: str) -> None:
    implementation = load(name)
    chosen = (PLAIN, GROUPED, "multi_head_attention", "gelu", "rms_norm", "scaled_dot_product_attention_backward")
    found = identify(implementation, [operation for operation in chosen if implementation.declares(operation)])
    findings = {name: examine(implementation, OPERATIONS[name]).findings for name in found.operations}
    assert any(findings.values())
    for operation, of_operation in findings.items():
        for finding in of_operation:
            assert found.value(finding.convention, operation) == finding.value


def test_a_derived_operation_has_the_answers_of_its_origin() -> None:
    found = identify("torch", (PLAIN, "scaled_dot_product_attention_backward"), conventions=("empty_row",))
    of_origin, derived = found.conventions
    assert (of_origin.value, of_origin.evidence) == (derived.value, derived.evidence)


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean gelu"):
        identify("numpy", ("gelou",))
    with pytest.raises(UnknownName, match="did you mean gelu_form"):
        identify("numpy", conventions=("gelu_fom",))
    with pytest.raises(LoadError):
        identify(SimpleNamespace())
