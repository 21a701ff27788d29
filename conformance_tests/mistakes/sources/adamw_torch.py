"""A correct implementation in PyTorch; the tests change one line at a time."""

import math

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16")


def adamw_step(
    parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay
):
    exp_avg, exp_avg_sq = first_moment.clone(), second_moment.clone()
    data = parameter * (1 - learning_rate * weight_decay)
    exp_avg.mul_(beta1).add_(gradient, alpha=1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    denominator = (exp_avg_sq.sqrt() / math.sqrt(1 - beta2**step)).add_(eps)
    step_size = learning_rate / (1 - beta1**step)
    return torch.addcdiv(data, exp_avg, denominator, value=-step_size), exp_avg, exp_avg_sq
