"""Attention with a cache: steps over a sequence, each with the cache of the one before, are causal attention."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.layouts import Arguments, Changed, Layout, of_heads, refuse_lengths
from veriformer.adapters.matching.names import folded, parameters_of, words_of
from veriformer.adapters.matching.namespaces import joined, part_of, parted, reshaped, shape_of, zeros_like
from veriformer.adapters.matching.probes import EQUAL_LENGTHS, EQUAL_WIDTHS, GROUPED, probe_of
from veriformer.adapters.matching.search import Found
from veriformer.adapters.matching.sources import may_be_input
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.trying import Trials
from veriformer.adapters.matching.wired import DoesNotFit, Wired, roles_of

_QKV = ("query", "key", "value")
_NAMES: Mapping[str, str] = {
    "query": "q qt qnew newq query querystates qstep xq qi qcur",
    "key": "k kt knew newk key keystates kstep newkey keynew ki kcur xk",
    "value": "v vt vnew newv value valuestates vstep newvalue valuenew vi vcur xv",
    "cache": "cache kvcache kv past pastkv pastkeyvalue pastkeyvalues layerpast",
    "key_cache": "kcache keycache cachek cachedk pastk pastkey ck kpast pastkeys cachedkeys keyscache",
    "value_cache": "vcache valuecache cachev cachedv pastv pastvalue cv vpast pastvalues cachedvalues valuescache",
    "softcap": "softcap logitcap cap logitsoftcap attnlogitsoftcap attnlogitsoftcapping",
    "position": "pos i index t step curlen cachelen startpos offset position length cacheindex curpos idx cachelength",
}
_SIZES: Mapping[str, str] = {
    "samples": "b bsz batch batchsize maxbatch maxbatchsize bs n",
    "heads": "h nheads numheads heads kvheads nkvheads numkvheads hkv nkv nhead",
    "length": "maxlen maxseqlen maxlength maxseq s t seqlen capacity size maxtokens maxsize ctx maxpositions l",
    "width": "d headdim dk dhead dim headsize hd",
}
# What a step may do besides, so that other results are no mistake.
_BESIDES = ("rope", "rotary", "rotate", "cos(", "alibi", "slope", "window", "softcap", "tanh", "sink", "quant", "norm(")
_ONE_POSITION = Changed(
    "(B, H, D)",
    3,
    _QKV,
    lambda array: part_of(array, (slice(None), slice(None), 0)),
    lambda array, shape: reshaped(array, (*shape[:2], 1, shape_of(array)[-1])),
)
_ONE = "one position at a time"
# "Attend n new tokens", and not "one new token" or "the new tokens of all samples, one each".
_SEVERAL = re.compile(
    r"\bprefill|\bchunk|\b(new|several|more|multiple|[nmtlk])\s+(new\s+)?(tokens|positions|queries|steps)\b", re.I
)
_SINGLE = re.compile(r"\b(one|single|1)[- ](new[- ])?(token|position|query|step)\b", re.I)
_ROOM = 16
_LEAST_LIKENESS = 0.3


def is_step(function: Any) -> bool:
    """Return whether a function takes a query, a key, a value and a cache."""
    roles = _roles(function)
    return not isinstance(function, type) and {*_QKV} <= {*roles} and bool({"cache", "key_cache"} & {*roles})


def form_of(function: Any, framework: ArrayFramework, name: str) -> tuple[str, Found] | None:
    """Return the attention that steps of a function are, and the form; None where they answer no call."""
    trials, best = Trials(function, framework), None
    takes_several, answered = _takes_several(function), set()
    for operation in ("grouped_query_attention", "scaled_dot_product_attention"):
        for form, sizes in _forms(function, operation):
            if takes_several and form.layout in answered and form.words[0].startswith(_ONE):
                # It is meant for several positions at a time: that it is right with one excuses nothing.
                continue
            probe = probe_of(operation, sizes, is_causal=True)
            result = trials.result(form, probe)
            if result is None or result.shape != probe.expected.shape:
                continue
            answered.add(form.layout)
            if probe.is_answered_by(result):
                return operation, Found(form, True)
            likeness = trials.likeness(form, probe, result)
            if operation != "grouped_query_attention" and (best is None or likeness > best.likeness + 1e-9):
                best = Found(form, False, likeness)
    if best is None or best.likeness < _LEAST_LIKENESS or _does_more(function, name):
        return None
    return "scaled_dot_product_attention", best


def _takes_several(function: Any) -> bool:
    """Return whether the documentation of a step says that it takes several positions at a time."""
    documented = inspect.getdoc(function) or ""
    return bool(_SEVERAL.search(documented)) and not _SINGLE.search(documented)


def _does_more(function: Any, name: str) -> bool:
    """Return whether a function is called something else, or its text speaks of what this attention does not do."""
    named = {"decode", "step", "attend", "attention", "cached", "cache", "attn", "prefill", "incremental"}
    text = source_of(function)
    return text is None or not named & {*words_of(name)} or any(word in text.casefold() for word in _BESIDES)


def _roles(function: Any) -> dict[str, str]:
    return roles_of(_NAMES, [one.name for one in parameters_of(function) or []])


def _forms(function: Any, operation: str) -> Iterator[tuple[Wired, dict[str, int]]]:
    roles = _roles(function)
    known, takings = {*roles.values()}, parameters_of(function) or []
    if any(not one.has_default and one.name not in known for one in takings):
        return
    left_out = [one.name for one in takings if one.name not in known and one.default is None and may_be_input(one.name)]
    grouped = GROUPED if operation == "grouped_query_attention" else {}
    for layout in [*(one for one in of_heads(_QKV) if one.rank == 4), _ONE_POSITION]:
        for chunk in (1,) if layout is _ONE_POSITION else (2, 1):
            for more, limitations in ({}, ()), (EQUAL_WIDTHS, ("value_width",)):
                words = _ONE if chunk == 1 else "two positions at a time"
                form = Wired(
                    operation,
                    {},
                    layout=layout,
                    wiring=partial(_attended, roles, layout, chunk),
                    words=(f"{words}, each with the cache of those before", "always causal"),
                    features=("is_causal", *(["softcap"] if "softcap" in roles else [])),
                    left_out=tuple(left_out),
                    fixed_values={f"{operation}.is_causal": True},
                    limitations=tuple(
                        f"{its}.{one}"
                        for its in (operation, f"{operation}_backward")
                        for one in ("unequal_lengths", *limitations)
                    ),
                )
                yield form, {**grouped, **EQUAL_LENGTHS, **more}


def _attended(
    roles: Mapping[str, str], layout: Layout, chunk: int, function: Callable[..., Any], given: Arguments
) -> Any:
    refuse_lengths(given, equal=True)
    steps = _Steps(function, roles, shape_of(given["query"]), layout)
    parts = zip(*(parted(given[name], chunk, 2) for name in _QKV), strict=True)
    results = [layout.call(steps.taken, {**given, **dict(zip(_QKV, part, strict=True))}) for part in parts]
    return joined(results, 2)


@dataclass
class _Steps:
    """The steps of one sequence: what the function keeps goes from one to the next."""

    function: Callable[..., Any]
    roles: Mapping[str, str]
    shape: tuple[int, ...]
    layout: Layout
    position: int = 0
    kept: Any = None
    started: bool = False
    may_compile: bool = True

    def taken(self, arguments: Arguments) -> Any:
        """Return the output of a step, whose arguments are in the function's layout."""
        if not self.started:
            self.kept, self.started = self._fresh(arguments), True
        given = {self.roles[name]: arguments[name] for name in _QKV}
        if arguments.get("softcap") is not None:
            given[self.roles["softcap"]] = arguments["softcap"]
        if "position" in self.roles:
            given[self.roles["position"]] = self.position
        if "cache" in self.roles:
            given[self.roles["cache"]] = self.kept
        else:
            given[self.roles["key_cache"]], given[self.roles["value_cache"]] = self.kept
        returned = self._answer(given)
        rows = 2 if self.layout.words.startswith("(B, H") else 1
        self.position += 1 if self.layout is _ONE_POSITION else shape_of(arguments["query"])[rows]
        return self._output(returned)

    def _answer(self, given: Mapping[str, Any]) -> Any:
        """Return what the function returns: of JAX compiled, if it can be, since the steps of a sequence are many."""
        of_jax = any(type(one).__module__.partition(".")[0] in ("jax", "jaxlib") for one in given.values())
        if of_jax and self.may_compile:
            try:
                # What was compiled for a function is found again by the function.
                return sys.modules["jax"].jit(self.function)(**given)
            except Exception:
                # It asks for values, or keeps an object of its own: run as it is, it may answer.
                self.may_compile = False
        return self.function(**given)

    def _output(self, returned: Any) -> Any:
        if not isinstance(returned, tuple | list):
            return returned
        output, *others = returned
        if "cache" in self.roles and others and isinstance(output, type(self.kept)) and not hasattr(output, "shape"):
            # Functions that a loop of the framework calls return what they keep first.
            output, others = others[0], [output, *others[1:]]
        if "cache" in self.roles:
            fitting = [one for one in others if type(one) is type(self.kept)]
            if fitting:
                self.kept = fitting[0]
            elif others and self.kept is None:
                self.kept = others[0] if len(others) == 1 else tuple(others)
        elif len(others) == 1 and isinstance(others[0], tuple | list):
            self.kept = tuple(others[0])
        elif len(others) > 1:
            self.kept = tuple(others[:2])
        return output

    def _fresh(self, arguments: Arguments) -> Any:
        """Return an empty cache: what the module has for it, else nothing, or arrays of zeros."""
        samples, heads, width = shape_of(arguments["key"])[0], self._heads(arguments), shape_of(arguments["key"])[-1]
        # Few lengths, since what is compiled is compiled for each.
        length = (self.shape[2] // _ROOM + 1) * _ROOM
        sizes = {"samples": samples, "heads": heads, "length": length, "width": width}
        defaults = {one.name: one for one in parameters_of(self.function) or []}
        if "cache" not in self.roles:
            if defaults[self.roles["key_cache"]].has_default:
                return None, None
            if self.layout is _ONE_POSITION:
                raise DoesNotFit("nothing says where the positions of its cache are")
            size = length if "position" in self.roles else 0
            return tuple(self._zeros(arguments[name], size) for name in ("key", "value"))
        build = self._builder()
        if build is not None:
            return _built(build, sizes)
        if defaults[self.roles["cache"]].has_default:
            return None
        raise DoesNotFit("nothing makes an empty cache")

    def _heads(self, arguments: Arguments) -> int:
        return shape_of(arguments["key"])[1 if self.layout.words.startswith("(B, H") else 2]

    def _zeros(self, like: Any, length: int) -> Any:
        shape = list(shape_of(like))
        shape[2 if self.layout.words.startswith("(B, H") else 1] = length
        return zeros_like(like, shape)

    def _builder(self) -> Callable[..., Any] | None:
        bound = getattr(inspect.unwrap(self.function), "__globals__", {})
        own = bound.get("__name__")
        made = [
            (name, one)
            for name, one in bound.items()
            if callable(one) and "cache" in folded(name) and getattr(one, "__module__", None) == own
        ]
        functions = [one for name, one in made if not isinstance(one, type) and not is_step(one)]
        return next(iter([*functions, *(one for _, one in made if isinstance(one, type))]), None)


def _built(build: Callable[..., Any], sizes: Mapping[str, int]) -> Any:
    takings = parameters_of(build) or []
    roles = roles_of(_SIZES, [one.name for one in takings])
    required: Sequence[str] = [one.name for one in takings if not one.has_default]
    if any(name not in roles.values() for name in required):
        raise DoesNotFit("nothing makes an empty cache of known sizes")
    return build(**{name: sizes[role] for role, name in roles.items()})
