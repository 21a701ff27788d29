"""A correct implementation in PyTorch; the tests change one line at a time."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def clip_by_global_norm(gradients, *, max_norm):
    norms = [torch.linalg.vector_norm(gradient) for gradient in gradients]
    total_norm = torch.linalg.vector_norm(torch.stack(norms))
    clip_coef = max_norm / (total_norm + 1e-6)
    clip_coef_clamped = torch.clamp(clip_coef, max=1.0)
    return [gradient * clip_coef_clamped for gradient in gradients]
