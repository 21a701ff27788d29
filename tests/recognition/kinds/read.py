"""What stood in the way of reading a model: inference mode, sparse tensors."""

import torch
from small import VOCABULARY, Attention, Decoder
from torch import nn


class Decorated(Decoder):
    @torch.inference_mode()
    def forward(self, tokens):
        return super().forward(tokens)


class Inside(Decoder):
    def forward(self, tokens):
        with torch.inference_mode():
            x = self.embed(tokens)
            x = self.stack(x)
        return self.head(x.clone())


class InferringAttention(Attention):
    @torch.inference_mode()
    def forward(self, x):
        return super().forward(x)


class OfAPart(Decoder):
    def __init__(self):
        super().__init__()
        self.stack.blocks[0].attention = InferringAttention()


class Unused(Decoder):
    def __init__(self):
        super().__init__()
        self.register_buffer("heads", torch.eye(4, dtype=torch.bool).to_sparse(), persistent=False)


class Floating(Decoder):
    def __init__(self):
        super().__init__()
        self.table = torch.eye(5).to_sparse_csr()


class Used(Decoder):
    """The tokens' rows are picked by a sparse matrix of zeros and ones."""

    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.eye(VOCABULARY).roll(1, 0).to_sparse())

    def forward(self, tokens):
        table = torch.sparse.mm(self.order, self.embed.weight)
        return self.head(self.stack(nn.functional.embedding(tokens, table)))
