import numpy as np
import tensorflow as tf


def positional_encoding(length, depth):
    """Sinusoids, (length, depth), depth even. All the sines come first (first half of the features),
    then all the cosines, as in tensor2tensor; the rates are 10000^(-i / (depth/2))."""
    half = depth // 2
    positions = np.arange(length)[:, np.newaxis]
    rates = 1 / (10000 ** (np.arange(half)[np.newaxis, :] / half))
    angles = positions * rates
    return tf.cast(np.concatenate([np.sin(angles), np.cos(angles)], axis=-1), tf.float32)


class WarmupLinear(tf.keras.optimizers.schedules.LearningRateSchedule):
    """BERT schedule. Step s < warmup: peak * s / warmup. After that linear decay which
    reaches 0 at step total (and stays there)."""

    def __init__(self, peak, warmup, total):
        self.peak = float(peak)
        self.warmup = float(warmup)
        self.total = float(total)

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        up = step / self.warmup
        down = (self.total - step) / (self.total - self.warmup)
        return self.peak * tf.where(step < self.warmup, up, tf.maximum(down, 0.0))

    def get_config(self):
        return {"peak": self.peak, "warmup": self.warmup, "total": self.total}


def masked_smoothed_loss(labels, logits, smoothing=0.1, pad_id=0):
    """labels (B, T), logits (B, T, V). Mean over the positions whose label isn't pad_id.
    The smoothed target puts smoothing / V on every class plus 1 - smoothing on the label."""
    vocab = tf.shape(logits)[-1]
    v = tf.cast(vocab, logits.dtype)
    target = tf.one_hot(labels, vocab, dtype=logits.dtype) * (1.0 - smoothing) + smoothing / v
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=target, logits=logits)
    mask = tf.cast(labels != pad_id, loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


def masked_accuracy(labels, logits, pad_id=0):
    pred = tf.argmax(logits, axis=-1, output_type=labels.dtype)
    mask = labels != pad_id
    match = tf.cast((pred == labels) & mask, tf.float32)
    return tf.reduce_sum(match) / tf.reduce_sum(tf.cast(mask, tf.float32))
