"""BERT in JAX with a flat dictionary of arrays and three-dimensional kernels."""

import bert_hf
import jax
import jax.numpy as jnp
import numpy as np


def norm(w, name, x):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(x * x, axis=-1, keepdims=True) - mean * mean
    return w[f"{name}/gamma"] * (x - mean) / jnp.sqrt(variance + 1e-12) + w[f"{name}/beta"]


def gelu(x):
    return x * 0.5 * (1.0 + jax.lax.erf(x / np.sqrt(2.0)))


def attention(w, at, x, bias):
    query = jnp.einsum("BFD,DNH->BFNH", x, w[f"{at}/query/kernel"]) + w[f"{at}/query/bias"]
    key = jnp.einsum("BTD,DNH->BTNH", x, w[f"{at}/key/kernel"]) + w[f"{at}/key/bias"]
    value = jnp.einsum("BTD,DNH->BTNH", x, w[f"{at}/value/kernel"]) + w[f"{at}/value/bias"]
    scores = jnp.einsum("BTNH,BFNH->BNFT", key, query) / np.sqrt(query.shape[-1])
    probs = jax.nn.softmax(scores + bias, axis=-1)
    context = jnp.einsum("BNFT,BTNH->BFNH", probs, value)
    return jnp.einsum("BFNH,NHD->BFD", context, w[f"{at}/output/kernel"]) + w[f"{at}/output/bias"]


def bert(w, tokens, attended):
    adder = (1.0 - attended[:, None, None, :].astype(w["embeddings"].dtype)) * -10000.0
    x = w["embeddings"][tokens] + w["position_embeddings"][: tokens.shape[1]] + w["type_embeddings"][0]
    x = norm(w, "embeddings/norm", x)
    for i in range(2):
        at = f"layer_{i}"
        x = norm(w, f"{at}/attention_norm", x + attention(w, f"{at}/attention", x, adder))
        inner = gelu(x @ w[f"{at}/intermediate/kernel"] + w[f"{at}/intermediate/bias"])
        x = norm(w, f"{at}/norm", x + inner @ w[f"{at}/output/kernel"] + w[f"{at}/output/bias"])
    x = norm(w, "transform/norm", gelu(x @ w["transform/kernel"] + w["transform/bias"]))
    return jnp.einsum("BFD,VD->BFV", x, w["embeddings"]) + w["output_bias"]


def dense(w, new, state, old):
    w[f"{new}/kernel"], w[f"{new}/bias"] = state[f"{old}.weight"].T, state[f"{old}.bias"]


def layer_norm(w, new, state, old):
    w[f"{new}/gamma"], w[f"{new}/beta"] = state[f"{old}.weight"], state[f"{old}.bias"]


def convert_layer(w, state, i, heads=3):
    old, new = f"bert.encoder.layer.{i}", f"layer_{i}"
    for name in ("query", "key", "value"):
        kernel, bias = (state[f"{old}.attention.self.{name}.{end}"] for end in ("weight", "bias"))
        width = kernel.shape[1]
        w[f"{new}/attention/{name}/kernel"] = kernel.T.reshape(width, heads, width // heads)
        w[f"{new}/attention/{name}/bias"] = bias.reshape(heads, width // heads)
    out = state[f"{old}.attention.output.dense.weight"]
    w[f"{new}/attention/output/kernel"] = out.T.reshape(heads, -1, out.shape[0])
    w[f"{new}/attention/output/bias"] = state[f"{old}.attention.output.dense.bias"]
    layer_norm(w, f"{new}/attention_norm", state, f"{old}.attention.output.LayerNorm")
    dense(w, f"{new}/intermediate", state, f"{old}.intermediate.dense")
    dense(w, f"{new}/output", state, f"{old}.output.dense")
    layer_norm(w, f"{new}/norm", state, f"{old}.output.LayerNorm")


def convert(state):
    w = {
        "embeddings": state["bert.embeddings.word_embeddings.weight"],
        "position_embeddings": state["bert.embeddings.position_embeddings.weight"],
        "type_embeddings": state["bert.embeddings.token_type_embeddings.weight"],
        "output_bias": state["cls.predictions.bias"],
    }
    layer_norm(w, "embeddings/norm", state, "bert.embeddings.LayerNorm")
    for i in range(2):
        convert_layer(w, state, i)
    dense(w, "transform", state, "cls.predictions.transform.dense")
    layer_norm(w, "transform/norm", state, "cls.predictions.transform.LayerNorm")
    return w


def build():
    state = {name: value.numpy() for name, value in bert_hf.build().state_dict().items()}
    return bert, {name: jnp.asarray(value) for name, value in convert(state).items()}


inputs = bert_hf.inputs
