"""The built-in implementations: real libraries, each followed by its variants.

A variant is the same library used in another way: another kernel, another path through a layer, another transformation
of the same functions. Its name is LIBRARY-VARIANT, which cannot be the name of a module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class BuiltIn:
    """A built-in implementation.

    `packages`: imported before the module, so that an error names a missing one and how to install it.
    `environment`: the environment variables that are set meanwhile.
    `summary`: what it is, in a few words.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    summary: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_variant(self) -> bool:
        """Whether it is a variant of a library."""
        return "-" in self.name


def _library(name: str, packages: tuple[str, ...], summary: str) -> BuiltIn:
    return BuiltIn(name, f"veriformer.adapters.{name}", packages, summary, _environment(packages))


def _variant(name: str, packages: tuple[str, ...], summary: str) -> BuiltIn:
    module = f"veriformer.adapters.variants.{name.replace('-', '_')}"
    return BuiltIn(name, module, packages, summary, _environment(packages))


def _environment(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the environment variables of packages: the backend of Keras is the package named before it."""
    backend = {"KERAS_BACKEND": packages[0]} if "keras" in packages else {}
    # TensorFlow would log a page for each call that raises.
    return {**backend, "TF_CPP_MIN_LOG_LEVEL": "3"} if "tensorflow" in packages else backend


_TORCH, _JAX, _FLAX, _EQUINOX, _KERAS = ("torch",), ("jax",), ("jax", "flax"), ("jax", "equinox"), ("jax", "keras")

_CATALOGUE = (
    _library("numpy", (), "the NumPy reference itself"),
    _library(
        "torch", _TORCH, "torch.nn.functional, and MultiheadAttention without its fast path; torch chooses the kernels"
    ),
    _library("jax", _JAX, "jax.nn, compiled"),
    _library("flax", _FLAX, "the layers of Flax NNX with their defaults, compiled"),
    _library("equinox", _EQUINOX, "the layers of Equinox with their defaults, compiled"),
    _library("keras", _KERAS, "the functions and layers of Keras on its JAX backend, compiled"),
    _variant("torch-modules", _TORCH, "the modules of torch.nn instead of its functions"),
    _variant("torch-math", _TORCH, "functional attention with the math kernel only"),
    _variant("torch-flash", _TORCH, "functional attention with the flash kernel only"),
    _variant("torch-flex", _TORCH, "flex_attention, not compiled"),
    _variant("torch-fast-path", _TORCH, "MultiheadAttention on its evaluation fast path, wherever torch takes it"),
    _variant("torch-need-weights", _TORCH, "MultiheadAttention that returns its weights too, by code of its own"),
    _variant("jax-eager", _JAX, "jax.nn, operation by operation"),
    _variant("jax-vmap", _JAX, "jax.nn, mapped over the batch and compiled"),
    _variant("flax-eager", _FLAX, "the layers of Flax NNX, operation by operation"),
    _variant("flax-vmap", _FLAX, "the layers of Flax NNX, mapped over the batch and compiled"),
    _variant("flax-two-pass", _FLAX, "LayerNorm of Flax NNX with use_fast_variance=False"),
    _variant("flax-sow-weights", _FLAX, "MultiHeadAttention with sow_weights=True, which has code of its own"),
    _variant("flax-decode", _FLAX, "MultiHeadAttention fed token by token through its decode cache"),
    _variant("keras-activations", _KERAS, "the functions of keras.activations, whose gelu is the exact one"),
    _variant(
        "keras-scores", _KERAS, "the attention layers of Keras that return their weights too, by code of their own"
    ),
    _variant("keras-smoothing", _KERAS, "CategoricalCrossentropy of Keras, which smooths labels"),
    _variant("keras-torch", ("torch", "keras"), "Keras on its PyTorch backend; needs a process of its own"),
    _variant(
        "keras-tensorflow", ("tensorflow", "keras"), "Keras on its TensorFlow backend; needs a process of its own"
    ),
)

BUILT_IN: Mapping[str, BuiltIn] = MappingProxyType({built_in.name: built_in for built_in in _CATALOGUE})
