"""Sizes and weights for a class that cannot be built without them, guessed by the names of its parameters."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any

import numpy as np
from veriformer.adapters.capture.guessed_weights import weights_called
from veriformer.adapters.matching.names import words_of


def _each(names: str, value: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split(), value)


WIDTH, LENGTH = 24, 32
"""The guessed width of vectors, and the guessed largest length of a sequence."""
_HEADS, _HEAD_WIDTH, HIDDEN = 4, 6, 40
_FEW_HEADS = 2
_IMAGE, _PATCH, _COLOURS = 16, 4, 3
_KEY_HEADS = "nkvheads numkvheads kvheads numkeyvalueheads nkvhead nlocalkvheads nkv"
_BY_NAME: Mapping[str, Any] = {
    **_each(
        "dmodel dim embeddim nembd hiddensize embdim d embedsize modeldim width features inputdim din "
        "normalizedshape embeddingdim embeddings ndim channels dembed demb dims hiddendim units embed embsize "
        "size inputsize nstate numhiddens indim outdim dout dimin dimout inputdimension dimension "
        "querydim contextdim kvdim qdim crossattentiondim memorydim emb d c e residualdim modelwidth",
        WIDTH,
    ),
    **_each(
        "nheads numheads heads nhead h numattentionheads nheadsq numqueryheads nqheads attentionheads qheads nq", _HEADS
    ),
    **_each(_KEY_HEADS, 2),
    **_each("groups ngroups", 2),
    **_each("numexperts nexperts experts nexpert numlocalexperts nroutedexperts", 4),
    **_each("topk numexpertspertok expertspertoken nactive numactive nexpertspertok numselected", 2),
    **_each("headdim dk dv dkv dhead headsize dimhead dimheads keydim valuedim", _HEAD_WIDTH),
    **_each("dff ffndim intermediatesize mlpdim hidden dhidden dimfeedforward dimff dffn ffdim innerdim", HIDDEN),
    **_each(
        "inter intermediate intermediatedim inner dinner innersize f ff ffn mlphidden ffnhidden dexpert moedim", HIDDEN
    ),
    **_each("imagesize imgsize imageheight imagewidth imgheight imgwidth resolution", _IMAGE),
    **_each("patchsize patch", _PATCH),
    **_each("inchannels inchans nchannels numchannels imgchannels imagechannels", _COLOURS),
    **_each("numclasses nclasses nclass", 10),
    **_each("memwidth memdim memorywidth contextwidth encoderdim encoderwidth kvwidth embedwidth", WIDTH),
    **_each("numbuckets nbuckets buckets relativeattentionnumbuckets", 8),
    **_each("maxdistance maxdist relativeattentionmaxdistance", 16),
    **_each("layeridx layerid layerindex", 0),
    **_each("mlpratio ffmult ffnmult expansion expansionfactor mult", 4),
    **_each("vocabsize nvocab vocab ntoken ntokens vocabularysize numembeddings v", 50),
    **_each(
        "maxlen blocksize maxseqlen seqlen contextlength nctx maxlength maxpositionembeddings t contextsize",
        LENGTH,
    ),
    **_each("nlayers numlayers depth nlayer layers n numhiddenlayers", 2),
    **_each("dropout pdrop dropoutrate p attndropout residdropout embdpdrop attnpdrop residpdrop", 0.0),
    **_each("eps epsilon normeps layernormeps rmsnormeps", 1e-5),
    **_each("window windowsize slidingwindow", 5),
    **_each("theta base ropetheta", 10000.0),
    **_each("bias qkvbias causal iscausal", True),
}
_OF_A_WIDTH = frozenset(["dim", "dims", "size", "width", "features", "channels", "units", "d"])
# What a name means by its words, the first that fits: a word that it has, whether it says a width, and the value.
_BY_WORD: tuple[tuple[str, bool | None, Any], ...] = (
    ("dropout drop", None, 0.0),
    ("eps epsilon", None, 1e-5),
    ("vocab vocabulary", None, 50),
    ("expert experts", True, HIDDEN),
    ("experts", False, 4),
    ("classes labels", None, 10),
    ("head heads", True, _HEAD_WIDTH),
    ("kv", False, 2),
    ("heads head", False, _HEADS),
    ("layers blocks depth", False, 2),
    ("patch", None, _PATCH),
    ("image img", None, _IMAGE),
    ("window", None, 5),
    ("rank", False, 4),
    ("len length seq positions context", False, LENGTH),
    ("ff ffn mlp inner intermediate feedforward forward", None, HIDDEN),
    ("model embed embedding hidden", None, WIDTH),
)
# A class in a file that imports one of these may want arrays of theirs.
_OF_OTHERS = ("torch", "jax", "flax", "equinox", "tensorflow", "keras", "mlx", "tinygrad", "cupy")
_CONFIGURATIONS = ("config", "cfg", "args", "conf", "hparams", "hp", "params", "modelargs", "configuration")


class GuessedConfiguration:
    """A configuration whose members are guessed by their names when they are read, and are its attributes from then on.

    `sizes` stand in the place of those that are guessed.
    """

    def __init__(self, sizes: Mapping[int, int] = MappingProxyType({})) -> None:
        self._sizes = sizes

    @property
    def read(self) -> dict[str, Any]:
        """The members that were read."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __getattr__(self, name: str) -> Any:
        """Return the guessed size; AttributeError where nothing can be guessed."""
        if name.startswith("__") or _folded(name) not in _BY_NAME:
            raise AttributeError(f"no value can be guessed for {name}")
        guessed = with_sizes(_BY_NAME[_folded(name)], self._sizes)
        setattr(self, name, guessed)
        return guessed


