"""What the parameters of a function are given, as far as their names or their order tell."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from veriformer.adapters.matching import held
from veriformer.adapters.matching.forms import GROUP_SIZE, KEY_LENGTH, LEFT_OUT, QUERY_LENGTH, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import LENGTHS, NEUTRAL, REPEATS, Taking, assigned, folded, is_called
from veriformer.adapters.matching.namespaces import rolled, shape_of, transposed
from veriformer.adapters.matching.packed import PARTS, UP_FIRST, Packed, packed_among
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

LAST_AXIS = ("dim", "axis", "axes")
"""What the axis is called along which a function computes."""
# What sets how a function computes, and is no input of it.
_NO_INPUTS = ("device", "dtype", "out", "outdtype", "name", "generator", "rng", "precision", "chunk", "blocksize")
_WIDTHS = ("dk", "dhead", "headdim", "dmodel", "dim", "embeddim", "dv", "querypreattnscalar")
_HEADS = ("numheads", "nheads", "nhead", "heads", "h", "nh")
_CLASSES = ("vocabsize", "vocab", "nvocab", "numclasses", "nclasses", "ncls", "numlabels")
_VALUES = ("v", "value", "values")
_OPTIONS = ("lnparam", "lnparams", "normparam", "normparams", "layernormparam")
_PADDING = (
    *("keypadding", "keypaddingmask", "srckeypaddingmask", "memorykeypaddingmask", "padding", "paddingmask"),
    *("memmask", "memorymask", "contextmask", "encodermask", "encoderpaddingmask", "encoderattentionmask"),
    *("padmask", "kvmask", "keymask", "kvpaddingmask", "attentionmask", "ispadding", "ispad", "validkeys", "keyvalid"),
)
"""A mask of keys for each sample, which is the mask of an attention that has no other."""
QUERIES, KEYS = ("q", "query", "xq", "queries", "querystates"), ("k", "key", "xk", "keys", "keystates")
"""What a rotation of both calls the queries and the keys."""
# What the optional inputs of a loss are where it is called without them; no target is -100.
_NEITHER: Mapping[str, Any] = {"label_smoothing": 0.0, "ignore_index": -100, "reduction": "mean"}
BASE = 10000.0
"""What the frequencies of a rotation are powers of where a call does not say."""
_OWNERS = ("module", "self", "layer", "attn", "attention")
_MEMBERS: Mapping[str, str] = {
    "w_1": "w1 fc1 fc1w win win1 weight1 k1 wfc1 fc1weight cfcw cfcweight cfckernel wup upw",
    "b_1": "b1 bin bias1 bfc1 fc1b fc1bias cfcb cfcbias upb",
    "w_2": "w2 fc2 fc2w wout weight2 k2 wfc2 fc2weight cprojw cprojweight cprojkernel wdown downw",
    "b_2": "b2 bout bias2 bfc2 fc2b fc2bias cprojb cprojbias downb",
    "w_gate": "wgate gate wg gateproj w1 gateweight",
    "w_up": "wup up wu upproj w3 upweight v",
    "w_down": "wdown down wd downproj w2 downweight",
    "w_q": "wq qproj qweight",
    "w_k": "wk kproj kweight",
    "w_v": "wv vproj vweight",
    "w_o": "wo oproj outproj oweight proj wout outw outprojweight outprojw outweight cprojw cprojweight projw wproj",
    "b_q": "bq qbias qprojbias",
    "b_k": "bk kbias kprojbias",
    "b_v": "bv vbias vprojbias",
    "b_o": "bo obias oprojbias outprojbias outprojb outbias outb bout cprojb cprojbias projb bproj",
}


# What arrays of one dictionary are called, and arguments are not: those are queries and keys themselves.
_HELD_ALONE: Mapping[str, str] = {
    "w_q": "q query attn.q.weight",
    "w_k": "k key attn.k.weight",
    "w_v": "v value attn.v.weight",
    "w_o": "o out output attn.cproj.weight",
    "b_o": "attn.cproj.bias",
    "w_1": "mlp.cfc.weight fc1.weight linear1.weight cfc.weight",
    "b_1": "mlp.cfc.bias fc1.bias linear1.bias cfc.bias",
    "w_2": "mlp.cproj.weight fc2.weight linear2.weight cproj.weight",
    "b_2": "mlp.cproj.bias fc2.bias linear2.bias cproj.bias",
}


@dataclass(frozen=True)
class Taken:
    """The parameters of a function with what they are given; `roles` says which is which of the operation's.

    `missing` are those of the operation that no parameter is, `needed` the parameters that every call must pass. `held`
    is the parameter that has all weights together, if one has. `left_out` are optional inputs that no call passes.
    `defaults` are the default values. `together` are parameters that are several arrays of the operation, and which.
    `record` is the class of the parameter that has all weights, if it is annotated with one.
    """

    sources: Mapping[str, Source]
    by_position: tuple[str, ...]
    roles: Mapping[str, str]
    missing: tuple[str, ...]
    needed: tuple[str, ...] = ()
    held: str = ""
    left_out: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    record: type | None = None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The parameters that every call must pass, and of which nothing says what they are."""
        return tuple(name for name in self.needed if self.sources[name] is _nothing)

    @property
    def features(self) -> tuple[str, ...]:
        """The optional keywords of the operation that the function has."""
        return tuple(self.roles.values())


