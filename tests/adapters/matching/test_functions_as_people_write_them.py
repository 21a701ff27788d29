"""Functions of other names, parameters, layouts and results are taken for the operations that they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.adapters.asked import Asked
from veriformer.adapters.errors import LoadError, NoOperations
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

TORCH = "import torch\nimport math\n"


@pytest.mark.parametrize("name", ["attention", "sdpa", "scaled_dot_product", "my_attention", "flash_attention_forward"])
def test_names(loaded, attention, name):
    found = loaded(attention(name))
    assert found.taken_as == {name: "scaled_dot_product_attention"}
    assert found.framework.name == "torch"
    assert found.notices[0].startswith(f"{name} is judged as scaled_dot_product_attention: (B, H, L, D)")


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("scores = scores if mask is None else scores.masked_fill(mask == 0, -math.inf)", "True may be attended"),
        ("scores = scores if mask is None else scores.masked_fill(mask, -1e30)", "True is hidden"),
        ("scores = scores if mask is None else scores + mask", "added, −∞ is hidden"),
        ("scores = scores if mask is None else scores + (1.0 - mask) * -1e9", "1 may be attended, 0 is hidden"),
        ("scores = scores if mask is None else scores + (mask - 0.0) * -1e9", "1 is hidden, 0 may be attended"),
    ],
)
def test_masks(loaded, attention, mask, words):
    assert f"`mask`: {words}" in loaded(attention(mask=mask)).notices[0]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("weights @ v, weights", "the first of its results"),
        ("weights, weights @ v", "the second of its results"),
        ("{'weights': weights, 'out': weights @ v}", "its result 'out'"),
    ],
)
def test_results(loaded, attention, result, words):
    assert words in loaded(attention(result=result)).notices[0]


def test_layouts(loaded):
    heads_last = "def attend(xq, xk, xv):\n    q, k, v = (one.transpose(1, 2) for one in (xq, xk, xv))\n"
    body = "    w = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)\n    return (w @ v).transpose(1, 2)\n"
    assert "(B, L, H, D)" in loaded(TORCH + heads_last + body).notices[0]
    one_head = "def attend(q, k, v):\n    L, D = q.shape\n    return torch.softmax(q @ k.T / D ** 0.5, -1) @ v\n"
    assert "(L, D), one head" in loaded(TORCH + one_head).notices[0]


def test_a_function_that_is_always_causal(loaded, attention):
    text = attention("causal_attention", mask="scores = scores + torch.full(scores.shape, -math.inf).triu(1)")
    found = loaded(text)
    assert "always causal" in found.notices[0]
    assert found.fixed_values["scaled_dot_product_attention.is_causal"] is True


def test_a_wrong_function_is_taken_for_what_it_is_called(loaded, attention):
    wrong = attention().replace(" / math.sqrt(q.shape[-1])", "")
    assert loaded(wrong).taken_as == {"attention": "scaled_dot_product_attention"}


def test_a_wrong_function_in_another_layout(loaded):
    text = "def attn(q, k, v):\n    w = torch.softmax(torch.einsum('blhd,bshd->bhls', q, k), -1)\n"
    found = loaded(TORCH + text + "    return torch.einsum('bhls,bshd->blhd', w, v)\n")
    assert "(B, L, H, D)" in found.notices[0]


def test_a_name_that_says_something_else_is_no_evidence(loaded):
    text = "def linear_attention(q, k, v):\n    return torch.relu(q) @ (torch.relu(k).mT @ v)\n"
    with pytest.raises(NoOperations, match="linear_attention: it does more than attend"):
        loaded(TORCH + text)


def test_rotation_of_queries_and_keys_by_tables(loaded):
    text = """