def with_sizes(value: Any, sizes: Mapping[int, int]) -> Any:
    """Return what was guessed with other sizes in the place of guessed ones, in a configuration too."""
    if isinstance(value, GuessedConfiguration):
        return GuessedConfiguration(sizes)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
        return dataclasses.replace(value, **{name: with_sizes(one, sizes) for name, one in held.items()})
    return sizes.get(value, value) if type(value) is int else value


def guessed_arguments(build: Any, signature: Signature, required: Sequence[str]) -> dict[str, Any] | None:
    """Return a value for each parameter that a class requires; None where one cannot be guessed."""
    found: dict[str, Any] = {}
    for name in required:
        value = _guessed(build, signature.parameters[name])
        if value is None:
            return None
        found[name] = value
    if not found:
        return found
    found = _with_colours(found)
    return {**_with_one_inner(found), **_told_apart(signature), **_fewer_key_heads(signature, found)}


def _with_colours(found: dict[str, Any]) -> dict[str, Any]:
    """Return sizes where the channels are those of an image, if it has a size and another parameter is the width."""
    of_images = any(_folded(name) in ("imagesize", "imgsize", "patchsize", "patch") for name in found)
    widths = [name for name, value in found.items() if type(value) is int and value == WIDTH]
    channels = [name for name in widths if _folded(name) == "channels"]
    return {**found, **dict.fromkeys(channels, _COLOURS)} if of_images and len(widths) > 1 else found


def _with_one_inner(found: dict[str, Any]) -> dict[str, Any]:
    """Return sizes where `hidden` is the width of the stream, since another one is that within a network."""
    widths = [name for name, value in found.items() if type(value) is int and value == WIDTH]
    inner = [name for name, value in found.items() if type(value) is int and value == HIDDEN]
    of_stream = [name for name in inner if _folded(name) == "hidden"] if len(inner) > 1 and not widths else []
    return {**found, **dict.fromkeys(of_stream, WIDTH)}


def _told_apart(signature: Signature) -> dict[str, Any]:
    """Return another head width where a class has as many heads by default: one might stand for the other."""
    defaults = {name: one.default for name, one in signature.parameters.items() if type(one.default) is int}
    heads = [value for name, value in defaults.items() if _BY_NAME.get(_folded(name)) == _HEADS]
    return {
        name: value + 2
        for name, value in defaults.items()
        if _BY_NAME.get(_folded(name)) == _HEAD_WIDTH and value in heads
    }