def taken(operation: str, takings: Sequence[Taking], *, by_order: bool, unread: Sequence[str] = ()) -> Taken:
    """Return what the parameters of a function are given as an operation, and what the operation lacks then.

    Those that its code leaves `unread` are nothing of the operation.
    """
    record = OPERATIONS[operation]
    wanted = _wanted(record)
    whole = _holder(takings, wanted)
    if whole:
        wanted = [one for one in wanted if not one.name.startswith("weights.")]
    packed = packed_among(takings, operation) if not whole else {}
    in_packed = {f"weights.{part}" for array in packed.values() for part in PARTS[array]}
    wanted = [one for one in wanted if one.name not in in_packed]
    options = [one.name for one in takings if _is_of_options(record, one)][:1]
    of_no_order = (whole, *options, *packed, *unread, *_lengths_in(record, takings), *_turned_too(record, takings))
    others = [one for one in takings if one.name not in of_no_order]
    roles, missing = assigned(others, [one for one in wanted if not options or one.name != "eps"], by_order=by_order)
    of_role = {one.name: one for one in wanted}
    roles = _with_padding(roles, others, of_role)
    sources = {
        one.name: _of_role(of_role[roles[one.name]], one) if one.name in roles else _of_no_role(one) for one in takings
    }
    sources |= dict.fromkeys(unsmoothed(operation, takings), no_smoothing)
    for name in options:
        sources[name], roles[name] = _options, "eps"
    first = tuple(one.name for one in takings if one.by_position)
    needed = tuple(one.name for one in takings if not one.has_default)
    defaults = {one.name: one.default for one in takings if one.has_default}
    of_record = next((one.record for one in takings if one.name == whole), None)
    if whole:
        sources[whole] = _of_whole(record, turned=False, kind=of_record)
    for name, array in packed.items():
        sources[name] = Packed(array, name in needed, is_reversed=folded(name) in UP_FIRST)
        roles[name] = f"weights.{array}"
    if operation == "multi_head_attention":
        sources |= _apart(takings, roles, sources, whole)
    left_out = _left_out(takings, roles)
    return Taken(sources, first, roles, tuple(missing), needed, whole, left_out, defaults, record=of_record)


def _lengths_in(record: Operation, takings: Sequence[Taking]) -> list[str]:
    """Return the parameters that are lengths of keys by their names, where an operation has a mask in their place."""
    if "mask" not in record.features:
        return []
    return [one.name for one in takings if folded(one.name) in LENGTHS]


