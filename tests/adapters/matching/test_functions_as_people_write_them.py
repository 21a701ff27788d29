"""Functions of other names, parameters, layouts and results are taken for the operations that they are."""

from __future__ import annotations

import pytest
from veriformer.adapters.asked import Asked
from veriformer.adapters.errors import LoadError, NoOperations
from veriformer.adapters.loading import load

TORCH = "import torch\nimport math\n"
ATTENTION = """
def {name}({signature}):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    {mask}
    weights = torch.softmax(scores, dim=-1)
    return {result}
"""


def attention(name="attention", signature="q, k, v, mask=None", mask="pass", result="weights @ v"):
    return TORCH + ATTENTION.format(name=name, signature=signature, mask=mask, result=result)


@pytest.fixture
def loaded(tmp_path):
    def load_text(text, asked=None):
        file = tmp_path / "mine.py"
        file.write_text(text)
        return load(str(file), *([asked] if asked else []))

    return load_text


@pytest.mark.parametrize("name", ["attention", "sdpa", "scaled_dot_product", "my_attention", "flash_attention_forward"])
def test_names(loaded, name):
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
def test_masks(loaded, mask, words):
    assert f"`mask`: {words}" in loaded(attention(mask=mask)).notices[0]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("weights @ v, weights", "the first of its results"),
        ("weights, weights @ v", "the second of its results"),
        ("{'weights': weights, 'out': weights @ v}", "its result 'out'"),
    ],
)
def test_results(loaded, result, words):
    assert words in loaded(attention(result=result)).notices[0]


def test_layouts(loaded):
    heads_last = "def attend(xq, xk, xv):\n    q, k, v = (one.transpose(1, 2) for one in (xq, xk, xv))\n"
    body = "    w = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)\n    return (w @ v).transpose(1, 2)\n"
    assert "(B, L, H, D)" in loaded(TORCH + heads_last + body).notices[0]
    one_head = "def attend(q, k, v):\n    L, D = q.shape\n    return torch.softmax(q @ k.T / D ** 0.5, -1) @ v\n"
    assert "(L, D), one head" in loaded(TORCH + one_head).notices[0]


def test_a_function_that_is_always_causal(loaded):
    text = attention("causal_attention", mask="scores = scores + torch.full(scores.shape, -math.inf).triu(1)")
    found = loaded(text)
    assert "always causal" in found.notices[0]
    assert found.fixed_values["scaled_dot_product_attention.is_causal"] is True


def test_a_wrong_function_is_taken_for_what_it_is_called(loaded):
    wrong = attention().replace(" / math.sqrt(q.shape[-1])", "")
    assert loaded(wrong).taken_as == {"attention": "scaled_dot_product_attention"}


def test_a_wrong_function_in_another_layout(loaded):
    text = "def attn(q, k, v):\n    w = torch.softmax(torch.einsum('blhd,bshd->bhls', q, k), -1)\n"
    found = loaded(TORCH + text + "    return torch.einsum('bhls,bshd->blhd', w, v)\n")
    assert "(B, L, H, D)" in found.notices[0]


def test_a_name_that_says_something_else_is_no_evidence(loaded):
    text = "def linear_attention(q, k, v):\n    return torch.relu(q) @ (torch.relu(k).mT @ v)\n"
    with pytest.raises(NoOperations, match="linear_attention: nearest are"):
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


def test_two_functions_of_one_operation(loaded):
    found = loaded(attention("attention") + attention("sdpa").removeprefix(TORCH))
    assert list(found.taken_as) == ["attention"] and found.judged_alone == ("sdpa",)


def test_what_the_user_says_overrules_names(loaded):
    text = attention("compute")
    assert loaded(text, Asked(operations={"compute": "scaled_dot_product_attention"})).taken_as == {
        "compute": "scaled_dot_product_attention"
    }
    with pytest.raises(LoadError, match="as layer_norm"):
        loaded(attention("compute"), Asked(operations={"compute": "layer_norm"}))


def test_a_mapping_in_the_file(loaded):
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


@pytest.mark.parametrize(
    "sharp", ["torch.sigmoid(1.702 * a)", "(1 + torch.tanh(0.7978845608 * (a + 0.044715 * a**3))) / 2"]
)
def test_a_gated_network_with_another_form_of_gelu(loaded, sharp):
    text = f"def ffn(x, w_gate, w_up, w_down):\n    a = x @ w_gate\n    return (a * {sharp} * (x @ w_up)) @ w_down\n"
    found = loaded(TORCH + text.replace("def ffn", "def geglu"))
    assert found.fixed_values["gated_feed_forward.activation"] == "gelu"
    assert "no known form" not in found.notices[0]
