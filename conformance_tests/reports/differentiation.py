"""How a script differentiates a forward pass in each framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veriformer.spec.operations import Operation

# A record of weights as JAX sees it: the arrays in it, and their names.
_TREE = (
    "jax.tree_util.register_pytree_node(",
    "    SimpleNamespace,",
    "    lambda node: (tuple(vars(node).values()), tuple(vars(node))),",
    "    lambda names, values: SimpleNamespace(**dict(zip(names, values))),",
    ")",
)


def derived_call(
    framework: str,
    operation: Operation,
    handed: Mapping[str, str],
    keywords: Sequence[str],
    result: str,
    arrays: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the lines that call a forward pass and differentiate its result by the arguments of a backward pass.

    `handed` are the expressions of its positional arguments, `keywords` those of the others; `arrays` are the
    expressions of all arrays of each argument that is a record, by the argument's name. `result` is the name of what
    the backward pass returns: a gradient, or the list of all, record by record.
    """
    remark = f"# The backward pass is {framework}'s own, by automatic differentiation of {operation.forward}."
    inputs = {name: text for name, text in handed.items() if name not in operation.cotangents}
    cotangents = [handed[name] for name in operation.cotangents]
    given = "".join(f", {keyword}" for keyword in keywords)
    call = f"implementation.{operation.forward}({', '.join(inputs)}{given})"
    named = [f"{name} = {text}" for name, text in inputs.items() if text != name]
    leaves = [leaf for name in operation.differentiated for leaf in arrays.get(name, (name,))]
    if framework == "jax":
        lines, found = _of_jax(operation.differentiated, call, cotangents)
    else:
        lines, found = _OF_LEAVES[framework](leaves, call, cotangents)
    gradients = found if operation.returns_several_arrays else f"{found}[0]"
    before = _TREE if framework == "jax" and arrays else ()
    return [remark, *before, *named, *lines, f"{result} = {gradients}"]


def _of_jax(differentiated: Sequence[str], call: str, cotangents: Sequence[str]) -> tuple[list[str], str]:
    by = ", ".join(differentiated)
    return [f"output, backward = jax.vjp(lambda {by}: {call}, {by})"], f"jax.tree.leaves(backward({_one(cotangents)}))"


def _of_torch(leaves: Sequence[str], call: str, cotangents: Sequence[str]) -> tuple[list[str], str]:
    named = ", ".join(leaves)
    # One tensor may be given twice, and has a gradient for each place.
    lines = [
        f"leaves = [leaf.detach().requires_grad_() for leaf in [{named}]]",
        f"[{named}] = leaves",
        f"output = {call}",
    ]
    if len(cotangents) == 1:
        return lines, f"torch.autograd.grad(output, leaves, {cotangents[0]}, materialize_grads=True)"
    # Of several results some may lead nowhere, which torch refuses to go back from.
    loss = f"loss = sum((one * gradient).sum() for one, gradient in zip(output, {_one(cotangents)}))"
    return [*lines, loss], "torch.autograd.grad(loss, leaves, materialize_grads=True)"


def _of_tensorflow(leaves: Sequence[str], call: str, cotangents: Sequence[str]) -> tuple[list[str], str]:
    lines = [
        f"leaves = [tf.identity(leaf) for leaf in [{', '.join(leaves)}]]",
        f"[{', '.join(leaves)}] = leaves",
        "with tf.GradientTape() as tape:",
        "    tape.watch(leaves)",
        f"    output = {call}",
        f'gradients = tape.gradient(output, leaves, {_one(cotangents)}, unconnected_gradients="zero")',
    ]
    return lines, "list(map(tf.convert_to_tensor, gradients))"


def _of_mlx(leaves: Sequence[str], call: str, cotangents: Sequence[str]) -> tuple[list[str], str]:
    lines = [
        "",
        "",
        "def forward(*leaves):",
        f"    [{', '.join(leaves)}] = leaves",
        f"    return {call}",
        "",
        "",
        f"output, gradients = mx.vjp(forward, [{', '.join(leaves)}], [{', '.join(cotangents)}])",
    ]
    return lines, "gradients"


def _one(cotangents: Sequence[str]) -> str:
    """Return the gradient of the result; several results have a tuple of gradients."""
    return cotangents[0] if len(cotangents) == 1 else f"({', '.join(cotangents)})"


_OF_LEAVES = {"torch": _of_torch, "tensorflow": _of_tensorflow, "mlx": _of_mlx}
