"""Which array is the gradient of a parameter, by their names and by where they stand."""

from __future__ import annotations

from veriformer.adapters.matching.names import folded

# What holds the gradients of several parameters by the parameters' own names.
_TOGETHER = frozenset(("grads", "grad", "gradients", "gradient", "dparams", "dparameters", "gradparams", "g"))
# What an object that is one parameter calls its numbers.
_NUMBERS = frozenset(("data", "value", "array", "val"))


def may_be_gradient(path: str) -> bool:
    """Return whether an array may be the gradient of another one, by its own path alone."""
    holder, _, name = path.rpartition(".")
    own = folded(name)
    return own[:1] in ("d", "g") or own.endswith("grad") or holds_gradients(holder.rpartition(".")[2])


def holds_gradients(name: str) -> bool:
    """Return whether something is called like what holds the gradients of several parameters."""
    return folded(name) in _TOGETHER


def is_beside(path: str, parameter: str) -> bool:
    """Return whether the array at a path is the gradient of a parameter: `dW` beside `W`, or `W` in `grads`."""
    parent, _, key = parameter.rpartition(".")
    holder, _, name = path.rpartition(".")
    if holder == parent:
        return is_gradient_of(name, key)
    above, _, last = holder.rpartition(".")
    # Gradients lie in what the parameters are beside, or beside what these lie in.
    among = above in (parent, parent.rpartition(".")[0]) and holds_gradients(last)
    return among and (name == key or is_gradient_of(name, key))


def is_gradient_of(name: str, parameter: str) -> bool:
    """Return whether a name is that of a parameter with a word for a gradient before or behind it."""
    own, of = folded(name), folded(parameter)
    of_numbers = of in _NUMBERS and own == "grad"
    return of_numbers or own in (f"d{of}", f"grad{of}", f"{of}grad", f"g{of}", f"gradient{of}", f"dl{of}", f"dld{of}")
