"""Attention of samples that are packed one behind the other, with the place where each begins (flash_attn's `varlen`).

All samples of a call are equally long here, as in the operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.forms import KEY_LENGTH, QUERY_LENGTH, Form, Source
from veriformer.adapters.matching.layouts import Arguments, Inner
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import reshaped, shape_of, transposed
from veriformer.adapters.matching.sources import Taken

_OF_QUERIES = frozenset({"cuseqlensq", "cuseqlens", "cuseqlen", "cuqseqlens", "seqstartq", "qoindptr", "cuq", "culens"})
_OF_KEYS = frozenset({"cuseqlensk", "cuseqlenskv", "cukseqlens", "cukvseqlens", "seqstartk", "kvindptr", "cuk", "cukv"})
_LONGEST_QUERIES = frozenset({"maxseqlenq", "maxseqlen", "maxlenq", "maxq", "maxseqlenquery"})
_LONGEST_KEYS = frozenset({"maxseqlenk", "maxseqlenkv", "maxlenk", "maxlenkv", "maxk", "maxseqlenkey"})
_SAMPLES = "number of samples"
_NAMES = ("query", "key", "value")


@dataclass(frozen=True)
class PackedSamples:
    """Queries, keys and values (B·L, H, D): the samples one behind the other, and no axis of them.

    `keys_apart` says that the function takes the places where the keys begin too, and not those of the queries alone.
    """

    keys_apart: bool = False
    words: str = "(B·L, H, D), samples one behind the other"
    rank: int = 3

    def call(self, inner: Inner, arguments: Arguments) -> object:
        """Return what the function returns, with its axes in the interface's order."""
        samples = shape_of(arguments["query"])[0]
        flat = {name: _flat(arguments[name]) for name in _NAMES if name in arguments}
        result = inner({**arguments, **flat, _SAMPLES: samples})
        rows, heads, width = shape_of(result)
        return transposed(reshaped(result, (samples, rows // samples, heads, width)), (0, 2, 1, 3))


def has_keys_apart(layout: object) -> bool:
    """Return whether a function takes the places where the keys begin: there may be more keys than queries."""
    return isinstance(layout, PackedSamples) and layout.keys_apart


def _flat(array: object) -> object:
    samples, heads, length, width = shape_of(array)
    return reshaped(transposed(array, (0, 2, 1, 3)), (samples * length, heads, width))


def forms(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the form of a function that takes the places where the samples begin; nothing for others."""
    sources: dict[str, Source] = {}
    for name in found.sources:
        called = folded(name)
        if called in _OF_QUERIES | _OF_KEYS:
            length = QUERY_LENGTH if called in _OF_QUERIES else KEY_LENGTH
            sources[name] = partial(_beginnings, framework, length)
        elif called in _LONGEST_QUERIES | _LONGEST_KEYS and name not in found.roles:
            sources[name] = partial(_length, QUERY_LENGTH if called in _LONGEST_QUERIES else KEY_LENGTH)
    if any(folded(name) in _OF_QUERIES | _OF_KEYS for name in sources):
        names = " and ".join(f"`{name}`" for name in sources if folded(name) in _OF_QUERIES | _OF_KEYS)
        words = (*form.words, f"{names}: where each begins, all equally long")
        layout = PackedSamples(any(folded(name) in _OF_KEYS for name in sources))
        yield replace(form, layout=layout, sources={**form.sources, **sources}, words=words)


def _beginnings(framework: ArrayFramework, length: str, arguments: Arguments) -> object:
    """Return the places (B + 1,) where the samples begin, and where the last one ends."""
    return framework.from_numpy((np.arange(arguments[_SAMPLES] + 1) * arguments[length]).astype(np.int32))


def _length(length: str, arguments: Arguments) -> object:
    return arguments[length]
