"""Attention, its masks, parts and other results, and what else is said of functions as people write them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from veriformer.conformance_tests import check

TORCH = "import torch\nimport math\n"


@pytest.mark.parametrize("repeated", ["repeat_interleave(n, 1)", "repeat(1, n, 1, 1)"])
def test_a_function_called_grouped_is_judged_with_fewer_heads_of_keys(loaded, repeated):
    text = f"""
def grouped_attention(q, k, v):
    n = q.shape[1] // k.shape[1]
    k, v = k.{repeated}, v.{repeated}
    return ((q @ k.mT) / q.shape[-1] ** 0.5).softmax(-1) @ v
"""
    found = loaded(TORCH + text)
    assert found.taken_as == {"grouped_attention": "grouped_query_attention"}
    assert not any("did you mean" in notice for notice in found.notices)
    assert ("its results fit none" in found.notices[0]) == ("repeat(1" in repeated)


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("scores = scores if attn_mask is None else scores + attn_mask.to(scores)", True),
        (
            "scores = scores if attn_mask is None else scores.masked_fill(~attn_mask, -math.inf) "
            "if attn_mask.dtype is torch.bool else scores + attn_mask",
            False,
        ),
    ],
)
def test_a_boolean_mask_that_is_added_is_said_where_torchs_names_promise_one(loaded, attention, mask, said):
    text = attention(signature="q, k, v, attn_mask=None, is_causal=False", mask=mask)
    text = text.replace(
        "    weights",
        "    scores = scores + scores.new_full(scores.shape[-2:], -math.inf).triu(1) "
        "if is_causal else scores\n    weights",
    )
    assert ("a boolean one is added as 0 and 1" in loaded(text).notices[0]) == said


@pytest.mark.parametrize("number", ["1e9", "10000.0"])
def test_a_finite_number_that_is_added_leaves_empty_rows_without_a_result(loaded, attention, number):
    mask = f"scores = scores if mask is None else scores + (1.0 - mask) * -{number}"
    found = loaded(attention(mask=mask))
    assert "1 may be attended, 0 is hidden; a row that sees no key has no result of its own" in found.notices[0]
    assert found.limited("scaled_dot_product_attention", "empty_rows")


def test_a_program_with_a_finite_number_added_is_not_accused_for_rows_that_see_nothing(loaded, attention):
    mask = "scores = scores if mask is None else scores + (1.0 - mask) * -1e9"
    report = check(loaded(attention(mask=mask)), laws="attention.mask.*", tier="quick")
    statuses = {one.law.id: one.status for one in report.results}
    assert report.exit_status == 0 and statuses["attention.mask.empty_row"] == "not_declared"


@pytest.mark.parametrize("signature", ["q, k, v, mask=None", "q, k, v, mask"])
def test_a_function_with_a_mask_of_one_length_is_given_all_queries(loaded, attention, signature):
    """What depends on the number of queries shows, so that a scale by the length is named."""
    mask = "scores = scores if mask is None else scores.masked_fill(~mask[:, None, None, :], -math.inf)"
    text = attention(signature=signature, mask=mask).replace("q.shape[-1]", "q.shape[-2]")
    found = loaded(text)
    assert "(B, S), True may be attended" in found.notices[0]
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 4, generator=generator) for _ in range(3))
    visible = torch.rand(2, 3, 5, 5, generator=generator) < 0.6
    visible[..., 0] = True
    got = found.operations["scaled_dot_product_attention"](query, key, value, mask=visible)
    scores = (query @ key.mT / 5**0.5).masked_fill(~visible, -math.inf)
    torch.testing.assert_close(got, scores.softmax(-1) @ value)


def test_a_soft_cap_whose_own_way_to_have_none_is_none(loaded, attention):
    cap = "scores = scores if softcap is None else torch.tanh(scores / softcap) * softcap"
    found = loaded(attention(signature="q, k, v, softcap=None", mask=cap))
    query, key, value = (torch.randn(1, 2, 3, 4) for _ in range(3))
    off = found.operations["scaled_dot_product_attention"](query, key, value, softcap=0.0)
    torch.testing.assert_close(off, torch.nn.functional.scaled_dot_product_attention(query, key, value))


def test_a_softmax_with_a_mask_is_judged_as_the_weights_that_it_makes(loaded):
    text = "def masked_softmax(scores, valid):\n    e = np.exp(scores - scores.max(-1, keepdims=True)) * valid\n"
    for total, is_right in (("e.sum(-1, keepdims=True)", True), ("np.exp(scores).sum(-1, keepdims=True)", False)):
        found = loaded(f"import numpy as np\n{text}    return e / {total}\n")
        assert found.taken_as == {"masked_softmax": "attention_weights"}
        query, key = np.ones((1, 1, 1, 4)), np.ones((1, 1, 2, 4))
        weights = found.operations["attention_weights"](query, key, mask=np.array([[True, False]]))
        assert np.allclose(weights, [[[[1.0, 0.0]]]]) == is_right


def test_the_number_of_query_heads_for_each_key_head_is_known(loaded):
    text = """
