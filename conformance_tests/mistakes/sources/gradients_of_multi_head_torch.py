"""Multi-head attention in PyTorch whose inner attention has a backward pass of its own."""

import math

import torch

framework = "torch"


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(context, query, key, value, visible):
        logits = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        weights = torch.softmax(logits.masked_fill(~visible, float("-inf")), dim=-1).masked_fill(~visible, 0.0)
        context.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    def backward(context, grad_output):
        query, key, value, weights = context.saved_tensors
        grad_value = weights.transpose(-1, -2) @ grad_output
        grad_weights = grad_output @ value.transpose(-1, -2)
        average = (weights * grad_weights).sum(dim=-1, keepdim=True)
        grad_logits = weights * (grad_weights - average) / math.sqrt(query.shape[-1])
        return grad_logits @ key, grad_logits.transpose(-1, -2) @ query, grad_value, None


def project(x, weight, bias):
    return x @ weight if bias is None else x @ weight + bias


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def multi_head_attention(x, context, weights, *, num_heads, mask=None):
    query = split(project(x, weights.w_q, weights.b_q), num_heads)
    key = split(project(context, weights.w_k, weights.b_k), num_heads)
    value = split(project(context, weights.w_v, weights.b_v), num_heads)
    visible = torch.ones(x.shape[1], context.shape[1], dtype=torch.bool) if mask is None else mask
    heads = Attend.apply(query, key, value, visible)
    return project(heads.transpose(1, 2).flatten(-2), weights.w_o, weights.b_o)


def single_head_attention(x, weights, *, mask=None):
    query, key, value = x @ weights.w_q, x @ weights.w_k, x @ weights.w_v
    visible = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool) if mask is None else mask
    return Attend.apply(query, key, value, visible)
