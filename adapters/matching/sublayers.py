"""Classes of TensorFlow, Keras, MLX and tinygrad that are attention with projections or a network, as functions.

A class is built once, with sizes that are guessed by the names of its parameters, and its matrices are found by name
and shape. A call puts the weights that it is given in their places. Where the results fit no form, names decide what
the class is, but only if nothing of it was guessed that could make them differ.
"""

from __future__ import annotations

import dis
import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.capture.guessed_sizes import (
    LENGTH,
    WIDTH,
    GuessedConfiguration,
    guessed_arguments,
    size_called,
    words_of_guesses,
)
from veriformer.adapters.errors import describe
from veriformer.adapters.matching.inner_arrays import Place, holding, places_in, uncompiled
from veriformer.adapters.matching.names import NEUTRAL, folded, is_called, suggested, words_of
from veriformer.adapters.matching.namespaces import shape_of, zeros_like
from veriformer.adapters.matching.picks import picks
from veriformer.adapters.matching.probes import Probe, is_grouped, is_near, probe_of_sizes
from veriformer.adapters.matching.weight_roles import Roles, Slot, roles_in
from veriformer.adapters.matching.wired import DoesNotFit
from veriformer.adapters.weights import convert_weights
from veriformer.spec.operations import OPERATIONS

ATTENTION = "multi_head_attention"
ACTIVATIONS = {"feed_forward": ("relu", "gelu", "silu"), "gated_feed_forward": ("silu", "gelu", "relu")}
"""The activations to try for a network, the commonest first."""
_NETWORKS = tuple(ACTIVATIONS)
_OF_HEADS = (ATTENTION, "scaled_dot_product_attention", "grouped_query_attention")
_HEADS, _HIDDEN, _HEAD_WIDTH = size_called("num_heads"), size_called("d_ff"), size_called("head_dim")
_GROUPS = size_called("num_kv_heads")
_HIDDEN_WORDS = frozenset({"hidden", "inner", "ff", "ffn", "intermediate", "mlp"})
_QUERIES = frozenset("q query queries x xq input inputs hiddenstates".split())  # noqa: SIM905
_KEYS, _VALUES = frozenset("k key keys xk".split()), frozenset("v value values xv".split())  # noqa: SIM905
_MASKS = frozenset("mask attnmask attentionmask paddingmask keypaddingmask".split())  # noqa: SIM905
_ROTATIONS = frozenset({"rope", "rotary", "rotaryemb", "rotaryembedding", "posemb", "rotary_emb"})
# What code that computes something else besides is made of.
_MORE_THAN_ATTENTION = frozenset(
    """
    rope rotary rotate freqs cis cos sin alibi slopes slope window sliding softcap cap relative position positions pos
    norm layernorm rmsnorm normalize sink sinks tanh bucket
    """.split()  # noqa: SIM905
)
_MORE_THAN_A_NETWORK = frozenset("norm layernorm rmsnorm normalize conv router experts expert topk".split())  # noqa: SIM905
# What is called only so may have another activation than those of the interface: the first gate was a sigmoid.
_OF_ANY_GATE = frozenset({"glu", "bilinear", "reglu"})
_TIMES = 4
_ROWS, _SMALL = 4, MappingProxyType({"B": 1, "L": 3, "S": 3})


