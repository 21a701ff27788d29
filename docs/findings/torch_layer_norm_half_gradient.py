"""On the CPU the gradients of LayerNorm's weight and bias are summed in the dtype itself: bfloat16 counts to 256."""

import torch
from torch.nn import functional

x = torch.linspace(-1.0, 1.0, 4096 * 4).reshape(4096, 4)
for dtype, most in ((torch.float32, 4096), (torch.float16, 2048), (torch.bfloat16, 256)):
    weight, bias = torch.ones(4, dtype=dtype), torch.zeros(4, dtype=dtype, requires_grad=True)
    output = functional.layer_norm(x.to(dtype).requires_grad_(), (4,), weight, bias)
    # One thread sums all rows, where the machine has more than one too.
    torch.set_num_threads(1)
    (gradient,) = torch.autograd.grad(output, bias, torch.ones_like(output))
    print(f"{dtype}: 4096 ones add up to {gradient.tolist()}")
    assert gradient.eq(most).all()