def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)
def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
"""
    found = loaded(TORCH + text)
    assert found.taken_as == {"apply_rotary_pos_emb": "rotary_embedding"}
    assert "rotate_half" in found.not_judged


def test_norms_without_gain_and_with_an_eps_of_their_own(loaded):
    found = loaded(
        "import numpy as np\ndef rmsnorm(x):\n    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)\n"
    )
    assert "without gamma" in found.notices[0] and "rms_norm.eps" in found.limitations
    assert found.framework.name == "numpy"


def test_a_mask_of_one_length(loaded):
    found = loaded("import numpy as np\ndef look_ahead_mask(size):\n    return 1 - np.tril(np.ones((size, size)))\n")
    assert "True or 1 is hidden" in found.notices[0]
    assert "causal_mask.unequal_lengths" in found.limitations


def test_two_functions_of_one_operation(loaded, attention):
    found = loaded(attention("attention") + attention("sdpa").removeprefix(TORCH))
    assert list(found.taken_as) == ["attention"] and found.judged_alone == ("sdpa",)


def test_what_the_user_says_overrules_names(loaded, attention):
    text = attention("compute")
    assert loaded(text, Asked(pairs=(("compute", "scaled_dot_product_attention"),))).taken_as == {
        "compute": "scaled_dot_product_attention"
    }
    with pytest.raises(LoadError, match="as layer_norm"):
        loaded(attention("compute"), Asked(pairs=(("compute", "layer_norm"),)))


def test_a_mapping_in_the_file(loaded, attention):
    text = attention("f").replace("/ math.sqrt(q.shape[-1])", "")
    found = loaded(text + "\noperations = {'scaled_dot_product_attention': f}\n")
    assert found.taken_as == {"f": "scaled_dot_product_attention"}


def test_functions_that_do_something_are_not_called(loaded, tmp_path):
    text = (
        "import numpy as np\ndef softmax(x):\n    e = np.exp(x - x.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True)\n"
        f"def save(x):\n    open({str(tmp_path / 'saved')!r}, 'w').write('x')\n"
    )
    found = loaded(text)
    assert found.not_judged["save"] == "its name says that it does something" and not (tmp_path / "saved").exists()


def test_a_function_and_a_dictionary_from_python():
    numpy = pytest.importorskip("numpy")

    def stable_softmax(z):
        powers = numpy.exp(z - z.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    assert load(stable_softmax).taken_as == {"stable_softmax": "softmax"}
    assert list(load({"softmax": stable_softmax}).operations) == ["softmax"]


def test_jax_functions_that_are_compiled(loaded):
    pytest.importorskip("jax")
    found = loaded(
        "import jax, jax.numpy as jnp\n@jax.jit\ndef attend(q, k, v):\n"
        "    weights = jax.nn.softmax(jnp.einsum('blhd,bshd->bhls', q, k) / q.shape[-1] ** 0.5)\n"
        "    return jnp.einsum('bhls,bshd->blhd', weights, v)\n"
    )
    assert found.framework.name == "jax" and "(B, L, H, D)" in found.notices[0]


def test_a_gated_network_whose_activation_is_its_own(loaded):
    text = "def geglu(x, w, v, w2):\n    return (torch.nn.functional.gelu(x @ w) * (x @ v)) @ w2\n"
    found = loaded(TORCH + text)
    assert found.fixed_values["gated_feed_forward.activation"] == "gelu"
    exchanged = "def swiglu(x, a, b, c):\n    return ((x @ a) * torch.nn.functional.silu(x @ b)) @ c\n"
    assert "`b` is the gate" in loaded(TORCH + exchanged).notices[0]
    wrong = exchanged.replace("a, b, c", "w_gate, w_up, w_down").replace("@ a", "@ w_gate").replace("@ b", "@ w_up")
    assert "is the gate" not in loaded(TORCH + wrong.replace("@ c", "@ w_down")).notices[0]


ROTATION = """
import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
"""


def test_a_rotation_of_queries_and_keys_is_judged_by_both_of_its_results(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(ROTATION)
    right = check(str(path), tier="quick")
    assert right.verdict == "conforms"
    assert any("both of its results" in notice for notice in right.notices)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(ROTATION.replace("rotate_half(k)", "rotate_half(q)"))
    assert check(str(wrong), tier="quick").verdict == "violates"


TOKENS_ALONE = """
import torch


def cross_entropy(logits, target, reduction="mean"):
    logp = logits - logits.logsumexp(dim=-1, keepdim=True)
    loss = -logp.gather(-1, target[:, None]).squeeze(-1)
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()
"""


def test_a_loss_of_rows_is_given_rows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(TOKENS_ALONE)
    assert check(str(path), tier="quick").verdict == "conforms"


ANSWERS_NOTHING = """
import torch


def adamw_step(params, grads, state, lr=1e-3):
    for p, g in zip(params, grads):
        p.add_(g, alpha=-lr)


def softmax(x):
    return torch.softmax(x, -1)
