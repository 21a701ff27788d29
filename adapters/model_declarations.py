"""Reading what an object declares about whole models: the architectures it has, and what its black box takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from veriformer.adapters.errors import LoadError
from veriformer.adapters.spelling import listing, suggestion

_FORWARD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "encoder": ("bert",),
        "encoder_decoder": ("vaswani", "bart"),
        "language_model": ("gpt", "llama"),
        "decode_step": ("gpt", "llama"),
        "initial_weights": ("gpt", "llama", "bert"),
    }
)
# A backward pass has the architectures of its forward pass, and so has training.
_FOLLOWING = {
    **{f"{name}_backward": name for name in ("encoder", "encoder_decoder", "language_model")},
    "training_steps": "language_model",
}
ARCHITECTURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**_FORWARD, **{name: _FORWARD[forward] for name, forward in _FOLLOWING.items()}}
)
PROPERTIES = ("causal", "permutation_equivariant", "ignored_labels")
# The sizes that a black box has: the inputs that it takes, and what they cost.
INPUTS = ("vocabulary_size", "d_model", "max_length", "min_length", "max_batch", "lowest_token", "products_per_token")
# Of these 0 is a value too.
_COUNTS = ("lowest_token", "products_per_token")


@dataclass(frozen=True)
class BlackBox:
    """The inputs of an implementation's `model`, and what it promises beyond the interface.

    It takes tokens if `vocabulary_size` is given, vectors if `d_model` is; exactly one of the two is given. Tokens
    below `lowest_token` have a meaning of their own, such as padding. `products_per_token` bounds the work of its laws;
    0 if it is unknown. `parameters` are the names of those whose gradients it returns. A model that was built for
    sequences of one length has it as `min_length` too. One whose caches have a row for each sample takes at most
    `max_batch` of them.
    """

    vocabulary_size: int | None = None
    d_model: int | None = None
    max_length: int | None = None
    min_length: int = 1
    max_batch: int | None = None
    lowest_token: int = 0
    products_per_token: int = 0
    properties: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


def read_architectures(received: object, name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the architectures of each operation on whole models, all by default; LoadError for an unknown name."""
    if received is None:
        return ARCHITECTURES
    if not isinstance(received, Mapping):
        raise LoadError(
            f"{name}: architectures is a {type(received).__name__}; set it to a mapping from operation to "
            'architectures, for example {"language_model": ("gpt",)}'
        )
    declared = dict(ARCHITECTURES)
    for operation, architectures in received.items():
        if operation not in ARCHITECTURES:
            raise _unknown(name, f"architectures has {operation!r}", str(operation), tuple(ARCHITECTURES))
        declared[operation] = _names(architectures, ARCHITECTURES[operation], f"{name}: architectures[{operation!r}]")
    declared |= {name: declared[forward] for name, forward in _FOLLOWING.items() if name not in received}
    return MappingProxyType(declared)


def read_black_box(inputs: object, properties: object, parameters: object, name: str) -> BlackBox | None:
    """Return `model_inputs`, `model_properties` and `model_parameters`, None without the first.

    LoadError for unknown names.
    """
    if inputs is None:
        return None
    if not isinstance(inputs, Mapping) or len({"vocabulary_size", "d_model"} & set(inputs)) != 1:
        raise LoadError(
            f"{name}: model_inputs is {inputs!r}; set it to a mapping with vocabulary_size (a model of tokens) or "
            'd_model (a model of vectors), for example {"vocabulary_size": 1000, "max_length": 128}'
        )
    for key, value in inputs.items():
        if key not in INPUTS:
            raise _unknown(name, f"model_inputs has {key!r}", str(key), INPUTS)
        if not isinstance(value, int) or isinstance(value, bool) or value < (key not in _COUNTS):
            kind = "an integer that is not negative" if key in _COUNTS else "a positive integer"
            raise LoadError(f"{name}: model_inputs[{key!r}] is {value!r}; set it to {kind}")
    if inputs.get("lowest_token", 0) >= inputs.get("vocabulary_size", 1) > 0:
        raise LoadError(f"{name}: model_inputs has no token at or above its lowest_token {inputs['lowest_token']}")
    least, most = inputs.get("min_length", 1), inputs.get("max_length", inputs.get("min_length", 1))
    if least > most:
        raise LoadError(
            f"{name}: model_inputs has min_length {least} and max_length {most}; set it to no more than that"
        )
    if not isinstance(parameters, tuple | list | None) or not all(isinstance(one, str) for one in parameters or ()):
        raise LoadError(f"{name}: model_parameters is {parameters!r}; set it to a sequence of names")
    declared = _names(properties or (), PROPERTIES, f"{name}: model_properties")
    return BlackBox(**inputs, properties=declared, parameters=tuple(parameters or ()))


def _names(received: Any, known: tuple[str, ...], where: str) -> tuple[str, ...]:
    if isinstance(received, str) or not isinstance(received, tuple | list):
        raise LoadError(f"{where} is {received!r}; set it to a sequence of names: {listing(known)}")
    for item in received:
        if item not in known:
            raise LoadError(f"{where} has {item!r}; known are {listing(known)}{suggestion(str(item), known)}")
    return tuple(received)


def _unknown(name: str, what: str, received: str, known: tuple[str, ...]) -> LoadError:
    return LoadError(f"{name}: {what}; known are {listing(known)}{suggestion(received, known)}")
