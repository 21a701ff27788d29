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
    cotangents = ", ".join(handed[name] for name in operation.cotangents)
    # Several results have a tuple of gradients.
    cotangents = f"({cotangents})" if len(operation.cotangents) > 1 else cotangents
    given = "".join(f", {keyword}" for keyword in keywords)
    call = f"implementation.{operation.forward}({', '.join(inputs)}{given})"
    several = operation.returns_several_arrays
    lines = [f"{name} = {text}" for name, text in inputs.items() if text != name]
    if framework == "torch":
        leaves = [leaf for name in operation.differentiated for leaf in arrays.get(name, (name,))]
        several_results = len(operation.cotangents) > 1
        # Of several results some may lead nowhere, which torch refuses to go back from.
        loss = f"loss = sum((one * gradient).sum() for one, gradient in zip(output, {cotangents}))"
        ends = "loss, leaves" if several_results else f"output, leaves, {cotangents}"
        gradients = f"torch.autograd.grad({ends}, materialize_grads=True)"
        return [
            remark,
            *lines,
            f"leaves = [{', '.join(leaves)}]",
            "for leaf in leaves:",
            "    leaf.requires_grad_()",
            f"output = {call}",
            *([loss] if several_results else []),
            f"{result} = {gradients if several else f'{gradients}[0]'}",
        ]
    by = ", ".join(operation.differentiated)
    flat = f"jax.tree.leaves(backward({cotangents}))"
    return [
        remark,
        *(_TREE if arrays else ()),
        *lines,
        f"output, backward = jax.vjp(lambda {by}: {call}, {by})",
        f"{result} = {flat if several else f'{flat}[0]'}",
    ]