"""


def test_a_function_of_an_operations_name_that_answers_no_call_is_not_judged(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(ANSWERS_NOTHING)
    report = check(str(path), tier="quick")
    assert report.verdict == "conforms"
    assert "TypeError" in report.not_judged["adamw_step"]
    # A file that says that it has the interface's form is held to it.
    declared = tmp_path / "declared.py"
    declared.write_text(f'framework = "torch"\n{ANSWERS_NOTHING}')
    assert check(str(declared), tier="quick").verdict == "violates"


@pytest.mark.parametrize(
    "sharp", ["torch.sigmoid(1.702 * a)", "(1 + torch.tanh(0.7978845608 * (a + 0.044715 * a**3))) / 2"]
)
def test_a_gated_network_with_another_form_of_gelu(loaded, sharp):
    text = f"def ffn(x, w_gate, w_up, w_down):\n    a = x @ w_gate\n    return (a * {sharp} * (x @ w_up)) @ w_down\n"
    found = loaded(TORCH + text.replace("def ffn", "def geglu"))
    assert found.fixed_values["gated_feed_forward.activation"] == "gelu"
    assert "its results fit none" not in found.notices[0]


LLAMA = """
def apply_rotary_emb(xq, xk, freqs_cis):
    q = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    k = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    table = freqs_cis.view(1, q.shape[1], 1, q.shape[-1])
    return torch.view_as_real(q * table).flatten(3), torch.view_as_real(k * table).flatten(3)
