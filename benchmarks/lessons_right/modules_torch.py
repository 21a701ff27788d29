"""In PyTorch, with what it offers."""

import math

import torch
from torch import nn
from torch.nn import functional

framework = "torch"


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, mask=None):
        scores = torch.bmm(self.W_q(x), self.W_k(x).mT) * self.W_k.weight.shape[0] ** -0.5
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        return scores.softmax(-1).nan_to_num() @ self.W_v(x)


def single_head_attention(x, weights, *, mask=None):
    head = SingleHeadAttention(*weights.w_q.shape, weights.w_v.shape[1]).to(x.dtype)
    head.load_state_dict({f"W_{name}.weight": getattr(weights, f"w_{name}").T for name in "qkv"})
    return head(x, mask)


def causal_mask(query_length, key_length):
    return torch.ones(query_length, key_length, dtype=torch.bool).tril()


def padding_mask(lengths, max_length):
    return torch.arange(max_length).expand(len(lengths), -1) < lengths.unsqueeze(1)


def sinusoidal_positions(length, d_model):
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rates = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rates)
    table[:, 1::2] = torch.cos(position * rates)
    return table


def gated_feed_forward(x, weights, *, activation):
    gate = getattr(functional, activation)(functional.linear(x, weights.w_gate.T))
    return functional.linear(gate * functional.linear(x, weights.w_up.T), weights.w_down.T)


def merge_attention(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    shares = [torch.where(lse.isneginf(), 0, torch.exp(part - lse)) for part in (lse_a, lse_b)]
    return shares[0][..., None] * output_a + shares[1][..., None] * output_b, lse


def next_token_loss(logits, tokens, *, ignore_index=-100):
    return nn.CrossEntropyLoss(ignore_index=ignore_index)(logits[:, :-1].mT, tokens[:, 1:])


def clip_by_global_norm(gradients, *, max_norm):
    parameters = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    nn.utils.clip_grad_norm_(parameters, max_norm)
    return [parameter.grad for parameter in parameters]


def adamw_step(
    parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay
):
    mean, square = first_moment.lerp(gradient, 1 - beta1), second_moment.lerp(gradient.square(), 1 - beta2)
    size = square.div(1 - beta2**step).sqrt().add(eps)
    moved = parameter.mul(1 - learning_rate * weight_decay)
    return moved.addcdiv(mean, size, value=-learning_rate / (1 - beta1**step)), mean, square
