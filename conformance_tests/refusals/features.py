"""The features of a call, known before it is made: its sizes, which inputs are given, and its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.spec.operations import OPERATIONS

Setting = bool | int | float | str
# Scalars that are sizes, by the letter that the interface has for them; those not named here keep their names.
_LETTERS = {"num_heads": "H", "num_kv_heads": "G", "query_length": "L", "key_length": "S"}
_NAMED_SIZES = ("length", "d_model", "max_length")
_OF_CONFIG = {"d_model": "E", "num_heads": "H", "num_kv_heads": "G", "d_ff": "F", "vocabulary_size": "N"}
_MATRICES = ("w_1", "w_gate")


@dataclass(frozen=True)
class CallFeatures:
    """Sizes by letter, the names of what is there, and settings by name.

    `given` has keywords that are given and flags that are set; `biases` where any projection has one.
    """

    sizes: Mapping[str, int]
    given: frozenset[str]
    settings: Mapping[str, Setting]


def features_of(inputs: Inputs) -> CallFeatures:
    """Return the features of a call, or of a chain of calls, which has no lengths."""
    operation, arguments = OPERATIONS[inputs.operation], inputs.arguments()
    sizes: dict[str, int] = {}
    given: set[str] = set()
    settings: dict[str, Setting] = {"dtype": inputs.dtype}
    for name, value in arguments.items():
        parameter = operation.parameter(name)
        if isinstance(value, np.ndarray):
            sizes |= _axes(parameter.shape, value.shape)
        elif name in _LETTERS or name in _NAMED_SIZES:
            sizes[_LETTERS.get(name, name)] = int(value)
        elif parameter.kind in ("scalar", "flag") and parameter.requirement == "keyword":
            settings[name] = value
        if parameter.requirement == "feature" and value is not None and value is not False:
            given.add(name)
    if None in (arguments.get("window") or ()):
        given.add("window without a side")
    if isinstance(arguments.get("mask"), np.ndarray):
        settings["mask rank"] = arguments["mask"].ndim
    if "context" in arguments:
        given |= _context(arguments["x"], arguments["context"])
    _of_weights(arguments, sizes, given)
    if inputs.steps:
        sizes["B"] = int(inputs.steps[0].tokens.shape[0])
    return CallFeatures(sizes, frozenset(given), settings)


def _axes(shape: str, actual: tuple[int, ...]) -> dict[str, int]:
    """Return the sizes that a shape names; of leading axes that it leaves open the first two are B and L."""
    letters = [part.strip() for part in shape.strip("()").split(",") if part.strip()]
    leading: tuple[int, ...] = ()
    if letters[:1] == ["..."]:
        letters = letters[1:]
        leading, actual = actual[: len(actual) - len(letters)], actual[len(actual) - len(letters) :]
    if len(letters) != len(actual) or not all(letter.isalpha() for letter in letters):
        return {}
    return dict(zip("BL", leading, strict=False)) | dict(zip(letters, actual, strict=True))


def _context(x: np.ndarray, context: np.ndarray) -> set[str]:
    if x is context:
        return set()
    return {"another context"} if np.array_equal(x, context, equal_nan=True) else {"another context", "context"}


def _of_weights(arguments: Mapping[str, Any], sizes: dict[str, int], given: set[str]) -> None:
    config = arguments.get("config")
    if config is not None:
        sizes |= {letter: getattr(config, name) for name, letter in _OF_CONFIG.items()}
        return
    weights = arguments.get("weights")
    if weights is None:
        return
    if any(value is not None for value in _members(weights, lambda name: name.startswith("b_"))):
        given.add("biases")
    hidden = [matrix.shape[1] for matrix in _members(weights, lambda name: name in _MATRICES)]
    sizes |= {"F": hidden[0]} if hidden else {}
    heads = sizes.get("H")
    projections = list(_members(weights, lambda name: name in ("w_q", "w_v")))
    if heads and projections:
        sizes["G"] = sizes.get("G", heads)
        sizes |= {"D": projections[0].shape[1] // heads, "Dv": projections[1].shape[1] // sizes["G"]}


def _members(weights: object, wanted: Callable[[str], bool]) -> Iterator[Any]:
    for name, value in vars(weights).items():
        if wanted(name):
            yield value
        elif hasattr(value, "__dict__"):
            yield from _members(value, wanted)
