"""How a script differentiates a forward pass in each framework."""

from __future__ import annotations

from collections.abc import Sequence


def derived_call(
    framework: str, forward: str, positional: Sequence[str], keywords: Sequence[str], result: str
) -> list[str]:
    """Return the lines that call a forward pass and differentiate its result.

    The last positional argument is the gradient of the result; `result` is the name of the gradients.
    """
    *inputs, cotangent = positional
    given = "".join(f", {keyword}" for keyword in keywords)
    remark = f"# The backward pass is {framework}'s own, by automatic differentiation of {forward}."
    if framework == "torch":
        return [
            remark,
            f"leaves = [array.detach().requires_grad_() for array in ({', '.join(inputs)})]",
            f"output = implementation.{forward}(*leaves{given})",
            f"{result} = torch.autograd.grad(output, leaves, {cotangent}, materialize_grads=True)",
        ]
    return [
        remark,
        f"output, backward = jax.vjp(lambda *leaves: implementation.{forward}(*leaves{given}), {', '.join(inputs)})",
        f"{result} = backward({cotangent})",
    ]
