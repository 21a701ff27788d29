"""Initial weights of a LLaMA with LeCun's rule, in JAX, a key for each matrix; the tests change one line at a time."""

import jax
import jax.numpy as jnp

framework = "jax"
architectures = {"initial_weights": ("llama",)}
lecun = jax.nn.initializers.lecun_normal()


def attention(key, config):
    d_kv = config.d_model // config.num_heads * config.num_kv_heads
    k_query, k_key, k_value, k_out = jax.random.split(key, 4)
    return {
        "w_q": lecun(k_query, (config.d_model, config.d_model)),
        "w_k": lecun(k_key, (config.d_model, d_kv)),
        "w_v": lecun(k_value, (config.d_model, d_kv)),
        "w_o": lecun(k_out, (config.d_model, config.d_model)),
    }


def network(key, config):
    k_gate, k_up, k_down = jax.random.split(key, 3)
    return {
        "w_gate": lecun(k_gate, (config.d_model, config.d_ff)),
        "w_up": lecun(k_up, (config.d_model, config.d_ff)),
        "w_down": lecun(k_down, (config.d_ff, config.d_model)),
    }


def block(key, config):
    k_attention, k_network = jax.random.split(key)
    return {
        "self_attention": attention(k_attention, config),
        "norm_1": {"gamma": jnp.ones(config.d_model)},
        "feed_forward": network(k_network, config),
        "norm_2": {"gamma": jnp.ones(config.d_model)},
    }


def initial_weights(config, *, seed):
    k_table, k_logits, k_layers = jax.random.split(jax.random.key(seed), 3)
    return {
        "embedding": 0.02 * jax.random.normal(k_table, (config.vocabulary_size, config.d_model)),
        "layers": [block(key, config) for key in jax.random.split(k_layers, config.num_layers)],
        "final_norm": {"gamma": jnp.ones(config.d_model)},
        "unembedding": lecun(k_logits, (config.d_model, config.vocabulary_size)),
    }
