"""RoBERTa in NumPy: a class that reads the checkpoint's names as it goes."""

import numpy as np
import roberta_hf
from scipy.special import erf

PAD, HEADS, LAYERS = 1, 3, 2


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


class Roberta:
    def __init__(self, weights):
        self.weights = weights

    def dense(self, at, x):
        return x @ self.weights[at + ".weight"].T + self.weights[at + ".bias"]

    def norm(self, at, x, eps=1e-5):
        mean = np.mean(x, axis=-1, keepdims=True)
        variance = np.var(x, axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + eps) * self.weights[at + ".weight"] + self.weights[at + ".bias"]

    def embed(self, ids):
        at = "roberta.embeddings."
        real = (ids != PAD).astype(np.int64)
        places = np.cumsum(real, axis=1) * real + PAD
        x = self.weights[at + "word_embeddings.weight"][ids]
        x = x + self.weights[at + "token_type_embeddings.weight"][0]
        x = x + self.weights[at + "position_embeddings.weight"][places]
        return self.norm(at + "LayerNorm", x)

    def attend(self, at, x, mask):
        b, t, d = x.shape
        q, k, v = (
            self.dense(f"{at}.self.{name}", x).reshape(b, t, HEADS, d // HEADS).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / np.sqrt(d // HEADS)
        scores = np.where(mask[:, None, None, :] == 1, scores, -1e9)
        context = np.matmul(softmax(scores), v).transpose(0, 2, 1, 3).reshape(b, t, d)
        return self.norm(f"{at}.output.LayerNorm", self.dense(f"{at}.output.dense", context) + x)

    def layer(self, i, x, mask):
        at = f"roberta.encoder.layer.{i}"
        x = self.attend(f"{at}.attention", x, mask)
        hidden = gelu(self.dense(f"{at}.intermediate.dense", x))
        return self.norm(f"{at}.output.LayerNorm", self.dense(f"{at}.output.dense", hidden) + x)

    def __call__(self, input_ids, attention_mask):
        x = self.embed(input_ids)
        for i in range(LAYERS):
            x = self.layer(i, x, attention_mask)
        x = self.norm("lm_head.layer_norm", gelu(self.dense("lm_head.dense", x)))
        return x @ self.weights["roberta.embeddings.word_embeddings.weight"].T + self.weights["lm_head.bias"]


def build():
    weights = {name: value.double().numpy() for name, value in roberta_hf.build().state_dict().items()}
    return Roberta({name: weights[name] for name in weights if "decoder" not in name})
