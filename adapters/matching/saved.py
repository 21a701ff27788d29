"""What a forward pass keeps for its backward pass: the parts that it returns, and what the names of parameters say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.texts import source_of, tree_of

CACHES = frozenset("cache ctx saved context memo tape residuals res state saved_tensors savedtensors stash".split())  # noqa: SIM905
"""What a backward pass calls all that the forward pass kept."""
_PROBABILITIES = (
    "p probs prob probabilities attn attnweights attentionweights weights a alpha attention scores softmaxed"
)
_NAMES: Mapping[str, Mapping[str, str]] = {
    "softmax": {
        "output": "s p probs prob probabilities y out output softmaxoutput softmaxout sm yhat softmaxx softmaxed"
    },
    "scaled_dot_product_attention": {
        "probabilities": _PROBABILITIES,
        "output": "o out output y",
        "log_sum": "lse logsumexp",
    },
    "layer_norm": {
        "normal": "xhat xnorm normed normalized xnormalized xn norm normx",
        "mean": "mean mu xmean",
        "variance": "var variance sigma2 xvar",
        "root": "std sigma stddev xstd",
        "inverse": "rstd invstd istd ivar invsigma stdinv rsigma invvar",
    },
    "rms_norm": {
        "normal": "xhat xnorm normed normalized xnormalized xn norm normx",
        "root": "rms r root",
        "inverse": "rrms invrms rstd inv irms rsqrt invroot",
    },
}
# A name that may mean something else: what is made of such a guess is no evidence of a mistake.
_UNCERTAIN = frozenset("s a alpha attention scores weights y out output norm r p inv".split())  # noqa: SIM905
_OF_NORMS = ("r", "inv", "norm")


def kept_called(operation: str, name: str) -> str | None:
    """Return which of the numbers that a backward pass may be handed is called so; None where none is."""
    named = _NAMES.get(operation, {})
    return next((kind for kind, names in named.items() if folded(name) in names.split()), None)


def is_uncertain(name: str, function: Callable[..., Any]) -> bool:
    """Return whether a name of what is kept may mean something else; what takes no exponentials is given them."""
    if folded(name) not in _UNCERTAIN:
        return False
    text = source_of(function)
    return text is None or folded(name) in _OF_NORMS or "exp(" in text or "softmax(" in text


def kept(kind: str, arguments: Arguments, arrays: ArrayFramework, *, flat: bool) -> Any:
    """Return what a forward pass keeps, of arguments in the layout of the function; `flat` has no axis of length 1."""
    if "query" in arguments:
        found = _of_attention(kind, arguments, arrays)
        like = arguments["query"]
    else:
        found = _of_vectors(kind, arguments, arrays)
        like = arguments["x"]
    return _given(found[..., 0] if flat and found.shape[-1:] == (1,) else found, like, arrays)


def _of_attention(kind: str, arguments: Arguments, arrays: ArrayFramework) -> np.ndarray:
    query, key, value = (arrays.to_numpy(arguments[name]) for name in ("query", "key", "value"))
    logits = query @ np.swapaxes(key, -1, -2) * arguments.get("scale", query.shape[-1] ** -0.5)
    if arguments.get("mask") is not None:
        logits = np.where(arrays.to_numpy(arguments["mask"]), logits, -np.inf)
    if arguments.get("is_causal"):
        logits = np.where(np.tri(*logits.shape[-2:]) > 0, logits, -np.inf)
    largest = np.max(logits, axis=-1, keepdims=True, initial=-1e300)
    exponentials = np.exp(logits - largest)
    total = exponentials.sum(axis=-1, keepdims=True)
    if kind == "log_sum":
        return np.asarray(largest + np.log(total))[..., 0]
    probabilities = exponentials / np.where(total == 0, 1.0, total)
    return np.asarray(probabilities if kind == "probabilities" else probabilities @ value)


def _of_vectors(kind: str, arguments: Arguments, arrays: ArrayFramework) -> np.ndarray:
    x = arrays.to_numpy(arguments["x"])
    if kind == "output":
        exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))
    mean = x.mean(axis=-1, keepdims=True) if "beta" in arguments else 0.0
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    root = np.sqrt(variance + arguments["eps"])
    of_kind = {"normal": (x - mean) / root, "mean": mean, "variance": variance, "root": root, "inverse": 1.0 / root}
    return np.asarray(of_kind[kind])


def _given(values: np.ndarray, like: Any, arrays: ArrayFramework) -> Any:
    """Return values as an array of the dtype of another one, rounded to it."""
    dtype = arrays.dtype_name(like)
    if dtype == "bfloat16":
        values = (np.asarray(values, dtype=np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    elif dtype != "float64":
        values = np.asarray(values, dtype=dtype)
    return arrays.from_numpy(values, dtype)


def places_of_results(function: Callable[..., Any]) -> dict[str, tuple[int, ...]]:
    """Return where in what a function returns there is what by the names in its last `return`."""
    tree = tree_of(function)
    found: dict[str, tuple[int, ...]] = {}
    returns = [one.value for one in (ast.walk(tree) if tree else ()) if isinstance(one, ast.Return)]
    if returns and isinstance(returns[-1], ast.Tuple):
        _add_places(returns[-1], (), found)
    return found


def _add_places(node: ast.Tuple, place: tuple[int, ...], found: dict[str, tuple[int, ...]]) -> None:
    for number, one in enumerate(node.elts):
        if isinstance(one, ast.Name):
            found.setdefault(one.id, (*place, number))
        elif isinstance(one, ast.Tuple):
            _add_places(one, (*place, number), found)


def cache_in(returned: Any, name: str, places: Mapping[str, tuple[int, ...]]) -> Any:
    """Return all that a forward pass kept: what is called so, else its last result; TypeError where it kept nothing."""
    if not isinstance(returned, tuple | list) or len(returned) < 2:
        raise TypeError("its forward function returns no cache")
    return at(returned, places[name]) if name in places else returned[-1]


def at(returned: Any, place: tuple[int, ...]) -> Any:
    """Return what is at a place of nested results."""
    for number in place:
        returned = returned[number]
    return returned
