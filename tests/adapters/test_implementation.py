"""What the signatures of an implementation tell."""

from __future__ import annotations

from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.loading import load


def declaring(**attributes):
    return load(SimpleNamespace(**attributes))


def attention(q, k, v, *, mask=None, is_causal=False, block_size=None, dropout=0.0):
    return q


def test_declares():
    found = declaring(layer_norm=attention)
    assert found.declares("layer_norm")
    assert not found.declares("softmax")


def test_features_are_the_optional_keywords_in_the_signature():
    found = declaring(scaled_dot_product_attention=attention)
    assert found.features("scaled_dot_product_attention") == {"mask", "is_causal"}


def test_catch_all_keywords_declare_nothing():
    found = declaring(scaled_dot_product_attention=lambda q, k, v, **kwargs: q)
    assert found.features("scaled_dot_product_attention") == frozenset()
    assert found.misspelt_keywords("scaled_dot_product_attention") == ()


def test_features_by_position_or_keyword_but_not_by_position_only():
    def sdpa(q, k, v, mask=None):
        return q

    def positional_only(q, k, v, mask=None, /, scale=None):
        return q

    assert declaring(scaled_dot_product_attention=sdpa).features("scaled_dot_product_attention") == {"mask"}
    found = declaring(scaled_dot_product_attention=positional_only)
    assert found.features("scaled_dot_product_attention") == {"scale"}


def test_required_keywords_are_no_features():
    found = declaring(multi_head_attention=lambda x, context, weights, *, num_heads, mask=None: x)
    assert found.features("multi_head_attention") == {"mask"}


def test_features_of_partials_methods_and_what_has_no_signature():
    class Mine:
        def scaled_dot_product_attention(self, query, key, value, scale=None):
            return query

    assert load(Mine()).features("scaled_dot_product_attention") == {"scale"}
    found = declaring(scaled_dot_product_attention=partial(attention, is_causal=True), softmax=max)
    assert found.features("scaled_dot_product_attention") == {"mask", "is_causal"}
    assert found.features("softmax") == frozenset()
    assert found.misspelt_keywords("softmax") == ()


def test_features_of_a_torch_module_are_those_of_forward():
    torch = pytest.importorskip("torch")

    class Attention(torch.nn.Module):
        def forward(self, query, key, value, mask=None):
            return query

    found = declaring(framework="torch", scaled_dot_product_attention=Attention())
    assert found.features("scaled_dot_product_attention") == {"mask"}


def test_misspelt_keywords():
    def sdpa(q, k, v, *, maks=None, is_casual=False, scales=None, bias=None, tracer=None):
        return q

    found = declaring(scaled_dot_product_attention=sdpa)
    pairs = (("maks", "mask"), ("is_casual", "is_causal"), ("scales", "scale"))
    assert found.misspelt_keywords("scaled_dot_product_attention") == pairs


def test_what_is_not_misspelt():
    found = declaring(scaled_dot_product_attention=attention, layer_norm=lambda x, gain, shift, eps: x)
    assert found.misspelt_keywords("scaled_dot_product_attention") == ()
    assert found.misspelt_keywords("layer_norm") == ()

    def both(q, k, v, mask=None, masks=None):
        return q

    assert declaring(scaled_dot_product_attention=both).misspelt_keywords("scaled_dot_product_attention") == ()


def test_misspelt_required_keyword():
    found = declaring(multi_head_attention=lambda x, c, w, *, num_head, mask=None: x)
    assert found.misspelt_keywords("multi_head_attention") == (("num_head", "num_heads"),)


def test_notices_about_names_and_keywords():
    def sdpa(q, k, v, attn_mask=None, is_casual=False):
        return q

    found = declaring(
        softmax=abs, scaled_dot_product_atention=abs, log_softmax=abs, softmax_=abs, grouped_query_attention=sdpa
    )
    assert set(found.notices) == {
        "scaled_dot_product_atention is not an operation; did you mean scaled_dot_product_attention?",
        "grouped_query_attention has the keyword attn_mask, which is not in its interface; did you mean mask?",
        "grouped_query_attention has the keyword is_casual, which is not in its interface; did you mean is_causal?",
    }
    assert found.misspelt_keywords("grouped_query_attention") == (("is_casual", "is_causal"),)


def test_notice_about_an_operation_that_was_only_imported():
    functional = pytest.importorskip("torch").nn.functional
    module = ModuleType("mine")
    module.framework = "torch"
    module.softmax = functional.softmax
    assert load(module).notices == (
        "softmax was imported from torch.nn.functional and is tested as the implementation's own; "
        "import it under another name if that is not intended",
    )


def test_notice_about_a_framework_that_is_used_but_not_declared():
    module = ModuleType("mine")
    module.softmax = abs
    module.np = np
    assert load(module).notices == ()
    module.F = pytest.importorskip("torch").nn.functional
    assert load(module).notices == (
        "framework is not declared, so the operations are given numpy arrays; torch is imported: "
        'if they take its arrays, add framework = "torch"',
    )
    module.framework = "numpy"
    assert load(module).notices == ()


def test_the_operation_own_convention_overrides_the_general_one():
    found = declaring(
        softmax=abs,
        conventions={
            "mask_polarity": "true_attends",
            "multi_head_attention.mask_polarity": "true_is_masked",
            "layer_norm.layer_norm_eps": "inside_root",
        },
    )
    assert found.declared_convention("mask_polarity", "multi_head_attention") == "true_is_masked"
    assert found.declared_convention("mask_polarity", "attention_weights") == "true_attends"
    assert found.declared_convention("layer_norm_eps", "softmax") is None


def test_limited():
    found = declaring(softmax=abs, limitations=("grouped_query_attention.value_width",))
    assert found.limited("grouped_query_attention", "value_width")
    assert not found.limited("scaled_dot_product_attention", "value_width")
    assert declaring(softmax=abs, limitations=("value_width",)).limited("scaled_dot_product_attention", "value_width")


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_the_built_in_implementations_give_no_notice(name):
    found = load(name)
    assert found.notices == ()
    assert all(found.misspelt_keywords(operation) == () for operation in found.operations)
