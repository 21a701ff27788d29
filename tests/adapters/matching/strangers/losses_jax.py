"""Losses and metrics of the trainer."""
import jax
import jax.numpy as jnp


def softmax(logits):
    e = jnp.exp(logits)
    return e / e.sum(axis=-1, keepdims=True)


def cross_entropy_loss(logits, labels, ignore_id=-1):
    """Mean over the labels that are not ignore_id (at least one). logits: (N, V), labels: (N,) int32."""
    keep = labels != ignore_id
    logp = jax.nn.log_softmax(logits)
    nll = -jnp.take_along_axis(logp, jnp.where(keep, labels, 0)[:, None], axis=-1)[:, 0]
    return jnp.where(keep, nll, 0.0).sum() / keep.sum()


def accuracy(logits, labels, ignore_id=-1):
    keep = labels != ignore_id
    return ((logits.argmax(-1) == labels) & keep).sum() / keep.sum()