def _fewer_key_heads(signature: Signature, found: Mapping[str, Any]) -> dict[str, int]:
    """Return half as many heads of keys as of queries where a class has as many by default, by None.

    With as many of both, nothing shows which query head reads which key head.
    """
    defaults = {name: one.default for name, one in signature.parameters.items()}
    sizes = {**defaults, **found}
    heads = [value for name, value in sizes.items() if _BY_NAME.get(_folded(name)) == _HEADS and type(value) is int]
    names = [name for name, value in defaults.items() if value is None and _folded(name) in _KEY_HEADS.split()]
    if len(heads) != 1 or heads[0] % 2 or heads[0] <= _FEW_HEADS:
        # Of two heads both would read the one that there is.
        return {}
    return dict.fromkeys(names, heads[0] // 2)


def size_called(name: str) -> Any:
    """Return the size that a parameter of this name is guessed to be; None where there is none."""
    return _BY_NAME.get(_folded(name), _size_by_words(name))


def _size_by_words(name: str) -> Any:
    words = set(words_of(name))
    says_width = bool(words & _OF_A_WIDTH)
    for known, of_a_width, value in _BY_WORD:
        if words.intersection(known.split()) and of_a_width in (None, says_width):
            return value
    return WIDTH if says_width else None


def words_of_guesses(name: str, guesses: Mapping[str, Any]) -> str:
    """Return the sentence that says what was guessed in order to build a class."""
    sizes: dict[str, Any] = {}
    for parameter, value in guesses.items():
        sizes |= value.read if isinstance(value, GuessedConfiguration) else {parameter: value}
    listed = ", ".join(f"{one} = {_shown(value)}" for one, value in sizes.items())
    return f"{name} was built with {listed}, since no sizes were handed over; a function build() in its file has others"


def _guessed(build: Any, parameter: Parameter) -> Any:
    folded = _folded(parameter.name)
    if folded in _BY_NAME:
        return _BY_NAME[folded]
    weights = weights_called(parameter.name, WIDTH, HIDDEN) if _is_of_numpy(build) else None
    if weights is not None:
        return weights
    kind = _annotated(build, parameter)
    configured = None if kind is None else _configured(kind)
    if configured is None and folded in _CONFIGURATIONS:
        return GuessedConfiguration()
    return _size_by_words(parameter.name) if configured is None and _may_be_number(parameter) else configured


def _may_be_number(parameter: Parameter) -> bool:
    """Return whether nothing says that a parameter is anything else than a number."""
    return parameter.annotation in (Parameter.empty, int, float, "int", "float")


def _configured(kind: type) -> Any:
    """Return a configuration whose numbers are those that it has by default, else guessed; None where some are not."""
    try:
        signature = inspect.signature(kind)
        required = [one.name for one in signature.parameters.values() if one.default is one.empty]
        found = guessed_arguments(kind, signature, required)
        return None if found is None else kind(**{**_fewer_key_heads(signature, found), **found})
    except (TypeError, ValueError):
        return None


def _is_of_numpy(build: Any) -> bool:
    """Return whether a class is from a file that imports NumPy and no other framework."""
    names = vars(sys.modules.get(getattr(build, "__module__", ""), sys)).values()
    imported = {str(getattr(value, "__name__", "")).partition(".")[0] for value in names}
    return "numpy" in imported and imported.isdisjoint(_OF_OTHERS)


def _annotated(build: Any, parameter: Parameter) -> type | None:
    """Return the class of a configuration that a parameter is annotated with, from the same file."""
    kind = parameter.annotation
    module = sys.modules.get(getattr(build, "__module__", ""))
    if isinstance(kind, str):
        kind = getattr(module, kind, None)
    own = inspect.isclass(kind) and kind.__module__ == getattr(build, "__module__", "")
    return kind if own else None


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"random numbers ({' × '.join(map(str, value.shape))})"
    if isinstance(value, int | float | bool | str):
        return repr(value)
    return f"{type(value).__name__}({', '.join(_set_otherwise(value))})"


def _set_otherwise(value: Any) -> Iterator[str]:
    """Yield the numbers that a configuration has where its default is None, or where it has none."""
    for one in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
        held = getattr(value, one.name)
        if one.default in (None, dataclasses.MISSING) and type(held) in (int, float):
            yield f"{one.name}={held}"
