import tensorflow as tf


def make_padding_mask(token_ids, pad_id=0):
    """(batch, 1, seq) float mask, 1 for real tokens and 0 for padding."""
    return tf.cast(tf.not_equal(token_ids, pad_id), tf.float32)[:, tf.newaxis, :]


def dot_product_attention(query, key, value, mask=None):
    """
    query: (batch, q_len, dim); key, value: (batch, k_len, dim)
    mask: float tensor broadcastable to (batch, q_len, k_len); 1 = real token which can be
        attended to, 0 = padding which is hidden
    returns: dict with "output" (batch, q_len, dim) and "weights" (batch, q_len, k_len)
    """
    dim = tf.cast(tf.shape(query)[-1], query.dtype)
    logits = tf.einsum("bqd,bkd->bqk", query, key) * tf.math.rsqrt(dim)
    if mask is not None:
        logits += mask * -1e9
    weights = tf.nn.softmax(logits, axis=-1)
    return {"output": tf.einsum("bqk,bkd->bqd", weights, value), "weights": weights}


class SelfAttention(tf.keras.layers.Layer):
    """Single head; called on (embeddings, token_ids)."""

    def __init__(self, units):
        super().__init__()
        self.q = tf.keras.layers.Dense(units, use_bias=False)
        self.k = tf.keras.layers.Dense(units, use_bias=False)
        self.v = tf.keras.layers.Dense(units, use_bias=False)

    def call(self, x, token_ids):
        mask = make_padding_mask(token_ids)
        return dot_product_attention(self.q(x), self.k(x), self.v(x), mask)["output"]
