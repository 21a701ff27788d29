"""Right models that do by design what is a mistake elsewhere, each beside a wrong one that it is told from."""

import torch
from decoded import Translator
from small import HEADS, VOCABULARY, WIDTH, Attention, Block, Decoder, Gated, Stack
from torch import nn

# --- rotations --------------------------------------------------------------------------------------------------------


def _turned(x, angle):
    cos, sin = (t.repeat(1, 2) for t in (angle.cos(), angle.sin()))
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def _angles(x, positions):
    d = x.shape[-1]
    return torch.outer(positions.to(x.dtype), 100.0 ** (-torch.arange(0, d, 2) / d))


def _with(*turns):
    """A decoder whose layers turn their queries and keys in these ways."""
    ways = iter(turns)
    return Decoder(lambda: Block(attention=lambda: Attention(next(ways))), layers=len(turns))


def _forwards(x):
    return _turned(x, _angles(x, torch.arange(x.shape[-2])))


def temperature_of_one():
    """Llama 4: layers without positions multiply queries by a number that is one up to some length."""

    def tempered(x):
        n = torch.arange(x.shape[-2])
        return x * (1 + 0.1 * torch.log1p(torch.floor((n + 1) / 8192))).unsqueeze(-1)

    return _with(_forwards, tempered, _forwards)


def all_at_position_zero():
    return _with(_forwards, lambda x: _turned(x, _angles(x, torch.zeros(x.shape[-2]))), _forwards)