@dataclass
class Sublayer:
    """A class as a function of vectors and weights; `sizes` are those that it was built with.

    `only_exact` says why results that fit no form do not count against it; empty where they do.
    """

    kind: type
    made: Any
    arrays: ArrayFramework
    roles: Roles
    call: tuple[str, ...]
    sizes: Mapping[str, int]
    words: tuple[str, ...] = ()
    only_exact: str = ""
    is_causal: bool = False

    def __call__(self, x: Any, context: Any, members: Mapping[str, Any]) -> Any:
        """Return all that the class returns for vectors and weights by the interface's names."""
        self._refuse(members, x)
        slots = self.roles.slots
        with uncompiled(self.arrays.name):
            values = [one.value(self._with_zeros(one, members, x)) for one in slots]
            with holding([one.place for one in slots], values):
                given = {"x": x, "context": context, "": None}
                arguments = [given[one] if one in given else NEUTRAL[one] for one in self.call]
                return self.made(*arguments)

    @property
    def is_oriented(self) -> bool:
        """Whether linear layers of the framework hold its matrices, so that it is known which axis is which."""
        matrices = [one.place for one in self.roles.slots if one.roles[0].startswith("w_")]
        return all(one.turned or one.variable is not None for one in matrices)

    def likeness(self, activation: Any) -> float:
        """Return how well a form of the operation fits what the code of the class names."""
        return 1.0 if activation is None or activation in self._activations else 0.5

    @property
    def _activations(self) -> set[str]:
        words = {folded(name).removeprefix("swish") or "silu" for name in _names_in(self.kind)}
        return {one for one in ACTIVATIONS["feed_forward"] if one in words}

    def _refuse(self, members: Mapping[str, Any], x: Any) -> None:
        for name, keyword in (("num_heads", "num_heads"), ("num_kv_heads", "num_kv_heads")):
            if members.get(keyword) not in (None, self.sizes.get(name, members.get(keyword))):
                raise ValueError(f"the class was built for {name} = {self.sizes[name]}; received {members[keyword]}")
        if shape_of(x)[-1:] != (self.sizes["d_model"],):
            raise ValueError(f"the class was built for vectors of {self.sizes['d_model']}; received {shape_of(x)}")

    def _with_zeros(self, slot: Slot, members: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        """Return the weights with zeros for biases that no call gives."""
        if all(role in members for role in slot.roles):
            return members
        size = int(np.prod(slot.place.shape)) // len(slot.roles)
        return {**members, **{role: zeros_like(x, (size,)) for role in slot.roles if role not in members}}


def sublayer_of_class(kind: type, arrays: ArrayFramework) -> Callable[..., Any] | None:
    """Return a class as a function of the operation that it is called like; None where no such name is its own.

    DoesNotFit, with the reason, where it is called so and cannot be called like it.
    """
    of_name = suggested(kind.__name__)
    wanted = next((one for one in of_name if one in (*_OF_HEADS, *_NETWORKS)), None)
    if wanted is None:
        return None
    wanted = ATTENTION if wanted in _OF_HEADS else "feed_forward"
    made, arguments = _built(kind, wanted)
    call = _call_of(made, wanted)
    width = _width_of(made, arguments)
    if arrays.name == "tensorflow":
        with redirect_stdout(io.StringIO()), uncompiled(arrays.name):
            _ready(made, arrays, call, width)
    rotation = _without_rotation(made) if wanted == ATTENTION else ""
    places = [one for one in places_in(made, arrays) if not _is_fixed_table(one, arrays)]
    if wanted == ATTENTION and not any(len(one.shape) > 1 for one in places):
        return None
    roles = roles_in(wanted, places)
    sizes = _sizes_of(kind, made, arguments, roles)
    words = (_built_with(arguments), *((f"without its `{rotation}`",) if rotation else ()))
    whole = Sublayer(kind, made, arrays, roles, call, sizes, tuple(one for one in words if one))
    return _function(_settled(whole))


def _built(kind: type, wanted: str) -> tuple[Any, Mapping[str, Any]]:
    """Return an object of a class, and what it was built with."""
    signature = inspect.signature(kind)
    required = [
        name
        for name, one in signature.parameters.items()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    given: dict[str, Any] = {}
    widths = [name for name in required if size_called(name) == WIDTH]
    for name in required:
        if wanted != ATTENTION and len(widths) > 1 and name in widths and _HIDDEN_WORDS.intersection(words_of(name)):
            given[name] = _HIDDEN
        elif folded(name) in ("multipleof", "mult", "expansion", "mlpratio", "expansionfactor", "ratio"):
            given[name] = _TIMES
        elif folded(name) in ("bias", "qkvbias", "usebias"):
            given[name] = True
        else:
            one = guessed_arguments(kind, signature, [name])
            if one is None:
                raise DoesNotFit(f"nothing says what to build it with as `{name}`")
            given |= {name: one[name], **{other: value for other, value in one.items() if other not in required}}
    try:
        with redirect_stdout(io.StringIO()):
            made = kind(**given)
    except Exception as error:
        raise DoesNotFit(f"it could not be built with {_listed(given)}: {describe(error)}") from error
    evaluate = getattr(made, "eval", None)
    if callable(evaluate):
        evaluate()
    return made, given


def _listed(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in given.items()) or "nothing"


def _built_with(arguments: Mapping[str, Any]) -> str:
    if not arguments:
        return ""
    said = words_of_guesses("it", arguments).partition(" was ")[2]
    return said.partition(", since")[0]


def _call_of(made: Any, wanted: str) -> tuple[str, ...]:
    """Return what a call is given, in its order: "x", "context", a neutral setting, or "" for None."""
    # A layer of Keras is called in its base, which takes anything.
    call = next((method for name in ("call", "__call__") if (method := getattr(type(made), name, None))), None)
    if call is None:
        raise DoesNotFit("it has no method that is called")
    parameters = list(inspect.signature(call).parameters.values())[1:]
    required = [one.name for one in parameters if one.default is one.empty and one.kind in (0, 1)]
    masks = [name for name in required if folded(name) in _MASKS or "mask" in words_of(name)]
    settings = [name for name in required if folded(name) in NEUTRAL]
    arrays = [name for name in required if name not in (*masks, *settings)]
    if not arrays:
        raise DoesNotFit("nothing says what its call takes")
    roles = {arrays[0]: "x"} if len(arrays) == 1 else _roles_of_call(arrays) if wanted == ATTENTION else {}
    unknown = [name for name in arrays if name not in roles]
    if unknown:
        listed = " and ".join(f"`{one}`" for one in unknown)
        raise DoesNotFit(f"its call needs {listed}, and nothing says what to pass")
    return tuple("" if one in masks else roles.get(one) or folded(one) for one in required)


def _roles_of_call(arrays: Sequence[str]) -> dict[str, str]:
    record = OPERATIONS[ATTENTION]
    found = {}
    for name in arrays:
        if folded(name) in (_KEYS | _VALUES) or is_called(name, record.parameter("context")):
            found[name] = "context"
        elif folded(name) in _QUERIES:
            found[name] = "x"
    return found if list(found.values()).count("x") == 1 else {}


def _width_of(made: Any, arguments: Mapping[str, Any]) -> int:
    """Return E: what the class was built with, or holds under such a name; the guessed width where nothing says."""
    return next((value for value in _numbers_called(WIDTH, made, arguments)), WIDTH)


def _numbers_called(meaning: Any, made: Any, arguments: Mapping[str, Any]) -> list[int]:
    """Return the numbers that stand under names of a meaning, in what a class was built with and in its object."""
    holders: list[Any] = [arguments]
    for value in (*arguments.values(), *_own(made).values()):
        if isinstance(value, GuessedConfiguration):
            holders.append(value.read)
        elif any(word in type(value).__name__.casefold() for word in ("config", "args", "param")):
            holders.append(_own(value))
    holders.append(_own(made))
    return [
        value
        for holder in holders
        for name, value in holder.items()
        if type(value) is int and size_called(name.strip("_")) == meaning and type(meaning) is type(value)
    ]


def _own(made: Any) -> dict[str, Any]:
    return {**(dict(made) if isinstance(made, dict) else {}), **getattr(made, "__dict__", {})}


def _ready(made: Any, arrays: ArrayFramework, call: tuple[str, ...], width: int) -> None:
    """Call an object once: a layer of Keras has weights from then on."""
    x = arrays.from_numpy(np.random.default_rng(0).standard_normal((2, 5, width)), "float32")
    given = {"x": x, "context": x, "": None}
    try:
        arrays.call(lambda *_: made(*(given[one] if one in given else NEUTRAL[one] for one in call)), (), {})
    except Exception as error:
        masked = ", without a mask," if "" in call else ""
        raise DoesNotFit(f"its call{masked} on vectors (2, 5, {width}) raised {describe(error)}") from error


def _without_rotation(made: Any) -> str:
    """Take from an object what turns its queries and keys, and return its name; empty where it has none."""
    for name, value in _own(made).items():
        if folded(name) in _ROTATIONS and callable(value):
            holder = made if isinstance(made, dict) and name in made else made.__dict__
            holder[name] = _unturned
            return name
    return ""


def _unturned(*arrays: Any, **others: Any) -> Any:
    """Return one array as it is; ValueError for several, which a rotation returns in ways of its own."""
    if len(arrays) != 1 or any(hasattr(one, "shape") and shape_of(one) for one in others.values()):
        raise ValueError("a rotation of several arrays at once cannot be left out")
    return arrays[0]


def _is_fixed_table(place: Place, arrays: ArrayFramework) -> bool:
    """Return whether an array is a mask of a largest length, which is no weight: it has two values, or a lower half."""
    shape = [one for one in place.shape if one != 1]
    if len(shape) != 2 or shape[0] != shape[1] or place.variable is not None or place.turned:
        return False
    values = np.unique(arrays.to_numpy(place.value))
    return len(values) == 2


def _sizes_of(kind: type, made: Any, arguments: Mapping[str, Any], roles: Roles) -> dict[str, int]:
    sizes = {"d_model": roles.sizes["d_model"]}
    longest = _numbers_called(LENGTH, made, arguments)
    if roles.operation in _NETWORKS:
        return sizes | {"d_ff": roles.sizes["d_ff"]}
    heads = _heads_of(kind, made, arguments, sizes["d_model"])
    width = sizes["d_model"] // heads
    if roles.sizes["keys"] % width:
        raise DoesNotFit(f"its keys are {roles.sizes['keys']} wide, and its {heads} heads {width} each")
    groups = roles.sizes["keys"] // width
    sizes |= {"num_heads": heads, "num_kv_heads": groups}
    return sizes | ({"max_length": min(longest)} if longest else {})


def _heads_of(kind: type, made: Any, arguments: Mapping[str, Any], width: int) -> int:
    signature = inspect.signature(kind).parameters
    defaults = {name: one.default for name, one in signature.items() if type(one.default) is int}
    known = {**defaults, **arguments}
    found = _numbers_called(_HEADS, made, known)
    if not found:
        found = [width // one for one in _numbers_called(_HEAD_WIDTH, made, known) if one and width % one == 0]
    if not found and "multi" in words_of(kind.__name__):
        raise DoesNotFit("nothing says how many heads it has")
    heads = found[0] if found else 1
    if heads < 1 or width % heads:
        raise DoesNotFit(f"its {heads} heads do not divide its width {width}")
    return heads


# --- what its results are ---------------------------------------------------------------------------------------------


def _settled(whole: Sublayer) -> Sublayer:
    """Return a sublayer whose form of weights gives the reference's results, else as it is, with why they may differ.

    DoesNotFit for one whose results depend on earlier calls, or to which its input is added.
    """
    if whole.arrays.name != "tinygrad" or _may_keep_something(whole.kind):
        # Each call takes seconds where tinygrad has no compiler.
        _refuse_memory(whole)
    probe = _probe(whole)
    first = _result(whole, probe)
    whole.is_causal = _is_causal(whole)
    if _is_right(whole, probe, first):
        return whole
    for heads in _interleavings(whole):
        slots = tuple(replace(one, interleaved=heads) if len(one.roles) > 1 else one for one in whole.roles.slots)
        other = replace(whole, roles=replace(whole.roles, slots=slots))
        other.words = (*whole.words, "each head's queries, keys and values side by side")
        if _is_right(other, probe, _result(other, probe)):
            return other
    if _is_right(whole, probe, first - probe.arguments["x"]):
        raise DoesNotFit("it adds its input to its result, which the operation does not")
    whole.only_exact = _why_only_exact(whole)
    return whole


def _interleavings(whole: Sublayer) -> tuple[int, ...]:
    heads = whole.sizes.get("num_heads", 1)
    fused = any(len(one.roles) > 1 for one in whole.roles.slots)
    return (heads,) if fused and heads > 1 and whole.sizes["num_kv_heads"] == heads else ()


def _result(whole: Sublayer, probe: Probe) -> np.ndarray:
    """Return the result that has the shape of the reference's; DoesNotFit where there is none."""

    def given(value: Any) -> Any:
        return whole.arrays.from_numpy(value, "float32")

    weights = vars(convert_weights(probe.arguments["weights"], given))
    members = {name: value for name, value in weights.items() if value is not None}
    x = given(probe.arguments["x"])
    context = given(probe.arguments["context"]) if "context" in probe.arguments else None
    context = context if "context" in whole.call else x
    try:
        with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            returned = whole.arrays.call(lambda *_: whole(x, context, members), (), {})
    except Exception as error:
        raise DoesNotFit(f"its call with weights of the laws raised {describe(error)}") from error
    for _, array in picks(returned, whole.arrays.is_array):
        if shape_of(array) == probe.expected.shape:
            return whole.arrays.to_numpy(array)
    raise DoesNotFit(f"its call returns no array of the shape {probe.expected.shape}")


def _probe(whole: Sublayer, lengths: Mapping[str, int] = MappingProxyType({})) -> Probe:
    needed = {"activation": "relu"} if whole.roles.operation in ACTIVATIONS else {}
    probe = probe_of_sizes(whole.roles.operation, whole.sizes, lengths, **needed)
    is_of_itself = whole.roles.operation == ATTENTION and "context" not in whole.call
    return probe.with_argument("context", probe.arguments["x"]) if is_of_itself else probe


def _is_right(whole: Sublayer, probe: Probe, result: np.ndarray) -> bool:
    """Return whether a result is the reference's, with whichever activation, causal or not."""
    if whole.roles.operation == ATTENTION:
        probes = [probe, probe.with_argument("is_causal", True)]
    else:
        probes = [probe.with_argument("activation", one) for one in ACTIVATIONS[whole.roles.operation]]
    return any(one.is_answered_by(result) for one in probes)


def _refuse_memory(whole: Sublayer) -> None:
    """Raise DoesNotFit where what a call returns depends on the calls before it, as that of compiled code may."""
    probe = _probe(whole, _SMALL)
    first = _result(whole, probe)
    weights = {name: None if one is None else -0.5 * one for name, one in vars(probe.arguments["weights"]).items()}
    other = replace(probe, arguments={**probe.arguments, "weights": SimpleNamespace(**weights)})
    second = _result(whole, other)
    again = _result(whole, probe), _result(whole, other)
    if not is_near(again[0], first) or not is_near(again[1], second):
        raise DoesNotFit("its result depends on the calls before it; write a class that keeps nothing of a call")


def _may_keep_something(kind: type) -> bool:
    """Return whether a class sets attributes when it is called, or is compiled."""
    called = {name: one for name, one in vars(kind).items() if name not in ("__init__", "__doc__", "__module__")}
    functions = [one for one in called.values() if inspect.isfunction(one)]
    sets = any(one.opname == "STORE_ATTR" for function in functions for one in dis.get_instructions(function))
    is_wrapped = any(hasattr(one, "__wrapped__") for one in functions) or "__call__" not in called
    plain = inspect.isfunction(called.get("__call__"))
    return sets or is_wrapped or not plain or not _names_in(kind).isdisjoint(("TinyJit", "assign", "cache"))


def _is_causal(whole: Sublayer) -> bool:
    """Return whether each row depends on the earlier ones and on none that is later, but for its neighbour.

    Each sample but the first has one row changed, so that one call tells.
    """
    if whole.roles.operation != ATTENTION:
        return False
    probe = _probe(whole, {"B": _ROWS + 1, "L": _ROWS, "S": _ROWS})
    arguments = {**probe.arguments, "x": probe.arguments["x"].copy()}
    arguments["x"][:] = arguments["x"][0]
    arguments["context"] = arguments["x"].copy()
    for row in range(_ROWS):
        arguments["context"][row + 1, row] += 2.0
    if "context" not in whole.call:
        arguments["x"] = arguments["context"]
    result = _result(whole, replace(probe, arguments=arguments))
    # Of a row, and of the row that was changed.
    depends = (np.abs(result[1:] - result[:1]) > 1e-5 * np.abs(result).max()).any(axis=-1).T
    later = np.arange(_ROWS) - np.arange(_ROWS)[:, None]
    return not depends[later > 1].any() and bool(depends[later < 0].all())


def _why_only_exact(whole: Sublayer) -> str:
    """Return why results that fit no form do not count against a class; empty where they do."""
    words = {word for name in _names_in(whole.kind) for word in (*words_of(name), folded(name))}
    more = _MORE_THAN_ATTENTION if whole.roles.operation == ATTENTION else _MORE_THAN_A_NETWORK
    if any(one.startswith("without its") for one in whole.words):
        more = more - {"rope", "rotary"}
    found = sorted(words & more)
    if found:
        return f"its results fit no known form, and its code has `{found[0]}`, which may be more than the operation"
    if folded(whole.kind.__name__) in _OF_ANY_GATE:
        return "its results fit no known form, and its name does not say with which activation"
    return ""


def _names_in(kind: type) -> set[str]:
    """Return the names that the methods of a class use."""
    codes = [one.__code__ for one in vars(kind).values() if inspect.isfunction(one)]
    found: set[str] = set()
    while codes:
        code = codes.pop()
        strings = [one for one in code.co_consts if isinstance(one, str) and one.isidentifier()]
        found |= {*code.co_names, *code.co_varnames, *code.co_freevars, *strings}
        codes += [one for one in code.co_consts if inspect.iscode(one)]
    return found


# --- as a function ----------------------------------------------------------------------------------------------------


def _function(whole: Sublayer) -> Callable[..., Any]:
    """Return a sublayer as a function of vectors and of each of its weights, by the names that matching knows."""
    roles = whole.roles
    matrices = list(dict.fromkeys(role for one in roles.slots for role in one.roles if role.startswith("w_")))
    biases = [role.replace("w_", "b_") for role in matrices] if roles.has_all_biases else []
    called = {(roles.names or {}).get(role, role): role for role in (*matrices, *biases)}
    is_attention = roles.operation == ATTENTION
    of_its_own = ["context"] if "context" in whole.call else []

    def sublayer(**given: Any) -> Any:
        members = {called.get(name, name): value for name, value in given.items() if value is not None}
        return whole(given["x"], given.get("context", given["x"]), members)

    kinds = inspect.Parameter
    required = ["x", *of_its_own, *called, *(["num_heads"] if is_attention else [])]
    parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in required]
    if is_grouped(whole.sizes):
        parameters.append(kinds("num_kv_heads", kinds.KEYWORD_ONLY, default=None))
    sublayer.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    sublayer.__name__ = sublayer.__qualname__ = whole.kind.__name__
    sublayer.__wrapped__ = whole.kind  # type: ignore[attr-defined]
    sublayer.sublayer = whole  # type: ignore[attr-defined]
    return sublayer


def sublayer_of(function: Callable[..., Any]) -> Sublayer | None:
    """Return the class that a function stands for; None for any other function."""
    found = getattr(function, "sublayer", None)
    return found if isinstance(found, Sublayer) else None
