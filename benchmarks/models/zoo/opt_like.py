"""OPT in small: pre-norm, ReLU, learned positions with an offset of two, scaled queries."""

from typing import Optional

import torch
from torch import nn


class OPTLearnedPositionalEmbedding(nn.Embedding):
    """Positions are offset by 2, as the padding index of fairseq made them."""

    def __init__(self, num_embeddings: int, embedding_dim: int):
        self.offset = 2
        super().__init__(num_embeddings + self.offset, embedding_dim)

    def forward(self, attention_mask: torch.Tensor):
        positions = torch.cumsum(attention_mask, dim=1).type_as(attention_mask) * attention_mask - 1
        return super().forward(positions.long() + self.offset)


class OPTAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def _shape(self, tensor: torch.Tensor, seq_len: int, bsz: int):
        return tensor.view(bsz, seq_len, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

    def forward(self, hidden_states, attention_mask):
        bsz, tgt_len, _ = hidden_states.size()
        query_states = self.q_proj(hidden_states) * self.scaling
        key_states = self._shape(self.k_proj(hidden_states), -1, bsz)
        value_states = self._shape(self.v_proj(hidden_states), -1, bsz)

        proj_shape = (bsz * self.num_heads, -1, self.head_dim)
        query_states = self._shape(query_states, tgt_len, bsz).view(*proj_shape)
        key_states = key_states.view(*proj_shape)
        value_states = value_states.view(*proj_shape)

        attn_weights = torch.bmm(query_states, key_states.transpose(1, 2))
        attn_weights = attn_weights.view(bsz, self.num_heads, tgt_len, tgt_len) + attention_mask
        attn_weights = attn_weights.view(bsz * self.num_heads, tgt_len, tgt_len)
        attn_weights = nn.functional.softmax(attn_weights, dim=-1)

        attn_output = torch.bmm(attn_weights, value_states)
        attn_output = attn_output.view(bsz, self.num_heads, tgt_len, self.head_dim)
        attn_output = attn_output.transpose(1, 2).reshape(bsz, tgt_len, self.embed_dim)
        return self.out_proj(attn_output)


class OPTDecoderLayer(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.self_attn = OPTAttention(embed_dim, num_heads, layer_idx)
        self.activation_fn = nn.ReLU()
        self.self_attn_layer_norm = nn.LayerNorm(embed_dim)
        self.fc1 = nn.Linear(embed_dim, ffn_dim)
        self.fc2 = nn.Linear(ffn_dim, embed_dim)
        self.final_layer_norm = nn.LayerNorm(embed_dim)

    def forward(self, hidden_states, attention_mask):
        residual = hidden_states
        hidden_states = self.self_attn_layer_norm(hidden_states)
        hidden_states = self.self_attn(hidden_states, attention_mask)
        hidden_states = residual + hidden_states

        # Fully Connected
        hidden_states_shape = hidden_states.shape
        hidden_states = hidden_states.reshape(-1, hidden_states.size(-1))
        residual = hidden_states
        hidden_states = self.final_layer_norm(hidden_states)
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        hidden_states = self.fc2(hidden_states)
        hidden_states = (residual + hidden_states).view(hidden_states_shape)
        return hidden_states


class OPTModel(nn.Module):
    def __init__(self, vocab=69, word_dim=20, hidden=36, heads=2, ffn=98, layers=3, max_positions=30):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, word_dim, padding_idx=1)
        self.embed_positions = OPTLearnedPositionalEmbedding(max_positions, hidden)
        # the 350m model projects the word embeddings to and from the width of the layers
        self.project_in = nn.Linear(word_dim, hidden, bias=False)
        self.project_out = nn.Linear(hidden, word_dim, bias=False)
        self.layers = nn.ModuleList([OPTDecoderLayer(hidden, heads, ffn, i) for i in range(layers)])
        self.final_layer_norm = nn.LayerNorm(hidden)

    def forward(self, input_ids: torch.Tensor, attention_mask: Optional[torch.Tensor] = None):
        bsz, length = input_ids.shape
        if attention_mask is None:
            attention_mask = torch.ones(bsz, length, dtype=torch.long, device=input_ids.device)
        inputs_embeds = self.project_in(self.embed_tokens(input_ids))
        hidden_states = inputs_embeds + self.embed_positions(attention_mask)

        min_value = torch.finfo(hidden_states.dtype).min
        causal = torch.full((length, length), min_value, dtype=hidden_states.dtype, device=input_ids.device)
        causal = torch.triu(causal, diagonal=1)[None, None]
        padded = (attention_mask == 0)[:, None, None, :]
        mask = causal.expand(bsz, 1, length, length).masked_fill(padded, min_value)
        for decoder_layer in self.layers:
            hidden_states = decoder_layer(hidden_states, mask)
        hidden_states = self.project_out(self.final_layer_norm(hidden_states))
        return nn.functional.linear(hidden_states, self.embed_tokens.weight)


def build():
    torch.manual_seed(350)
    return OPTModel()
