"""Programs that have one value of a choice: what they lack is not offered, and nothing else is held against them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

REFERENCE = load("numpy").operations


def attention_without_biases(x, context, weights, *, num_heads, mask=None, is_causal=False):
    """Read no bias at all."""
    matrices = {name: getattr(weights, name) for name in ("w_q", "w_k", "w_v", "w_o")}
    plain = reference.MultiHeadWeights(**matrices)
    result = reference.multi_head_attention(x, context, plain, num_heads=num_heads, mask=mask, is_causal=is_causal)
    return result.astype(x.dtype)


def attention_that_refuses_biases(x, context, weights, *, num_heads, mask=None, is_causal=False):
    if weights.b_q is not None:
        raise ValueError("biases are not supported")
    return attention_without_biases(x, context, weights, num_heads=num_heads, mask=mask, is_causal=is_causal)


def attention_of_x_alone(x, context, weights, *, num_heads, mask=None, is_causal=False):
    if context is not x:
        raise NotImplementedError("self-attention only")
    return REFERENCE["multi_head_attention"](x, x, weights, num_heads=num_heads, mask=mask, is_causal=is_causal)


def block(**fixed: Any) -> Any:
    """Return an encoder layer that raises for anything else than what is fixed."""

    def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
        asked = {"norm_first": norm_first, "activation": activation, "eps": eps}
        asked |= {"biases": weights.self_attention.b_q is not None}
        asked |= {"d_ff": weights.feed_forward.w_1.shape[1] // x.shape[-1]}
        exact = weights.feed_forward.w_1.shape[1] % x.shape[-1] == 0
        if any(asked[name] != value for name, value in fixed.items()) or ("d_ff" in fixed and not exact):
            raise ValueError(f"this block is {fixed}")
        return REFERENCE["encoder_layer"](
            x, weights, num_heads=num_heads, norm_first=norm_first, activation=activation, eps=eps,
            padding_mask=padding_mask,
        )  # fmt: skip

    return encoder_layer


def pre_norm_whatever_is_asked(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    return REFERENCE["encoder_layer"](
        x, weights, num_heads=num_heads, norm_first=True, activation=activation, eps=eps, padding_mask=padding_mask
    )


def normed_with_one_eps(x, gamma, beta, *, eps):
    return REFERENCE["layer_norm"](x, gamma, beta, eps=1e-6)


def norm_of_one_eps(x, gamma, beta, *, eps):
    if eps != 1e-3:
        raise ValueError("eps is 1e-3 here")
    return REFERENCE["layer_norm"](x, gamma, beta, eps=eps)


def refusing_other_hidden_widths(x, weights, *, activation):
    if weights.w_1.shape[1] != 4 * x.shape[-1]:
        raise ValueError("the hidden width is 4·E")
    return REFERENCE["feed_forward"](x, weights, activation=activation)


def checked(target: SimpleNamespace, **settings: Any) -> Any:
    return check(target, tier="quick", diagnosis=False, **settings)


def broken(report: Any) -> list[tuple[str, str]]:
    return [(result.law.id, result.status) for result in report.results if result.status in ("failed", "error")]


DECLARED = [
    ({"multi_head_attention": attention_that_refuses_biases}, ("biases",)),
    ({"multi_head_attention": attention_without_biases}, ("biases",)),
    ({"multi_head_attention": attention_of_x_alone}, ("context",)),
    ({"encoder_layer": block(norm_first=True, activation="gelu", biases=True)}, ("norm_first", "activation", "biases")),
    ({"encoder_layer": block(norm_first=False, eps=1e-6, d_ff=4)}, ("norm_first", "eps", "d_ff")),
    ({"encoder_layer": pre_norm_whatever_is_asked}, ("norm_first",)),
    ({"layer_norm": normed_with_one_eps}, ("layer_norm.eps",)),
    ({"layer_norm": norm_of_one_eps}, ("eps",)),
    ({"feed_forward": refusing_other_hidden_widths}, ("d_ff",)),
]


@pytest.mark.parametrize(("operations", "limitations"), DECLARED)
def test_what_is_declared_conforms(operations, limitations):
    report = checked(SimpleNamespace(**operations, limitations=limitations))
    assert broken(report) == []
    assert report.exit_status == 0
    (operation,) = operations
    assert not any(notice.startswith(f"{operation} refuses") for notice in report.notices)
    assert sum(result.status == "passed" for result in report.results) >= 8


ERRORS = [
    ({"multi_head_attention": attention_that_refuses_biases}, [], "multi_head_attention refuses biases"),
    (
        {"encoder_layer": block(norm_first=True)},
        ["encoder_layer.post_norm.value"],
        "encoder_layer refuses norm_first=False",
    ),
    ({"encoder_layer": block(activation="gelu")}, [], "encoder_layer refuses activation='relu'"),
    ({"encoder_layer": block(d_ff=4)}, [], "encoder_layer refuses F other than 4·E"),
    ({"layer_norm": norm_of_one_eps}, [], "layer_norm refuses eps other than 0.001"),
]


@pytest.mark.parametrize(("operations", "laws", "sentence"), ERRORS)
def test_undeclared_it_is_the_error_of_the_law_about_it_or_a_notice(operations, laws, sentence):
    report = checked(SimpleNamespace(**operations))
    errors = [result for result in report.results if result.status in ("failed", "error")]
    assert len(errors) <= 1
    said = [result.reason for result in errors] + [notice for notice in report.notices if "tried with" in notice]
    assert any(text.startswith(sentence) for text in said), said
    if laws:
        assert [result.law.id for result in errors] == laws


def test_a_choice_that_is_ignored_undeclared_is_wrong():
    report = checked(SimpleNamespace(encoder_layer=pre_norm_whatever_is_asked), laws=("encoder_layer.post_norm.*",))
    assert ("encoder_layer.post_norm.value", "failed") in broken(report)
    report = checked(SimpleNamespace(multi_head_attention=attention_without_biases), laws=("multi_head.*",))
    assert any(status == "failed" for _, status in broken(report))


def test_laws_about_what_is_not_offered_are_not_declared():
    target = SimpleNamespace(encoder_layer=block(norm_first=True), limitations=("norm_first",))
    results = checked(target, laws=("encoder_layer.post_norm.*", "encoder_layer.pre_norm.value")).results
    statuses = {result.law.id: (result.status, result.reason) for result in results}
    assert statuses.pop("encoder_layer.pre_norm.value") == ("passed", "")
    assert set(statuses.values()) == {("not_declared", "encoder_layer refuses norm_first=False")}


def test_a_correct_mistake_in_what_is_offered_is_still_found():
    def encoder_layer(x, weights, **settings: Any) -> np.ndarray:
        return (block(norm_first=True)(x, weights, **settings) * 1.01).astype(x.dtype)

    def with_signature(x, weights, *, num_heads, norm_first, activation, eps):
        return encoder_layer(x, weights, num_heads=num_heads, norm_first=norm_first, activation=activation, eps=eps)

    target = SimpleNamespace(encoder_layer=with_signature, limitations=("norm_first",))
    assert ("encoder_layer.pre_norm.value", "failed") in broken(checked(target, laws=("encoder_layer.pre_norm.*",)))