"""


def test_rotation_by_a_table_of_complex_numbers(loaded):
    notice = loaded(TORCH + LLAMA).notices[0]
    assert "(B, L, H, D); table of complex numbers (L, D/2)" in notice and "its results fit none" not in notice
    for part, place in (("q", "first"), ("k", "second")):
        wrong = LLAMA.replace(f"({part} * table)", f"({part} * table.conj())")
        notice = loaded(TORCH + wrong).notices[0]
        assert f"the {place} of its results" in notice and "its results fit none" in notice


EAGER = """
def eager_attention_forward(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    key = key.repeat_interleave(module.num_key_value_groups, 1)
    value = value.repeat_interleave(module.num_key_value_groups, 1)
    weights = query @ key.transpose(2, 3) * scaling
    if attention_mask is not None:
        weights = weights + attention_mask[:, :, :, : key.shape[-2]]
    weights = torch.nn.functional.dropout(weights.softmax(-1), p=dropout, training=module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights
"""


def test_attention_that_is_handed_its_module(loaded):
    found = loaded(TORCH + EAGER)
    assert "its result (B, L, H, D); `attention_mask`: added" in found.notices[0]
    query = torch_array(2, 3, 5, 4)
    mask = torch_array(5, 5) > 0
    result = found.operations["scaled_dot_product_attention"](query, query, query, mask=mask | mask.T)
    assert result.shape == query.shape


def torch_array(*shape):
    torch = pytest.importorskip("torch")
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


HEADS = """
def mha(q, k, v, w_q, w_k, w_v, w_o, num_heads):
    def split(x):
        return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)
    q, k, v = split(q @ w_q), split({k} @ w_k), split({v} @ w_v)
    logits = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    out = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(1, 2)
    return out.reshape(*out.shape[:2], -1) @ w_o
"""


def test_keys_and_values_that_are_exchanged_before_their_projections(loaded):
    text = "import numpy as np\n" + HEADS
    assert "its results fit none" not in loaded(text.format(k="k", v="v")).notices[0]
    assert "its results fit none" in loaded(text.format(k="v", v="k")).notices[0]


@pytest.mark.parametrize("keys", [("w1", "b1", "w2", "b2"), ("W1", "b1", "W2", "b2"), ("w_1", "b_1", "w_2", "b_2")])
def test_weights_in_a_dictionary(loaded, keys):
    w1, b1, w2, b2 = (f"params[{key!r}]" for key in keys)
    text = f"def feed_forward(x, params):\n    return np.maximum(x @ {w1} + {b1}, 0) @ {w2} + {b2}\n"
    found = loaded("import numpy as np\n" + text)
    assert found.taken_as == {"feed_forward": "feed_forward"}
    assert found.fixed_values["feed_forward.activation"] == "relu"


def test_matrices_out_in_with_biases_that_must_be_given(loaded):
    text = (
        "import torch.nn.functional as F\ndef multi_head_attention(x, wq, wk, wv, wo, bq, bk, bv, bo, n_heads):\n"
        "    split = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n"
        "    q, k, v = split(F.linear(x, wq, bq)), split(F.linear(x, wk, bk)), split(F.linear(x, wv, bv))\n"
        "    out = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v\n"
        "    return F.linear(out.transpose(1, 2).flatten(2), wo, bo)\n"
    )
    notice = loaded(TORCH + text).notices[0]
    assert notice == "multi_head_attention is judged: matrices (out, in)"
    assert "multi_head_attention_backward" not in loaded(TORCH + text).operations


def test_a_parameter_that_nothing_explains_stays_a_mistake_of_the_signature(loaded):
    found = loaded("import numpy as np\ndef softmax(x, axis, mystery):\n    return x\n")
    assert found.taken_as == {}


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("masked_fill(mask[:, None, None, :], -math.inf)", "(B, S), True is hidden"),
        ("masked_fill(mask[:, None, None, :] == 0, -1e9)", "(B, S), True may be attended"),
        ("masked_fill(~mask.unsqueeze(1), -1e9)", "(B, L, S), True may be attended"),
        ("add(mask[:, None, None, :].mul(1.0))", "(B, S), added, −∞ is hidden"),
    ],
)
def test_masks_of_fewer_axes(loaded, attention, mask, words):
    found = loaded(attention(mask=f"scores = scores if mask is None else scores.{mask}"))
    assert f"`mask`: {words}" in found.notices[0]
    query = torch_array(2, 3, 5, 4)
    visible = torch_array(5, 5) > 0
    visible.fill_diagonal_(True)
    result = found.operations["scaled_dot_product_attention"](query, query, query, mask=visible)
    weights = (query @ query.mT / 2).masked_fill(~visible, float("-inf")).softmax(-1)
    assert (result - weights @ query).abs().max() < 1e-5


def test_a_keyword_of_the_interface_without_its_default_stays_a_mistake_of_the_signature(loaded):
    text = "def scaled_dot_product_attention(query, key, value, *, mask):\n    return value[..., :1, :] + 0 * query\n"
    assert loaded("import numpy as np\n" + text).taken_as == {}


MERGE = """
import torch


def merge_attention_states(out_a, lse_a, out_b, lse_b):
    m = torch.maximum(lse_a, lse_b)
    wa, wb = torch.exp(lse_a - m), torch.exp(lse_b - m)
    total = wa + wb
    return (wa[..., None] * out_a + wb[..., None] * out_b) / total[..., None], m + torch.log(total)
"""


def test_two_results_are_judged_together(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(MERGE)
    laws = ("merge.union", "merge.commutative")
    right = check(str(path), laws=laws, tier="quick")
    assert right.taken_as == {"merge_attention_states": "merge_attention"}
    assert right.verdict == "conforms"
    # The second result alone is wrong.
    wrong = tmp_path / "wrong.py"
    wrong.write_text(MERGE.replace("m + torch.log(total)", "m + total"))
    assert check(str(wrong), laws=laws, tier="quick").verdict == "violates"


def test_an_input_that_no_call_passes_is_said(loaded):
    text = (
        "def masked_softmax(x, valid_lens=None):\n    e = np.exp(x - x.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True)\n"
    )
    assert "`valid_lens` not given" in loaded("import numpy as np\n" + text).notices[0]


def test_an_attention_with_weights_that_is_always_causal(loaded):
    future = "    logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)\n"
    text = HEADS.format(k="k", v="v").replace("    weights = np.exp", f"{future}    weights = np.exp")
    text = text.replace("def mha(q, k, v, w_q", "def mha(x, w_q")
    for name in "qkv":
        text = text.replace(f"split({name} @", "split(x @")
    notice = loaded("import numpy as np\n" + text).notices[0]
    assert "always causal" in notice and "its results fit none" not in notice


@pytest.mark.parametrize("name", ["multihead_attn", "multi_query_attention"])
def test_heads_that_are_projected_and_repeated_already(loaded, name):
    text = f"""
def {name}(q, k, v, mask=None):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    logits = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** SCALE
    if mask is not None:
        logits = logits.masked_fill(~mask, -math.inf)
    return (logits.softmax(-1) @ v).transpose(1, 2)
"""
    for power, fits in (("0.5", True), ("1.0", False)):
        found = loaded(TORCH + text.replace("SCALE", power))
        assert found.taken_as == {name: "scaled_dot_product_attention"}
        assert "(B, L, H, D)" in found.notices[0]
        assert ("its results fit none" not in found.notices[0]) == fits


def test_tables_of_cosines_and_sines_say_that_a_function_rotates(loaded):
    text = """
def rotate(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = a * cos - b * sin, a * sin SIGN b * cos
    return out
"""
    for sign, fits in (("+", True), ("-", False)):
        found = loaded("import numpy as np\n" + text.replace("SIGN", sign))
        assert found.taken_as == {"rotate": "rotary_embedding"}
        assert ("its results fit none" not in found.notices[0]) == fits
