"""What PyTorch has for training, as operations.

Source: torch.optim.AdamW and torch.nn.utils.clip_grad_norm_, in PyTorch's documentation.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any


def adamw_step(
    parameter: Tensor,
    gradient: Tensor,
    first_moment: Tensor,
    second_moment: Tensor,
    *,
    step: int,
    learning_rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Take one step of torch.optim.AdamW whose state is that of the step before."""
    moved = torch.nn.Parameter(parameter.detach().clone())
    moved.grad = gradient.detach().clone()
    optimizer = torch.optim.AdamW([moved], lr=learning_rate, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay)
    state = {"exp_avg": first_moment.detach().clone(), "exp_avg_sq": second_moment.detach().clone()}
    optimizer.state[moved] = {"step": torch.tensor(float(step - 1)), **state}
    optimizer.step()
    return moved.detach(), state["exp_avg"], state["exp_avg_sq"]


def clip_by_global_norm(gradients: list[Tensor], *, max_norm: float) -> list[Tensor]:
    """Clip with torch.nn.utils.clip_grad_norm_, which writes over the gradients of parameters: of copies here."""
    parameters = [torch.nn.Parameter(torch.empty_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.detach().clone()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [parameter.grad for parameter in parameters]
