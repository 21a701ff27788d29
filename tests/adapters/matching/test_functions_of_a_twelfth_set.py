"""Functions of a twelfth set of strangers: what was accused though right, and what passed though wrong."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from veriformer import check
from veriformer.adapters.capture.guessed_sizes import guessed_arguments, words_of_guesses
from veriformer.adapters.matching import chunks
from veriformer.adapters.matching.forms import KEY_LENGTH, Form
from veriformer.adapters.matching.modules import functions_of_classes
from veriformer.adapters.matching.sources import Taken
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.cases import cases


def failed(report: Any) -> set[str]:
    return {one.law.id for one in report.results if one.status in ("failed", "error")}


# Queries and keys are turned by their places, without positions.
def turned_by_place(x: Any, base: float) -> Any:
    rates = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float32) / x.shape[-1])
    angles = (torch.arange(x.shape[1])[:, None] * rates)[:, None]
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def apply_rope(q: Any, k: Any, base: float = 10000.0) -> Any:
    return turned_by_place(q, base), turned_by_place(k, base)


def apply_rope_to_queries(q: Any, k: Any, base: float = 10000.0) -> Any:
    return turned_by_place(q, base), k


def test_keys_that_are_turned_are_no_positions() -> None:
    assert not failed(check({"apply_rope": apply_rope}, tier="quick"))
    # The result that is not turned is the one that is judged: it breaks no law of angles but the values.
    assert "rotary.value" in failed(check({"apply_rope": apply_rope_to_queries}, tier="quick"))


# A softmax along any axis, and its backward pass, which is handed the axis with what was kept.
def softmax_forward(x: Any, axis: int = -1) -> Any:
    raised = np.exp(x - x.max(axis=axis, keepdims=True))
    shares = raised / raised.sum(axis=axis, keepdims=True)
    return shares, (shares, axis)


def softmax_backward(dy: Any, cache: Any) -> Any:
    shares, axis = cache
    return shares * (dy - (dy * shares).sum(axis=axis, keepdims=True))


def backward_along_the_last(dy: Any, cache: Any) -> Any:
    shares, _ = cache
    return shares * (dy - (dy * shares).sum(axis=-1, keepdims=True))


def test_a_backward_pass_is_asked_along_the_axis_of_its_forward_pass() -> None:
    right = {"softmax_forward": softmax_forward, "softmax_backward": softmax_backward}
    assert not failed(check(right, tier="quick"))
    wrong = {**right, "softmax_backward": backward_along_the_last}
    assert "softmax_backward.grad_x" in failed(check(wrong, tier="quick"))


# A softmax along any axis, whose backward pass is for the last one.
def softmax(x: Any, axis: int = -1) -> Any:
    raised = np.exp(x - x.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def backward_of_last(dy: Any, y: Any) -> Any:
    return y * (dy - (dy * y).sum(axis=-1, keepdims=True))


def backward_over_rows(dy: Any, y: Any) -> Any:
    return y * (dy - (dy * y).sum(axis=0, keepdims=True))


def test_a_backward_pass_that_is_not_told_the_axis_has_its_own() -> None:
    right = {"softmax": softmax, "softmax_backward": backward_of_last}
    assert not failed(check(right, tier="quick"))
    wrong = {**right, "softmax_backward": backward_over_rows}
    assert "softmax_backward.grad_x" in failed(check(wrong, tier="quick"))


# A loss by an operation's name, whose padding has another name and another default.
def next_token_loss(logits: Any, tokens: Any, pad_id: int = 0) -> Any:
    return cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad_id)


def test_a_default_is_not_the_interfaces_where_the_name_is_another() -> None:
    report = check({"next_token_loss": next_token_loss}, framework="torch", tier="quick")
    assert not failed(report)
    assert any(one.law.id.startswith("next_token_loss.") and one.status == "passed" for one in report.results)


# Masks that hide padding have axes for heads and queries.
def padding_mask(lengths: Any, max_len: Any = None) -> Any:
    longest = int(np.max(lengths)) if max_len is None else max_len
    return (np.arange(longest)[None, :] < np.asarray(lengths)[:, None])[:, None, None, :]


def causal_mask(q_len: int, k_len: Any = None) -> Any:
    """With k_len > q_len the queries are the last q_len positions."""
    k_len = q_len if k_len is None else k_len
    return np.tril(np.ones((q_len, k_len), dtype=bool), k=k_len - q_len)


def from_the_left(q_len: int, k_len: Any = None) -> Any:
    """With k_len > q_len the queries are the last q_len positions."""
    return np.tril(np.ones((q_len, q_len if k_len is None else k_len), dtype=bool))


def test_axes_of_one_are_left_out_of_a_mask() -> None:
    report = check({"padding_mask": padding_mask}, tier="quick")
    assert not failed(report)
    assert any(one.law.id == "padding_mask.value" and one.status == "passed" for one in report.results)


def test_a_mask_is_held_to_the_alignment_that_it_documents() -> None:
    assert not failed(check({"causal_mask": causal_mask}, tier="quick"))
    assert "causal_mask.value" in failed(check({"causal_mask": from_the_left}, tier="quick"))


def test_as_many_queries_as_keys_are_drawn_for_what_takes_no_others() -> None:
    limits = Limits("scaled_dot_product_attention", ("float32",), frozenset(), compiles_per_shape=True)
    free, equal = (cases(AttentionSpace(), one) for one in (limits, replace(limits, equal_lengths=True)))
    random = Random(0)
    of_free, of_equal = ([choice.sample(random) for _ in range(20)] for choice in (free, equal))
    assert all(one.query_length == one.key_length for one in of_equal)
    assert any(one.query_length != one.key_length for one in of_free)


# Classes whose first axis is that of positions.
class PositionalEncoding(nn.Module):
    """Sines and cosines that are added to (L, B, E)."""

    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        angles = torch.arange(max_len)[:, None] * rates
        self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, None, :d_model])

    def forward(self, x: Any) -> Any:
        return x + self.pe[: x.size(0)]


class InPlace(PositionalEncoding):
    """The same, which changes what it is given."""

    def forward(self, x: Any) -> Any:
        x += self.pe[: x.size(0)]
        return x


class LearnedPositions(nn.Module):
    """A table that is added to (L, B, E)."""

    def __init__(self, max_len: int = 32, d_model: int = 24) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model))

    def forward(self, x: Any) -> Any:
        return x + self.table[: x.size(0), None]


def test_the_axis_along_which_positions_are_added_is_that_of_positions() -> None:
    assert not failed(check(LearnedPositions()))
    assert failed(check(InPlace(24))) == {"model.inputs_unchanged"}
    assert not failed(check(PositionalEncoding(24)))


def test_a_class_of_sines_is_a_table_along_its_first_axis() -> None:
    functions, _ = functions_of_classes(sys.modules[__name__], ["PositionalEncoding", "InPlace"])
    table = functions["PositionalEncoding"]
    assert table.said == ("the first axis is that of positions, (L, B, E)",)
    assert np.allclose(table(5, 6)[:, 0].numpy(), np.sin(np.arange(5.0)))
    assert "InPlace" not in functions


# A norm whose width is that of a configuration, which has no default.
@dataclass(frozen=True)
class NormConfig:
    """What a norm is built with."""

    dim: int
    eps: float = 1e-6
    unit_offset: bool = False


class RMSNorm(nn.Module):
    """A norm of vectors of the configured width."""

    def __init__(self, cfg: NormConfig) -> None:
        super().__init__()
        self.cfg, self.weight = cfg, nn.Parameter(torch.ones(cfg.dim))

    def forward(self, x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.cfg.eps) * self.weight


def test_the_width_of_a_configuration_is_guessed_and_set() -> None:
    norm = functions_of_classes(sys.modules[__name__], ["RMSNorm"])[0]["RMSNorm"]
    x, gain = torch.randn(2, 3, 5), torch.randn(5)
    expected = torch.nn.functional.rms_norm(x, (5,), gain, 1e-6)
    assert torch.allclose(norm(x, gamma=gain), expected, atol=1e-5)
    assert "dim=24" in words_of_guesses("RMSNorm", guessed_arguments(RMSNorm, inspect.signature(RMSNorm), ["cfg"]))


# Losses of next tokens that are handed which tokens are padding.
def lm_loss(logits: Any, input_ids: Any, attention_mask: Any = None) -> Any:
    labels = input_ids[:, 1:]
    if attention_mask is not None:
        labels = labels.masked_fill(attention_mask[:, 1:] == 0, -100)
    return cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten())


def lm_loss_of_inputs(logits: Any, input_ids: Any, attention_mask: Any = None) -> Any:
    labels = input_ids[:, 1:]
    if attention_mask is not None:
        labels = labels.masked_fill(attention_mask[:, :-1] == 0, -100)
    return cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten())


def test_a_mask_of_padding_says_which_targets_are_ignored() -> None:
    right = check({"lm_loss": lm_loss}, tier="quick")
    assert not failed(right)
    assert any(one.law.id == "next_token_loss.ignore.value" and one.status == "passed" for one in right.results)
    assert "next_token_loss.ignore.value" in failed(check({"lm_loss": lm_loss_of_inputs}, tier="quick"))


# Attention whose keys are parted into some number of parts.
def of_part(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    logits = np.einsum("hqd,hkd->hqk", q, k) / np.sqrt(q.shape[-1])
    largest = logits.max(-1)
    raised = np.exp(logits - largest[..., None])
    total = raised.sum(-1)
    return np.einsum("hqk,hkd->hqd", raised, v) / total[..., None], largest + np.log(total)


def split_kv_attention(q: Any, k: Any, v: Any, n_splits: int) -> Any:
    out, lse = None, None
    for keys, values in zip(np.array_split(k, n_splits, axis=1), np.array_split(v, n_splits, axis=1), strict=True):
        part, its = of_part(q, keys, values)
        if out is not None:
            both = np.logaddexp(lse, its)
            part = np.exp(lse - both)[..., None] * out + np.exp(its - both)[..., None] * part
            its = both
        out, lse = part, its
    return out


def test_keys_come_in_three_parts_of_several_keys() -> None:
    report = check({"split_kv_attention": split_kv_attention}, tier="quick")
    assert not failed(report)
    assert "`n_splits` so that there are three parts at most" in " ".join(report.notices)
    operation, name = "scaled_dot_product_attention", "n_splits"
    form, found = Form(operation, {name: str}), Taken({name: str}, (), {}, ())
    for one, most in zip(chunks.forms(form, found)[:2], (3, 4), strict=True):
        numbers = {keys: one.sources[name]({KEY_LENGTH: keys}) for keys in range(1, 66)}
        assert all(number == 1 or keys // number > 1 for keys, number in numbers.items())
        assert max(numbers.values()) == most


# Weights in a record, by which the parameter is known.
class AttentionWeights(NamedTuple):
    """The matrices of an attention, (out, in)."""

    wq: Any
    wk: Any
    wv: Any
    wo: Any


def mha(query: Any, key: Any, value: Any, w: AttentionWeights, nhead: int) -> Any:
    """Sequences first, (L, B, E)."""

    def heads(x: Any, matrix: Any) -> Any:
        return (x @ matrix.T).unflatten(-1, (nhead, -1)).permute(1, 2, 0, 3)

    wq, wk, wv, wo = w
    q, k, v = heads(query, wq), heads(key, wk), heads(value, wv)
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (weights @ v).permute(2, 0, 1, 3).flatten(2) @ wo.T


def test_weights_may_come_in_a_record_of_the_file() -> None:
    report = check({"mha": mha}, tier="quick")
    assert not failed(report)
    assert "(L, B, E)" in " ".join(report.notices)


# A rotation by tables that the file makes, of half of the width, repeated.
def precompute_tables(rot_dim: int, max_len: int, theta: float = 10000.0, scaling: float = 1.0) -> Any:
    rates = theta ** (-torch.arange(0, rot_dim, 2).float() / rot_dim)
    angles = torch.outer(torch.arange(max_len).float() / scaling, rates).repeat(1, 2)
    return angles.cos(), angles.sin()


def apply_rope_interleaved(x: Any, cos: Any, sin: Any) -> Any:
    length, half = x.shape[1], x.shape[-1] // 2
    cos, sin = cos[:length, None, :half], sin[:length, None, :half]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def test_a_scaling_of_one_leaves_the_tables_of_a_file_what_they_are(tmp_path: Any) -> None:
    text = "".join(map(inspect.getsource, (precompute_tables, apply_rope_interleaved)))
    place, head = tmp_path / "mine.py", "import torch\nfrom typing import Any\n\n\n"
    place.write_text(head + text)
    assert not failed(check(str(place), tier="quick"))
    place.write_text(head + text.replace(":half]", "::2]"))
    assert "rotary.base" in failed(check(str(place), tier="quick"))


class OfRows(torch.autograd.Function):
    """A layer norm whose backward pass sums over the rows, of which a vector alone has none."""

    @staticmethod
    def forward(ctx: Any, x: Any, gamma: Any, beta: Any, eps: float) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        inverse = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(centred * inverse, inverse, gamma)
        return centred * inverse * gamma + beta

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> Any:
        normal, inverse, gamma = ctx.saved_tensors
        rows = tuple(range(upstream.dim() - 1))
        of_normal = upstream * gamma
        along = normal * (of_normal * normal).mean(-1, keepdim=True)
        of_x = inverse * (of_normal - of_normal.mean(-1, keepdim=True) - along)
        return of_x, (upstream * normal).sum(rows), upstream.sum(rows), None


def layer_norm(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    return OfRows.apply(x, gamma, beta, eps)


def test_a_backward_pass_that_takes_no_vector_alone_is_not_judged_there(tmp_path: Any) -> None:
    place = tmp_path / "mine.py"
    text = "".join(map(inspect.getsource, (OfRows, layer_norm)))
    place.write_text("from typing import Any\n\nimport torch\n\n\n" + text)
    report = check(str(place))
    assert not failed(report)
    assert "1 law of layer_norm_backward is not judged: once it raised" in " ".join(report.notices)