def _of_patches(x):
    n = torch.arange(x.shape[-2])
    rows, columns = (_angles(x[..., : x.shape[-1] // 2], one) for one in (n // 3, n % 3))
    return _turned(x, torch.cat([rows, columns], -1))


def two_coordinates():
    return _with(_of_patches, _of_patches)


def lengths_change():
    def mixed(x):
        angle = _angles(x, torch.arange(x.shape[-2])).repeat(1, 2)
        first, second = x.chunk(2, -1)
        return x * angle.cos() + torch.cat([second, first], -1) * angle.sin()

    return _with(mixed, mixed)


def _backwards(x):
    return _turned(x, -_angles(x, torch.arange(x.shape[-2])))


def all_backwards():
    return _with(_backwards, _backwards)


def one_layer_backwards():
    return _with(_forwards, _backwards, _forwards, _forwards)


class QueriesBackwards(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(_backwards(q), _forwards(k), v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def queries_backwards():
    return Decoder(lambda: Block(attention=QueriesBackwards))


# --- projections ------------------------------------------------------------------------------------------------------


class SharedKeys(nn.Module):
    """Reformer: the keys are the queries brought to one length. Without `normed`, they are the queries."""

    def __init__(self, normed=True):
        super().__init__()
        self.normed = normed
        self.qk, self.v, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x):
        q, v = (map_(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for map_ in (self.qk, self.v))
        k = q * torch.rsqrt(q.pow(2).mean(-1, keepdim=True) + 1e-6) if self.normed else q
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def shared_keys():
    return Decoder(lambda: Block(attention=SharedKeys))


def keys_of_queries():
    return Decoder(lambda: Block(attention=lambda: SharedKeys(normed=False)))


class ChosenQueries(nn.Module):
    """JetMoE: the experts that a token chooses make the query heads, and each has a query for every key head."""

    def __init__(self, experts=3, chosen=2, groups=2):
        super().__init__()
        self.chosen, self.groups = chosen, groups
        width = WIDTH // HEADS
        self.router = nn.Linear(WIDTH, experts, bias=False)
        self.queries = nn.Parameter(torch.randn(experts, WIDTH, groups * width) / 7)
        self.k, self.v = (nn.Linear(WIDTH, groups * width, bias=False) for _ in range(2))
        self.out = nn.Linear(chosen * groups * width, WIDTH, bias=False)

    def forward(self, x):
        index = self.router(x).topk(self.chosen, -1).indices
        every = torch.einsum("bld,edw->blew", x, self.queries)
        q = every.gather(2, index[..., None].expand(*index.shape, every.shape[-1]))
        q = q.unflatten(-1, (self.groups, -1)).flatten(2, 3).transpose(1, 2)
        k, v = (map_(x).unflatten(-1, (self.groups, -1)).transpose(1, 2) for map_ in (self.k, self.v))
        k, v = k.repeat(1, self.chosen, 1, 1), v.repeat(1, self.chosen, 1, 1)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def chosen_queries():
    return Decoder(lambda: Block(attention=ChosenQueries))


class TiledKeys(nn.Module):
    """Groups of query heads that read the key heads in turn, and not each its own."""

    def __init__(self, groups=2):
        super().__init__()
        self.groups = groups
        width = WIDTH // HEADS
        self.q, self.out = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, groups * width, bias=False) for _ in range(2))

    def forward(self, x):
        q = self.q(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        k, v = (map_(x).unflatten(-1, (self.groups, -1)).transpose(1, 2) for map_ in (self.k, self.v))
        k, v = k.repeat(1, HEADS // self.groups, 1, 1), v.repeat(1, HEADS // self.groups, 1, 1)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def tiled_keys():
    return Decoder(lambda: Block(attention=TiledKeys))


class GatedHeads(Attention):
    """MiniMax: what linear attention gives is normalised and gated, and then projected. Some forget the latter."""

    def __init__(self, projected=True):
        super().__init__()
        self.norm, self.gate, self.projected = nn.RMSNorm(WIDTH, eps=1e-6), nn.Linear(WIDTH, WIDTH), projected

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.projected:
            n = torch.arange(x.shape[1])
            decay = (0.9 ** (n[:, None] - n)).tril().to(x.dtype)
            q, k, v = (nn.functional.silu(one) for one in (q, k, v))
            y = (q @ k.transpose(-1, -2) * decay) @ v
            return self.out(self.norm(y.transpose(1, 2).flatten(2)) * self.gate(x).sigmoid())
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).flatten(2)


def gated_heads():
    attentions = iter((Attention, GatedHeads, Attention, Attention))
    return Decoder(lambda: Block(attention=next(attentions)), layers=4)


def without_projection():
    return Decoder(lambda: Block(attention=lambda: GatedHeads(projected=False)))


# --- the stream -------------------------------------------------------------------------------------------------------


class LateBias(nn.Module):
    """What a block adds is unknown, and one vector for all positions."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x):
        return x.cumsum(1).sin() + self.bias


def late_bias():
    return Decoder(lambda: Block(network=LateBias), layers=3)


class PositionsAgain(Decoder):
    def __init__(self):
        super().__init__(layers=3)
        self.positions = nn.Embedding(64, WIDTH)

    def forward(self, tokens):
        x, p = self.embed(tokens), self.positions(torch.arange(tokens.shape[1]))
        for block in self.stack.blocks:
            x = block(x + p)
        return self.head(self.stack.norm(x))


class DeepRouter(nn.Module):
    """Zaya: shares of experts by a network of three maps."""

    def __init__(self, experts=2, narrow=WIDTH):
        super().__init__()
        self.down, self.norm = nn.Linear(WIDTH, narrow), nn.RMSNorm(narrow, eps=1e-6)
        self.first, self.second, self.third = (nn.Linear(narrow, one) for one in (narrow, narrow, experts))
        self.experts = nn.ModuleList(Gated() for _ in range(experts))

    def forward(self, x):
        gelu = nn.functional.gelu
        shares = self.third(gelu(self.second(gelu(self.first(self.norm(self.down(x))))))).softmax(-1)
        return sum(shares[..., [i]] * expert(x) for i, expert in enumerate(self.experts))


def deep_router():
    return Decoder(lambda: Block(network=DeepRouter))


class NothingAdded(Block):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return self.network(self.norm2(x))


def nothing_added():
    return Decoder(NothingAdded)


class Joined(Block):
    """Zamba: a block without residuals, joined by a matrix to what a network reads beside the stream."""

    def __init__(self):
        super().__init__()
        self.join, self.further, self.norm3 = nn.Linear(WIDTH, WIDTH), Gated(), nn.RMSNorm(WIDTH, eps=1e-6)

    def forward(self, x):
        branch = self.network(self.norm2(self.attention(self.norm1(x))))
        return x + self.further(self.norm3(x + self.join(branch)))


def joined_block():
    blocks = iter((Block, Joined, Block))
    return Decoder(lambda: next(blocks)(), layers=3)


class WithGlobals(nn.Module):
    """Pegasus-X: global tokens go through the layers of the others, for these alone, so that their end is not read."""

    def __init__(self, layers=2, used=True):
        super().__init__()
        self.embed, self.globals = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(5, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(layers)), nn.RMSNorm(WIDTH, eps=1e-6)
        self.used = used

    def forward(self, tokens):
        x, g = self.embed(tokens), self.globals(torch.arange(5)).expand(len(tokens), -1, -1)
        for block in self.blocks:
            both = torch.cat([g, x], 1)
            both = both + block.attention(block.norm1(both))
            g, x = both[:, :5], both[:, 5:]
            y = block.network(block.norm2(x))
            g, x = g + block.network(block.norm2(g)), (x + y if self.used else x)
        return self.norm(x)


class TwoNormsAtTheEnd(Decoder):
    """The norm of the stack, and one of the head."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH, eps=1e-6)

    def forward(self, tokens):
        return self.head(self.norm(self.stack(self.embed(tokens))))


class ReadAsImage(nn.Module):
    """ViTDet: convolutions read the stream as it is. A head of classes may read it so, which is said."""

    def __init__(self, convolved=True):
        super().__init__()
        self.patches, self.blocks = nn.Linear(12, WIDTH), nn.ModuleList(Block() for _ in range(2))
        self.neck = nn.Conv2d(WIDTH, 16, 1) if convolved else nn.Linear(WIDTH, 16)
        self.convolved = convolved

    def forward(self, patches):
        x = self.patches(patches)
        for block in self.blocks:
            x = block(x)
        return self.neck(x.transpose(1, 2).unflatten(-1, (4, -1)) if self.convolved else x)


class EndsWithoutNorm(nn.Module):
    """A decoder whose stream ends with a norm, or without one, before the map to its outputs."""

    def __init__(self, normed, outputs=VOCABULARY):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(VOCABULARY, WIDTH), nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH) if normed else nn.Identity()
        self.head = nn.Linear(WIDTH, outputs)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class InBlocks(Attention):
    """Attends to keys up to `count`, filled up to whole blocks, or not: the fill is hidden, and padding too."""

    count = None

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = (torch.arange(x.shape[1]) < self.count).expand(len(x), 1, 1, -1)
        y = nn.functional.scaled_dot_product_attention(q, k, v, seen)
        return self.out(y.transpose(1, 2).flatten(2))


class FilledUp(Translator):
    """The encoder sees whole blocks and hides what fills the last one up, and the decoder is not handed that.

    Without `cut`, the decoder sees what the encoder hides.
    """

    def __init__(self, cut=True, block=8):
        super().__init__()
        self.cut, self.block = cut, block
        for one in self.encoder:
            one.attention = InBlocks(causal=False)

    def forward(self, source, target):
        memory, x, count = self.source(source), self.target(target), source.shape[1]
        memory = nn.functional.pad(memory, (0, 0, 0, -count % self.block))
        for block in self.encoder:
            block.attention.count = count
            memory = block(memory)
        for block in self.decoder:
            x = block(x, memory[:, :count] if self.cut else memory)
        return self.head(x)


class GatedNorm(nn.Module):
    """A.X K2: a narrow network gates what a norm gives."""

    def __init__(self, narrow=16):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH, eps=1e-6)
        self.first, self.second = nn.Linear(WIDTH, narrow, bias=False), nn.Linear(narrow, WIDTH, bias=False)

    def forward(self, x):
        x = self.norm(x)
        return x * self.second(nn.functional.silu(self.first(x))).sigmoid()


class Latents(nn.Module):
    """Queries of a latent and of the norm of it side by side, keys and values of another latent."""

    def __init__(self, narrow=16, turned=4):
        super().__init__()
        part = WIDTH // HEADS
        self.narrow, self.turned, self.part = narrow, turned, part
        self.q_a, self.q_norm = nn.Linear(WIDTH, narrow, bias=False), nn.RMSNorm(narrow, eps=1e-6)
        self.q_b = nn.Linear(2 * narrow, HEADS * (part + turned), bias=False)
        self.kv_a, self.kv_norm = nn.Linear(WIDTH, narrow + turned, bias=False), nn.RMSNorm(narrow, eps=1e-6)
        self.kv_b, self.out = nn.Linear(narrow, HEADS * 2 * part, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        a = self.q_a(x)
        q = self.q_b(torch.cat([self.q_norm(a), a], -1)).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        c, r = self.kv_a(x).split([self.narrow, self.turned], -1)
        k, v = self.kv_b(self.kv_norm(c)).unflatten(-1, (HEADS, -1)).transpose(1, 2).chunk(2, -1)
        r = _forwards(r.unsqueeze(1)).expand(-1, HEADS, -1, -1)
        q = torch.cat([q[..., : self.part], _forwards(q[..., self.part :])], -1)
        y = nn.functional.scaled_dot_product_attention(q, torch.cat([k, r], -1), v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def gated_norms():
    return Decoder(lambda: Block(attention=Latents, norm=GatedNorm))


# --- positions, and what is drawn -------------------------------------------------------------------------------------


class CountedFromOne(nn.Module):
    """fairseq: row 0 of the table of positions stands for padding, where the table says so."""

    def __init__(self, padding_row):
        super().__init__()
        self.embed, self.stack = nn.Embedding(VOCABULARY, WIDTH), Stack()
        self.positions = nn.Embedding(64, WIDTH, padding_idx=padding_row)

    def forward(self, tokens):
        return self.stack(self.embed(tokens) + self.positions(torch.arange(1, tokens.shape[1] + 1)))


class SomePatches(nn.Module):
    """ViT-MAE: numbers that are drawn say which patches are seen. Those of a dropout multiply what is seen."""

    def __init__(self, dropped=False):
        super().__init__()
        self.map, self.stack, self.dropped = nn.Linear(12, WIDTH), Stack(), dropped

    def forward(self, patches):
        x = self.map(patches)
        if self.dropped:
            return self.stack(nn.functional.dropout(x, 0.3, training=True))
        kept = torch.rand(x.shape[:2]).argsort(1)[:, :6]
        return self.stack(x.gather(1, kept[..., None].expand(-1, -1, WIDTH)))


class Compressed(nn.Module):
    """DeepSeek-V4: so many positions are one key more, and there are none where the input is shorter than that."""

    def __init__(self, at_a_time=32):
        super().__init__()
        self.at_a_time, self.attention = at_a_time, Attention()
        self.gate, self.bias = nn.Linear(WIDTH, WIDTH, bias=False), nn.Parameter(torch.randn(at_a_time, WIDTH))

    def forward(self, x):
        whole = x.shape[1] // self.at_a_time * self.at_a_time
        gates = self.gate(x)[:, :whole]
        y = self.attention(x)
        if whole:
            chunks = (gates.unflatten(1, (-1, self.at_a_time)) + self.bias).softmax(2)
            y = y + (chunks * x[:, :whole].unflatten(1, (-1, self.at_a_time))).sum(2).mean(1, keepdim=True)
        return y


def compressed():
    return Decoder(lambda: Block(attention=Compressed), layers=3)


class GateUnused(Compressed):
    def forward(self, x):
        self.gate(x) + self.bias[0]
        return self.attention(x)


def gate_unused():
    return Decoder(lambda: Block(attention=GateUnused), layers=3)
