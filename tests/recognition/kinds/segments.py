"""A decoder of NumPy that reads a sequence segment by segment, each layer with what it read in the segment before."""

import numpy as np

WIDTH, HEADS, LAYERS, LONG = 32, 4, 2, 4


class Weights(dict):
    """A dictionary that gives its entries as attributes, and has no others."""

    __getattr__ = dict.__getitem__


def drawn(seed=0):
    numbers = np.random.default_rng(seed)

    def matrix(rows, columns):
        return numbers.standard_normal((rows, columns)) / np.sqrt(rows)

    layers = [
        Weights(
            query=matrix(WIDTH, WIDTH), key=matrix(WIDTH, WIDTH), value=matrix(WIDTH, WIDTH), out=matrix(WIDTH, WIDTH),
            hidden=matrix(WIDTH, 64), back=matrix(64, WIDTH),
            gain=1 + 0.1 * numbers.standard_normal((2, WIDTH)),
        )
        for _ in range(LAYERS)
    ]  # fmt: skip
    last = 1 + 0.1 * numbers.standard_normal(WIDTH)
    return Weights(embed=numbers.standard_normal((60, WIDTH)), layers=layers, last=last, head=matrix(WIDTH, 60))


def norm(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain


def heads(x):
    return x.reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2)


class Segments:
    """`carried` says whether a layer also sees what it read in the segment before."""

    def __init__(self, *, carried=True):
        self.weights, self.carried = drawn(), carried

    def layer(self, one, x, memory):
        read = norm(x, one.gain[0])
        seen = np.concatenate([norm(memory, one.gain[0]), read], axis=1)
        query, key, value = heads(read @ one.query), heads(seen @ one.key), heads(seen @ one.value)
        logits = query @ key.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS)
        rows, columns = logits.shape[-2:]
        logits = np.where(np.tril(np.ones((rows, columns), bool), columns - rows), logits, -1e30)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ value
        x = x + mixed.swapaxes(1, 2).reshape(x.shape) @ one.out
        return x + np.maximum(norm(x, one.gain[1]) @ one.hidden, 0) @ one.back

    def __call__(self, tokens):
        tokens = np.asarray(tokens)
        memories = [np.zeros((len(tokens), 0, WIDTH))] * LAYERS
        results = []
        for start in range(0, tokens.shape[1], LONG):
            x = self.weights.embed[tokens[:, start : start + LONG]]
            for number, one in enumerate(self.weights.layers):
                before, memories[number] = memories[number], x
                x = self.layer(one, x, before if self.carried else before[:, :0])
            results.append(norm(x, self.weights.last) @ self.weights.head)
        return np.concatenate(results, axis=1)