def _turned_too(record: Operation, takings: Sequence[Taking]) -> list[str]:
    """Return the keys that a rotation turns as it turns the queries: they are no positions."""
    if record.name != "rotary_embedding" or not any(folded(one.name) in QUERIES for one in takings):
        return []
    return [one.name for one in takings if folded(one.name) in KEYS]


def _with_padding(roles: dict[str, str], takings: Sequence[Taking], of_role: Mapping[str, Parameter]) -> dict[str, str]:
    """Return roles with a mask of padding as the mask, where the operation has one and no parameter is it."""
    attends = "query" in of_role or "context" in of_role
    if not attends or "mask" not in of_role or "mask" in roles.values():
        return roles
    name = _padding_among(one.name for one in takings if one.name not in roles)
    return roles if name is None else {**roles, name: "mask"}


def needs_heads(found: Taken) -> bool:
    """Return whether every call must say how many heads there are."""
    return any(folded(name) in _HEADS and name not in found.roles for name in found.needed)


def padding_in(found: Taken) -> str | None:
    """Return the parameter that is a mask of padding beside the mask, None where there is none."""
    return _padding_among(name for name in found.sources if name not in found.roles and name not in found.needed)


def _padding_among(names: Iterable[str]) -> str | None:
    return next((one for one in names if folded(one) in _PADDING), None)