def gqa_forward(q, k, v, n_rep):
    k, v = k.repeat_interleave(n_rep, 1), v.repeat_interleave(n_rep, 1)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
"""
    assert "its results fit none" not in loaded(TORCH + text).notices[0]


def test_the_size_of_the_vocabulary_is_known(loaded):
    text = """
def ForCausalLMLoss(logits, labels, vocab_size):
    logits, labels = logits[:, :-1].reshape(-1, vocab_size), labels[:, 1:].reshape(-1)
    return torch.nn.functional.cross_entropy(logits, labels)
"""
    assert loaded(TORCH + text).taken_as == {"ForCausalLMLoss": "next_token_loss"}


PARTS = """
def flash_attention(q, k, v, block_size={size}):
    total, most, out = 0.0, torch.full((*q.shape[:-1], 1), -math.inf), torch.zeros(*q.shape[:-1], v.shape[-1])
    for keys, values in zip(k.split(block_size, -2), v.split(block_size, -2)):
        scores = q @ keys.mT / q.shape[-1] ** 0.5
        new = torch.maximum(most, scores.amax(-1, keepdim=True))
        weights = torch.exp(scores - new)
        total = total * torch.exp(most - new) + weights.sum(-1, keepdim=True)
        out, most = out{rescaled} + weights @ values, new
    return out / total
"""


@pytest.mark.parametrize("size", [2, 64])
def test_parts_are_put_together_however_large_they_are_by_default(loaded, size):
    """With the function's own 64 keys in a part, short sequences would not show that nothing is rescaled."""
    right = loaded(TORCH + PARTS.format(size=size, rescaled=" * torch.exp(most - new)"))
    assert "its results fit none" not in right.notices[0] and ("`block_size` is 4" in right.notices[0]) == (size == 64)
    assert "its results fit none" in loaded(TORCH + PARTS.format(size=size, rescaled="")).notices[0]


def test_parts_that_must_divide_the_number_of_keys(loaded):
    text = PARTS.format(size=64, rescaled=" * torch.exp(most - new)")
    text = text.replace("    total, most", "    assert k.shape[-2] % block_size == 0\n    total, most")
    notice = loaded(TORCH + text).notices[0]
    assert "`block_size` so that there are few equal parts" in notice and "its results fit none" not in notice


@pytest.mark.parametrize(
    ("shapes", "words"), [("bhd,bhsd->bhs", "(B, H, D), one query"), ("hd,hsd->hs", "(H, D), one query")]
)
def test_a_single_query_without_an_axis(loaded, shapes, words):
    text = f"""
def decode_attention(q, k, v):
    weights = (torch.einsum("{shapes}", q, k) / q.shape[-1] ** 0.5).softmax(-1)
    return (weights[..., None] * v).sum(-2)
"""
    assert words in loaded(TORCH + text).notices[0]


