"""The log-sum-exp that an attention returns besides its output: told from other numbers of each query and head."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation

Loaded = Callable[..., Implementation]
IT = "its second result is the log-sum-exp of its logits"
NOT = "its second result is not the log-sum-exp of its logits"
CAUSAL = "if is_causal:\n        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -math.inf)"
TEXT = """
import math

import torch


def flash(q, k, v{parameters}):
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    {mask}
    m = s.amax(-1)
    p = torch.exp(s - m[..., None])
    l = p.sum(-1)
    {name} = {value}
    return (p / l[..., None]) @ v, {returned}
"""


def attention(value: str, name: str = "lse", returned: str = "", parameters: str = "", mask: str = "pass") -> str:
    """Return the text of a right attention with another result besides."""
    return TEXT.format(value=value, name=name, returned=returned or name, parameters=parameters, mask=mask)


@pytest.mark.parametrize(
    ("value", "said"),
    (
        ("m + l.log()", IT),
        ("(m + l.log()) / math.log(2)", f"{IT} to the base of 2"),
        ("l.log()", f"{NOT}: it lacks the maximum"),
        ("torch.log2(l)", f"{NOT}: it lacks the maximum that was subtracted, and is to the base of 2"),
        ("m / math.log(2) + l.log()", f"{NOT}: it adds a maximum to the base of 2"),
        ("m + torch.log2(l)", f"{NOT}: it adds a natural maximum to a logarithm to the base of 2"),
        ("(q @ k.transpose(-1, -2)).logsumexp(-1)", f"{NOT}: it is that of logits without the scale"),
        ("m + l", f"{NOT}: it adds the maximum to the sum, without a logarithm"),
        ("l.log() - m", f"{NOT}: it subtracts the maximum"),
        ("s.exp().sum(-1).log()", f"{NOT} where these are large: it overflows"),
        ("m + l.log() + 0.3", NOT),
    ),
)
def test_what_is_called_a_log_sum_exp_is_told_apart(loaded: Loaded, value: str, said: str) -> None:
    (notice,) = loaded(attention(value)).notices
    assert said in notice
    assert (NOT in notice) == said.startswith(NOT)


@pytest.mark.parametrize("returned", ("x", "x.transpose(1, 2)"))
def test_it_is_known_by_its_values_whatever_it_is_called(loaded: Loaded, returned: str) -> None:
    (notice,) = loaded(attention("m + l.log()", "x", returned)).notices
    assert IT in notice


def test_one_that_is_called_l_is_held_to_it(loaded: Loaded) -> None:
    (notice,) = loaded(attention("l.log()", "L")).notices
    assert f"{NOT}: it lacks the maximum" in notice


def test_a_maximum_and_a_sum_are_no_wrong_log_sum_exp(loaded: Loaded) -> None:
    (notice,) = loaded(attention("m + l.log()", returned="m, l")).notices
    assert "log-sum-exp" not in notice and "what else it returns is not judged" in notice
    (notice,) = loaded(attention("m + l.log()", returned="m, l, lse")).notices
    assert "its fourth result is the log-sum-exp of its logits" in notice


def test_the_keys_that_the_causal_mask_hides_do_not_count(loaded: Loaded) -> None:
    (notice,) = loaded(attention("m + l.log()", parameters=", is_causal=False", mask=CAUSAL)).notices
    assert IT in notice
    of_all = "(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).logsumexp(-1)"
    (notice,) = loaded(attention(of_all, parameters=", is_causal=False", mask=CAUSAL)).notices
    assert f"{NOT}: it counts the keys that are hidden (with the causal mask)" in notice


def test_it_is_known_where_each_head_is_a_call(loaded: Loaded) -> None:
    text = attention("m + l.log()").replace("q @ k.transpose(-1, -2)", "torch.einsum('ld,sd->ls', q, k)")
    (notice,) = loaded(text).notices
    assert "(L, D), one head" in notice and IT in notice
    (notice,) = loaded(text.replace("m + l.log()", "l.log()")).notices
    assert f"{NOT}: it lacks the maximum" in notice