def _left_out(takings: Sequence[Taking], roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the parameters that may be an input, which no call passes: what they do is not judged."""
    return tuple(
        one.name
        for one in takings
        if one.has_default and one.default is None and one.name not in roles and may_be_input(one.name)
    )


def may_be_input(name: str) -> bool:
    """Return whether a parameter that is None by default may be an input, and no setting of how it is computed."""
    return folded(name) not in {*NEUTRAL, *LAST_AXIS, *_NO_INPUTS}


def has_weights_apart(record: Operation, takings: Sequence[Taking]) -> bool:
    """Return whether several parameters of a function are called like one of the weights of an operation each."""
    members = [one for one in _wanted(record) if one.name.startswith("weights.")]
    packed = packed_among(takings, record.name)
    apart = [one for one in takings if one.name in packed or any(is_called(one.name, member) for member in members)]
    return bool(members) and len(apart) > 1


def _holder(takings: Sequence[Taking], wanted: Sequence[Parameter]) -> str:
    """Return the parameter that has all weights of an operation together; empty where each has its own."""
    members = [one for one in wanted if one.name.startswith("weights.")]
    if not members or any(is_called(one.name, member) for one in takings for member in members):
        return ""
    return next((one.name for one in takings if not one.has_default and _holds(one, members)), "")


def _holds(one: Taking, members: Sequence[Parameter]) -> bool:
    """Return whether a parameter is called as all weights are, or is a record with a field for one of them."""
    fields = inspect.get_annotations(one.record) if one.record is not None else {}
    return folded(one.name) in held.NAMES or any(is_called(name, member) for name in fields for member in members)


def _of_whole(record: Operation, *, turned: bool, by_head: bool = False, kind: type | None = None) -> Source:
    """Return the source of all weights, as a record of a kind where that has no other fields."""
    shape = next(one.shape for one in record.parameters if one.kind == "weights")
    members = {
        name: f"{names} {_HELD_ALONE.get(name, '')}"
        for name, names in _MEMBERS.items()
        if f"{name} " in f"{shape.replace(',', ' ')} "
    }

    def of(arguments: Arguments) -> Any:
        heads = int(arguments["num_heads"]) if by_head else 0
        return held.as_record(held.held(arguments["weights"], members, turned=turned, heads=heads), kind)

    return of


def with_axes_of_heads(operation: str, found: Taken) -> Taken:
    """Return the same with an axis of heads in all weights: so a function need not be told how many there are."""
    whole = _of_whole(OPERATIONS[operation], turned=False, by_head=True, kind=found.record)
    return replace(found, sources={**found.sources, found.held: whole})


def _apart(
    takings: Sequence[Taking], roles: Mapping[str, str], sources: Mapping[str, Source], whole: str
) -> dict[str, Source]:
    """Return other sources of keys and their matrix where values have a parameter of their own.

    Keys get the context with its numbers in another order, and the matrix its rows: a right function gives what it
    gave, and one that takes keys for values does not.
    """
    value = next((one.name for one in takings if folded(one.name) in _VALUES and one.name not in roles), None)
    by_role = {role: name for name, role in roles.items()}
    key, matrix = by_role.get("context"), by_role.get("weights.w_k")
    packed = {name: replace(one, keys_rolled=True) for name, one in sources.items() if isinstance(one, Packed)}
    if value is None or key is None or not (matrix or packed or whole):
        return {}
    context = sources[key]
    if whole:
        # Weights in one parameter may be given in several forms: there keys and values are the same.
        return {value: context}
    apart: dict[str, Source] = {value: context, key: lambda arguments: rolled(context(arguments), -1), **packed}
    if matrix is None:
        return apart
    rows = sources[matrix]
    return {**apart, matrix: lambda arguments: rolled(rows(arguments), 0)}


def _wanted(record: Operation) -> list[Parameter]:
    """Return the parameters of an operation, the members of its weights one by one, biases as what may be missing."""
    wanted: list[Parameter] = []
    for one in record.parameters:
        if one.kind == "weights":
            wanted += _members(one)
        else:
            wanted.append(one)
    return wanted


def _members(weights: Parameter) -> list[Parameter]:
    names = [name for name in _MEMBERS if f"{name} " in f"{weights.shape.replace(',', ' ')} "]
    return [
        Parameter(
            f"weights.{name}",
            "",
            "float",
            "positional" if name.startswith("w_") else "feature",
            "",
            also_called=f"{folded(name)} {_MEMBERS[name]}",
        )
        for name in names
    ]


def _of_role(role: Parameter, one: Taking) -> Source:
    name, missing = role.name, None if not one.has_default else LEFT_OUT
    if name.startswith("weights."):
        return _member(name.removeprefix("weights."), needed=not one.has_default)
    if name == "is_causal":
        # A function that is causal by default is asked for what the interface has as its default.
        missing = LEFT_OUT if one.has_default and one.default in (False, None) else False
    if name in _NEITHER and (not one.has_default or one.default not in (None, _NEITHER[name])):
        # A loss with a setting of its own is asked for what the interface has as its default.
        missing = _NEITHER[name]
    if name == "window" and one.default == (-1, -1):
        # Its own way to have no limit on a side is −1; what None does is not its matter.
        return lambda arguments: _without_none(arguments.get("window"))
    if name == "window" and (not one.has_default or type(one.default) is int):
        return lambda arguments: arguments.get(name, wide_window(arguments))
    if name == "softcap" and (one.default is None or type(one.default) in (int, float)):
        # Its own way to have none is None; what 0 does is not its matter.
        none = None if one.default else missing
        return lambda arguments: arguments.get(name) or none
    if name == "num_kv_heads" and not one.has_default:
        return lambda arguments: arguments.get(name) or arguments["num_heads"]
    if name == "rotary_dim" and not one.has_default:
        return lambda arguments: arguments.get("rotary_dim") or shape_of(arguments["x"])[-1]
    if name == "base" and not one.has_default:
        return lambda arguments: arguments.get("base", BASE)
    if name == "scale" and not one.has_default:
        return lambda arguments: arguments.get("scale", shape_of(arguments["query"])[-1] ** -0.5)
    return lambda arguments: arguments.get(name, missing)


def wide_window(arguments: Arguments) -> int:
    """Return a window, as one number of keys, that hides nothing; a function may keep as many keys as it says."""
    of_interface = {QUERY_LENGTH: "query", KEY_LENGTH: "key"}
    return sum(
        int(arguments[length] if length in arguments else shape_of(arguments[role])[-2])
        for length, role in of_interface.items()
    )


def _without_none(window: Any) -> Any:
    return LEFT_OUT if window is None else tuple(-1 if side is None else side for side in window)


def _member(name: str, *, needed: bool) -> Source:
    def of(arguments: Arguments) -> Any:
        member = held.value_of(arguments["weights"], name) if needed else getattr(arguments["weights"], name)
        return member if member is not None else LEFT_OUT

    return of


def unsmoothed(operation: str, takings: Sequence[Taking]) -> list[str]:
    """Return the parameters by which a loss of next tokens smooths its labels, which the operation does not have."""
    names = [one for one in OPERATIONS["cross_entropy"].parameters if one.name == "label_smoothing"]
    if operation != "next_token_loss":
        return []
    return [one.name for one in takings if is_called(one.name, names[0]) and type(one.default) in (int, float)]


def no_smoothing(_: Arguments) -> float:
    """Return what the smoothing of labels is given where an operation has none."""
    return 0.0


def _of_no_role(one: Taking) -> Source:
    name = folded(one.name)
    if name in NEUTRAL and not (one.has_default and one.default is None):
        return lambda _: NEUTRAL[name]
    if name in LAST_AXIS and (one.default is None or isinstance(one.default, int) or not one.has_default):
        return lambda _: -1
    if name in REPEATS:
        return lambda arguments: arguments.get(GROUP_SIZE, LEFT_OUT if one.has_default else None)
    if one.has_default:
        return lambda _: LEFT_OUT
    if name in _OWNERS:
        return _owner
    if name in _HEADS:
        return lambda arguments: arguments.get("num_heads", 1)
    if name in _CLASSES:
        return lambda arguments: shape_of(arguments["logits"])[-1] if "logits" in arguments else None
    if name in _WIDTHS:
        return lambda arguments: shape_of(next(iter(arguments.values())))[-1]
    return _nothing


def _is_of_options(operation: Operation, one: Taking) -> bool:
    """Return whether a parameter is a dictionary of options, which holds the eps of a norm."""
    has_eps = any(each.name == "eps" for each in operation.parameters)
    return has_eps and folded(one.name) in _OPTIONS and (not one.has_default or one.default in (None, {}))


def _options(arguments: Arguments) -> dict[str, Any]:
    return {"eps": arguments["eps"]}


def _nothing(_: Arguments) -> None:
    """Return what is passed where nothing says what to pass."""


def _owner(arguments: Arguments) -> Any:
    """Return what stands for the module that a function is handed, with what such functions read of it."""
    if "query" not in arguments:
        return None
    heads, groups = (shape_of(arguments[name])[1] for name in ("query", "key"))
    width = shape_of(arguments["query"])[-1]
    return SimpleNamespace(
        training=False,
        is_causal=bool(arguments.get("is_causal", False)),
        num_key_value_groups=heads // max(groups, 1),
        num_heads=heads,
        num_key_value_heads=groups,
        head_dim=width,
        scaling=arguments.get("scale", width**-0.5),
        layer_idx=0,
    )


def with_packed_weights_in(order: str, found: Taken) -> Taken:
    """Return the same with weights of queries, keys and values that are one array in another order."""
    packed = {name: replace(one, order=order) for name, one in found.sources.items() if isinstance(one, Packed)}
    return replace(found, sources={**found.sources, **packed})


def with_matrices_turned(operation: str, found: Taken) -> Taken:
    """Return the same with each matrix of the weights transposed, as linear layers hold them."""

    def turned(source: Source) -> Source:
        def of(arguments: Arguments) -> Any:
            value = source(arguments)
            return transposed(value, (1, 0)) if len(shape_of(value)) == 2 else value

        return of

    sources = {
        name: turned(source) if found.roles.get(name, "").startswith("weights.") else source
        for name, source in found.sources.items()
    }
    if found.held:
        sources[found.held] = _of_whole(OPERATIONS[operation], turned=True, kind=found.record)
    return replace(found, sources=sources)
