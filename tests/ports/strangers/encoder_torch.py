"""The text encoder in torch: nn.TransformerEncoder with weights from the Keras model."""

import encoder_keras
import numpy as np
import torch
from torch import nn

WIDTH, HEADS, FFN, VOCAB, LENGTH = 32, 4, 48, 59, 12


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_emb, self.pos_emb = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FFN, 0.1, "relu", 1e-6, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(WIDTH, 20), nn.ReLU(), nn.Dropout(0.1), nn.Linear(20, 5))

    def forward(self, tokens):
        x = self.token_emb(tokens) + self.pos_emb.weight[: tokens.shape[1]]
        return self.head(self.encoder(x).mean(dim=1))


def convert(weights):
    new = {"token_emb.weight": weights["token_emb"], "pos_emb.weight": weights["pos_emb"]}
    for i in range(2):
        d = f"encoder.layers.{i}."
        kernels = [weights[f"attn_{i}/{n}/kernel"].reshape(WIDTH, WIDTH).T for n in ("query", "key", "value")]
        biases = [weights[f"attn_{i}/{n}/bias"].reshape(WIDTH) for n in ("query", "key", "value")]
        new[d + "self_attn.in_proj_weight"] = np.concatenate(kernels)
        new[d + "self_attn.in_proj_bias"] = np.concatenate(biases)
        new[d + "self_attn.out_proj.weight"] = weights[f"attn_{i}/attention_output/kernel"].reshape(WIDTH, WIDTH).T
        new[d + "self_attn.out_proj.bias"] = weights[f"attn_{i}/attention_output/bias"]
        for a, b in (("ffn1", "linear1"), ("ffn2", "linear2")):
            new[d + b + ".weight"], new[d + b + ".bias"] = weights[f"{a}_{i}/kernel"].T, weights[f"{a}_{i}/bias"]
        for n in ("norm1", "norm2"):
            new[d + n + ".weight"], new[d + n + ".bias"] = weights[f"{n}_{i}/gamma"], weights[f"{n}_{i}/beta"]
    for a, b in (("hidden", "head.0"), ("classes", "head.3")):
        new[b + ".weight"], new[b + ".bias"] = weights[f"{a}/kernel"].T, weights[f"{a}/bias"]
    return new


def build():
    keras_model = encoder_keras.build()
    weights = {w.path: np.asarray(w.value) for w in keras_model.weights}
    embedding = keras_model.get_layer("embedding")
    weights["token_emb"] = np.asarray(embedding.token_emb.embeddings.value)
    weights["pos_emb"] = np.asarray(embedding.pos_emb.embeddings.value)
    model = Classifier()
    state = {name: torch.tensor(np.ascontiguousarray(value)) for name, value in convert(weights).items()}
    model.load_state_dict(state)
    return model.eval()
