"""Sentence classifier: nn.TransformerEncoder with pre-norm GELU layers, padding mask, mean over the tokens that count."""

import torch
import torch.nn as nn

PAD = 0


class SentenceClassifier(nn.Module):
    def __init__(self, vocab=79, dim=36, heads=3, ff=82, layers=3, max_len=21, classes=5, p=0.1):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(1, max_len, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d_model=dim, nhead=heads, dim_feedforward=ff, dropout=p, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.drop = nn.Dropout(p)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        pad = tokens == PAD
        x = self.tok(tokens) + self.pos[:, : tokens.shape[1]]
        x = self.encoder(self.drop(x), src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).to(x.dtype)
        pooled = (x * keep).sum(1) / keep.sum(1).clamp(min=1)
        return self.head(pooled)


def build():
    torch.manual_seed(11)
    return SentenceClassifier()


def inputs():
    tokens = torch.randint(1, 79, (2, 11), generator=torch.Generator().manual_seed(0))
    tokens[1, 8:] = PAD  # the second sentence is shorter
    return tokens.numpy()