def test_a_norm_that_is_right_with_two_axes_alone_is_said_to_be(loaded):
    text = "def rms_norm(x, gamma):\n    return x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * gamma\n"
    assert "arrays with more axes get other results" in loaded("import numpy as np\n" + text).notices[0]


def test_a_window_that_hides_nothing_however_narrow_it_is_is_judged(loaded, attention):
    text = attention(
        "local_causal_attention",
        "q, k, v, window=128",
        "i, j = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])\n"
        "    scores = scores.masked_fill(~((j <= i) & (j - i < window)), -math.inf)",
    )
    assert "`window`: the keys to the left" in loaded(text).notices[0]


@pytest.mark.parametrize(("lse", "said"), [("most + total.log()", "is the"), ("total.log()", "is not the")])
def test_a_log_sum_exp_that_is_returned_besides_is_looked_at(loaded, lse, said):
    text = f"""
def block_attention(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    most = scores.amax(-1, keepdim=True)
    total = torch.exp(scores - most).sum(-1, keepdim=True)
    lse = {lse}
    return (torch.exp(scores - most) / total) @ v, lse.squeeze(-1)
"""
    assert f"its second result {said} log-sum-exp of its logits" in loaded(TORCH + text).notices[0]


def test_padding_that_hides_queries_is_found_where_lengths_are_equal(loaded, attention):
    right = "scores = scores if mask is None else scores.masked_fill(mask[:, None, None, :], -math.inf)"
    assert loaded(attention(mask=right)).declares("scaled_dot_product_attention")
    found = loaded(attention(mask=right.replace("None, None, :]", "None, :, None]")))
    assert "mask" in found.features("scaled_dot_product_attention")
    assert found.limited("scaled_dot_product_attention", "unequal_lengths")
    assert check(found, laws=["attention.mask.no_share", "attention.mask.masked_content"]).counts["failed"] == 2


@pytest.mark.parametrize("name", ["mask", "attn_mask", "key_padding_mask"])
def test_a_mask_that_no_form_answers_to_is_said_not_to_be_given(loaded, attention, name):
    mask = f"assert {name} is None, 'never reached'"
    assert f"`{name}` not given" in loaded(attention(signature=f"q, k, v, {name}=None", mask=mask)).notices[0]


def test_an_attention_of_equal_lengths_is_not_accused_for_rows_that_see_no_key(loaded, attention):
    mask = "scores = scores if mask is None else scores.masked_fill(mask == 0, -math.inf)"
    mask = f"assert q.shape[-2] == k.shape[-2]\n    {mask}"
    report = check(loaded(attention(mask=mask)), laws=["attention.mask.*", "attention_backward.mask.*"])
    assert report.exit_status == 0, report.text()
    assert report.conventions["empty_row"] == "nan"


@pytest.mark.parametrize("diagonal", [1, 0])
def test_a_causal_flag_that_works_for_equal_lengths_alone_is_judged(loaded, attention, diagonal):
    mask = f"""t = scores.shape[-1]
    scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu({diagonal}), -math.inf) if causal else scores"""
    found = loaded(attention(signature="q, k, v, causal=False", mask=mask))
    assert "is_causal" in found.features("scaled_dot_product_attention")
    report = check(found)
    assert sum(one.law.id.startswith("attention.causal.") and one.cases > 0 for one in report.results) == 3
    assert report.exit_status == (0 if diagonal else 1)
    if not diagonal:
        assert [one.suspects[0].mistakes for one in report.diagnoses] == [("causal_mask_excludes_self",)]


def test_a_keyword_that_no_call_answers_to_is_named(loaded, attention):
    text = attention(signature="q, k, v, causal=False", mask="assert not causal, 'not written yet'")
    found = loaded(text)
    assert "is_causal" not in found.features("scaled_dot_product_attention")
    assert "`causal` not given" in found.notices[0]
