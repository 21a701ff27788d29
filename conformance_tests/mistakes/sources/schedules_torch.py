"""A correct implementation in PyTorch; the tests change one line at a time."""

import torch

framework = "torch"


def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    # nanoGPT's warm-up, whose first step is not lost.
    rise = torch.tensor((step + 1) / (warmup_steps + 1)).clamp(max=1.0)
    progress = torch.tensor((step - warmup_steps) / (total_steps - warmup_steps)).clamp(0.0, 1.0)
    fall = least + (peak - least) * (1 + torch.cos(torch.pi * progress)) / 2
    return torch.where(torch.tensor(step < warmup_steps), peak * rise, fall)


def warmup_inverse_root_learning_rate(step, *, d_model, warmup_steps):
    arguments = torch.tensor([step, warmup_steps, d_model], dtype=torch.float32)
    return arguments[2].rsqrt() * torch.minimum(arguments[0].rsqrt(), arguments[0] * arguments[1] ** -1.5)
