"""The functions of a module, or one function, as operations: what each was taken for, and why others were not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

from veriformer.adapters import signatures
from veriformer.adapters.arrays import ArrayFramework, framework
from veriformer.adapters.errors import LoadError
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.matching import (
    alibi,
    backward,
    backward_pairs,
    cached,
    gates,
    linear_maps,
    losses,
    of_logits,
    scripted,
    special,
    together,
    training,
)
from veriformer.adapters.matching.forms import Adopted
from veriformer.adapters.matching.frameworks_in_text import frameworks_named
from veriformer.adapters.matching.layouts import ATTENTION, AsItIs, Changed, Layout, OneByOne, levels
from veriformer.adapters.matching.looking import BudgetSpent
from veriformer.adapters.matching.more_than_attention import more_than_attention
from veriformer.adapters.matching.names import (
    REPEATS,
    Taking,
    assigned,
    folded,
    forward_operations,
    nearest,
    parameters_of,
    suggested,
    suggested_by_a_word,
    words_of,
)
from veriformer.adapters.matching.returned import returns_several
from veriformer.adapters.matching.returned_weights import form_of_weights
from veriformer.adapters.matching.search import Found, form_of
from veriformer.adapters.matching.sources import has_weights_apart, taken
from veriformer.adapters.matching.sublayers import sublayer_of
from veriformer.adapters.matching.texts import repeats_key_heads, says_attention, says_next_token
from veriformer.spec.operations import OPERATIONS

# Functions that do something, rather than compute an operation of their arguments, are not called.
_DOING = frozenset(
    """
    main train fit run test save load plot show print download read write delete remove evaluate benchmark demo
    check profile export parse send open close start stop exit setup init
    """.split()  # noqa: SIM905
)
_MOST_OPERATIONS = 4
# What is called so may be given heads that are projected and repeated already.
_GROUPED, _ONE_HEAD = "grouped_query_attention", "single_head_attention"
_ATTENDING = frozenset({"attention", "attn", "attend", "sdpa", "flash"})
_WAYS_TO_ATTEND = frozenset(
    """
    gqa mqa grouped query
    local window windowed sliding folded chunked chunk blockwise blocked tiled dense full self varlen padded lengths
    flash fwd forward my simple naive batched causal masked heads head multi reference ref torch jax np numpy
    with using padding mask bias lens online streaming split softmax exact vanilla plain qkv kv qkvpacked kvpacked
    packed func cross self
    """.split()  # noqa: SIM905
)
# Of a function that makes a mask: a number of another name may be a length.
_HIDING = frozenset({"window", "chunk", "block", "prefix", "segment", "span", "stride", "dilation", "band", "sinks"})
# What training loops call tokens that stand at the logits' own positions; the others of a row are its tokens.
_SHIFTED_BY_CALLER = ("targets", "target", "tgt", "tgts")
_MERGING = frozenset({"combine", "merge", "join", "fuse", "reduce", "add", "update"})
_OF_HEADS = frozenset({_GROUPED, "multi_head_attention"})
NO_OPERATION = "no operation takes what it takes"


@dataclass(frozen=True)
class Match:
    """What a function was taken for: an operation, in some words how it is called, and whether its results fit."""

    name: str
    operation: str
    description: str
    exact: bool

    @property
    def sentence(self) -> str:
        """What is said of it."""
        guess = "" if self.exact else "the likeliest form, as its results fit none"
        how = "; ".join(part for part in (self.description, guess) if part)
        told = "is judged" if self.name == self.operation else f"is judged as {self.operation}"
        return f"{self.name} {told}{': ' if how else ''}{how}"


@dataclass(frozen=True)
class Matched:
    """The operations that functions were taken for, and the other functions.

    `others` are no operations, each with the reason. `alone` are operations that have to be judged by themselves.
    """

    operations: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    framework: str = "numpy"
    matches: tuple[Match, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)
    alone: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    fixed_values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Candidate:
    name: str
    operation: str
    framework: str
    found: Found
    function: Callable[..., Any]


def _match(one: _Candidate) -> Match:
    return Match(one.name, one.operation, one.found.form.description, one.found.exact)


def _meant(one: _Candidate) -> str:
    """Return what is said of a function before it is judged."""
    return _match(one).sentence.replace(" is judged", " is to be judged", 1)


def functions_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the public functions that a module has written itself, by name; functions of fewer arguments are some."""
    return {
        name: scripted.as_written(name, value)
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and not isinstance(value, type)
        and scripted.home_of(value) == module.__name__
        and not hasattr(value, "parameters")
        and not scripted.is_traced(value)
    }


def matched(
    functions: Mapping[str, Callable[..., Any]],
    declared: str | None,
    asked: Mapping[str, str],
    taken: Sequence[str] = (),
) -> Matched:
    """Return what functions are taken for.

    `declared` is the framework that is declared, None to find it. `asked` are the operations that the user names for
    functions. The operations `taken` have a function of their name already.
    """
    candidates: dict[str, _Candidate] = {}
    others: dict[str, str] = {}
    alone: list[str] = []
    # What is called as an operation is that one, whatever else would be one.
    for name, function in sorted(functions.items(), key=lambda one: one[0] not in OPERATIONS):
        own = sublayer_of(function)
        # A class takes arrays of its framework alone.
        of_class = (own.arrays.name, own.roles.operation) if own is not None else (declared, None)
        SO_FAR.doing(f"finding out what {name} is")
        try:
            best, reason = _best(name, function, of_class[0], asked.get(name) or of_class[1])
            SO_FAR.found(_meant(best) if best is not None else f"{name} is not to be judged: {reason}")
            SO_FAR.doing(f"finding out what else {name} returns")
            if best is None:
                others[name] = reason
                if asked.get(name) is None and _done_besides(function):
                    alone.append(name)
            elif best.operation in taken or best.operation in candidates:
                alone.append(name)
            else:
                own_operation, *further = _all_that_it_is(best)
                candidates[own_operation.operation] = own_operation
                for one in further:
                    if one.operation not in (*taken, *candidates, *functions):
                        candidates[one.operation] = one
        except BudgetSpent as spent:
            # What is half known is not judged.
            others[name] = str(spent)
    chosen = declared or _framework_of_most(candidates.values())
    if declared is None:
        with suppress(BudgetSpent):
            candidates = {key: _with_arrays_of(chosen, one, functions, asked) for key, one in candidates.items()}
    return replace(_of_one_framework(candidates, alone, chosen), others=others)


def _all_that_it_is(best: _Candidate) -> list[_Candidate]:
    """Return what a function is, then the operations of what it returns besides and of fewer heads of keys."""
    other_result = _gradient_returned(best) or _weights_returned(best)
    own = best if other_result is not None else _saying_what_is_left(best)
    return [own, *(one for one in (other_result, _with_fewer_key_heads(best)) if one is not None)]


def _framework_of_most(candidates: Collection[_Candidate]) -> str:
    names = [one.framework for one in candidates]
    return max(dict.fromkeys(names), key=names.count) if names else "numpy"


def _with_arrays_of(
    chosen: str, candidate: _Candidate, functions: Mapping[str, Callable[..., Any]], asked: Mapping[str, str]
) -> _Candidate:
    """Return a function with arrays of the chosen framework where it takes these too: plain operators take any."""
    function = functions.get(candidate.name)
    if candidate.framework == chosen or function is None or sublayer_of(function) is not None:
        return candidate
    other, _ = _best(candidate.name, function, chosen, asked.get(candidate.name))
    alike = other is not None and (other.operation, other.found.exact) == (candidate.operation, candidate.found.exact)
    return other if other is not None and alike else candidate


def _of_one_framework(candidates: Mapping[str, _Candidate], alone: Sequence[str], chosen: str) -> Matched:
    """Return the candidates of the chosen framework; the others are judged by themselves."""
    ours = [one for one in candidates.values() if one.framework == chosen]
    return Matched(
        operations={one.operation: Adopted(one.function, one.found.form) for one in ours},
        framework=chosen,
        matches=tuple(map(_match, ours)),
        alone=(*alone, *(one.name for one in candidates.values() if one.framework != chosen)),
        limitations=tuple(dict.fromkeys(limit for one in ours for limit in one.found.form.limitations)),
        fixed_values={key: value for one in ours for key, value in one.found.form.fixed_values.items()},
    )


def _best(
    name: str, function: Callable[..., Any], declared: str | None, asked: str | None
) -> tuple[_Candidate | None, str]:
    """Return what a function is, the first whose results are those of the reference, else the likest."""
    function = gates.between_matrices(linear_maps.of_arrays(function), name)
    takings = parameters_of(function)
    if takings is None:
        return None, "its signature cannot be read"
    of_training = training.operation_of(function, name) if asked is None or asked in training.OPERATIONS_OF else None
    if of_training is not None:
        of = asked or of_training
        return _first_of(
            name, function, of, _frameworks(function, declared), lambda arrays: training.form_of(function, of, arrays)
        )
    is_step = asked is None and cached.is_step(function)
    if is_step:
        for arrays in _frameworks(function, declared):
            steps = cached.form_of(function, arrays, name)
            if steps is not None:
                return _Candidate(name, steps[0], arrays.name, steps[1], function), ""
    pair = backward_pairs.pair_of(function, name) if asked is None or asked.endswith("_backward") else None
    if pair is not None:
        frameworks = _frameworks(pair.backward, declared)
        return _first_of(
            name,
            function,
            f"{pair.operation}_backward",
            frameworks,
            lambda arrays: backward.form_of(pair, arrays, name),
        )
    if not takings or _DOING.intersection(words_of(name)[:1]):
        return None, NO_OPERATION if not takings else "its name says that it does something"
    masked = of_logits.of_logits(function, name, takings) if asked in (None, of_logits.OPERATION) else None
    if masked is not None:
        asked, takings = of_logits.OPERATION, parameters_of(masked) or []
    best: _Candidate | None = None
    reason = ""
    for operation, named in _operations(function, name, takings, asked):
        if best is not None and not named:
            break
        for arrays in _frameworks(function, declared):
            its = masked or function
            found, why = form_of(its, operation, takings, arrays, named=named, said=asked is not None, name=name)
            reason = reason or (f"as {operation}, {why}" if named and why else "")
            if found is None:
                continue
            candidate = _Candidate(name, operation, arrays.name, found, its)
            if found.exact:
                return (best if best is not None and _is_meant_grouped(best, candidate) else candidate), ""
            if best is None or found.likeness > best.found.likeness:
                best = candidate
    doing = _done_besides(function) if asked is None and (best is None or best.operation in ATTENTION) else ""
    if doing:
        return None, f"it does more than attend (`{doing}`), so that it is judged where it can be read in a layer"
    return best, reason or _nearest_words(name, takings)


def _done_besides(function: Callable[..., Any]) -> str:
    """Return a word that says what a function of queries, keys and values does besides attending; empty for none."""
    return more_than_attention(function) if _is_of_heads(parameters_of(function) or ()) else ""


def _is_of_heads(takings: Sequence[Taking]) -> bool:
    """Return whether a function is given queries, keys and values, under their names."""
    return not _lacking("scaled_dot_product_attention", takings)


def _is_meant_grouped(likest: _Candidate, exact: _Candidate) -> bool:
    """Return whether a function called grouped answers fewer key heads than queries, which plain attention does not.

    It is right where there are as many, in the same layout, whatever it does with the others.
    """
    layouts = [one.found.form.layout for one in (likest, exact)]
    takes_fewer = layouts[0].words == layouts[1].words and not isinstance(layouts[0], OneByOne)
    return (likest.operation, exact.operation) == (_GROUPED, "scaled_dot_product_attention") and takes_fewer


def _first_of(
    name: str,
    function: Callable[..., Any],
    operation: str,
    frameworks: Iterable[ArrayFramework],
    form_of: Callable[[ArrayFramework], tuple[Found | None, str]],
) -> tuple[_Candidate | None, str]:
    """Return what a function is with the arrays of the first framework that it takes, else the first reason."""
    reason = ""
    for arrays in frameworks:
        found, why = form_of(arrays)
        if found is not None:
            return _Candidate(name, operation, arrays.name, found, function), ""
        reason = reason or f"as {operation}, {why}"
    return None, reason or NO_OPERATION


def _gradient_returned(best: _Candidate) -> _Candidate | None:
    """Return the gradient that a loss returns as its second result, as an operation of its own."""
    pick = best.found.form.pick
    if best.operation != "cross_entropy" or not best.found.exact or (pick.kind, pick.at) != ("member", 0):
        return None
    found = backward.loss_and_gradient(best.function, framework(best.framework), best.name)
    name = f"{best.operation}_backward"
    called = f"the gradient of {best.name}"
    return None if found is None else _Candidate(called, name, best.framework, found, best.function)


def _has_heads(layout: Layout) -> bool:
    """Return whether a function is given all heads at once, each with all its queries."""
    *_, innermost = levels(layout)
    return layout.rank == len(("B", "H", "L", "D")) and isinstance(innermost, AsItIs | Changed)


def _with_fewer_key_heads(best: _Candidate) -> _Candidate | None:
    """Return a right attention with fewer heads of keys, as an operation of its own; others refuse such arrays."""
    layout, takings = best.found.form.layout, parameters_of(best.function)
    attends = best.operation == "scaled_dot_product_attention" and best.found.exact
    if not attends or not _has_heads(layout) or takings is None:
        return None
    grouped = partial(form_of, best.function, _GROUPED, takings, framework(best.framework), named=True, name=best.name)
    found, _ = grouped(layout=layout.words)
    if found is not None and not found.exact:
        # In a layout that fits better, what it answers to fewer heads is by chance.
        found, _ = grouped()
    if found is None or found.form.layout.words != layout.words:
        return None
    return _Candidate(f"{best.name} with fewer heads of keys", _GROUPED, best.framework, found, best.function)


def _saying_what_is_left(best: _Candidate) -> _Candidate:
    """Return what a function was taken for, with a word on results that are not looked at."""
    form = best.found.form
    looked_at = any("log-sum-exp" in words for words in form.words)
    if not best.found.exact or form.pick.kind not in ("member", "attribute") or looked_at:
        return best
    form = replace(form, pick=replace(form.pick, leaves_others=True))
    return replace(best, found=replace(best.found, form=form))


def _weights_returned(best: _Candidate) -> _Candidate | None:
    """Return the weights that a right attention returns beside its output, as an operation of their own."""
    if not best.found.exact:
        return None
    form, is_right = form_of_weights(best.function, best.found.form, framework(best.framework))
    if form is None:
        return None
    name, found = f"what {best.name} returns besides", replace(best.found, form=form, exact=is_right)
    return _Candidate(name, form.operation, best.framework, found, best.function)


def _operations(
    function: Callable[..., Any], name: str, takings: Sequence[Taking], asked: str | None
) -> Iterator[tuple[str, bool]]:
    """Yield the operations to try, and whether the function is called so; others are suggested by its parameters."""
    if asked is not None:
        yield asked, True
        return
    of_name = [gates.OPERATION] if gates.is_network(function) else suggested(name)
    if _OF_HEADS.intersection(of_name) and "scaled_dot_product_attention" not in of_name:
        of_name.append("scaled_dot_product_attention")
    if _is_called_attention(name) and has_weights_apart(OPERATIONS["multi_head_attention"], takings):
        of_name = ["multi_head_attention", *(one for one in of_name if one != "multi_head_attention")]
    if "multi_head_attention" in of_name and _is_of_one_head(takings):
        of_name = [_ONE_HEAD]
    is_packed = any(together.is_packed(one.name) for one in takings)
    if (
        not of_name
        and _is_called_attention(name)
        and (is_packed or not _lacking("scaled_dot_product_attention", takings))
    ):
        of_name.append("scaled_dot_product_attention")
    if not of_name and _is_of_heads(takings) and says_attention(function):
        of_name.append("scaled_dot_product_attention")
    of_tokens, of_targets = (_has_its_parameters(one, takings) for one in ("next_token_loss", "cross_entropy"))
    if not of_name and "loss" in words_of(name) and of_tokens and not of_targets:
        of_name.append("next_token_loss")
    if "next_token_loss" in of_name and any(folded(one.name) in _SHIFTED_BY_CALLER for one in takings):
        of_name = list(dict.fromkeys((*of_name, "cross_entropy")))
    elif "next_token_loss" in of_name and says_next_token(function):
        of_name = ["next_token_loss"]
    merging = "merge_attention"
    if not of_name and _MERGING.intersection(words_of(name)) and _has_its_parameters(merging, takings):
        of_name.append(merging)
    grouped = repeats_key_heads(function) or any(folded(one.name) in REPEATS for one in takings)
    if "scaled_dot_product_attention" in of_name and _GROUPED not in of_name and grouped:
        of_name.insert(0, _GROUPED)
    if "feed_forward" in of_name and "gated_feed_forward" not in of_name and _has_a_gate(takings):
        of_name.insert(0, "gated_feed_forward")
    if special.rotates_by_tables([one.name for one in takings]) and "rotary_embedding" not in of_name:
        of_name.append("rotary_embedding")
    asked_for = any("alibi" in words_of(one.name) and one.default is False for one in takings)
    if alibi.is_attention(takings) and alibi.adds_biases(function, name) and not asked_for:
        of_name = ["alibi_bias"]
    if _is_mask_of_another_kind(takings):
        of_name = [one for one in of_name if one != "causal_mask"]
    for operation in sorted(of_name, key=lambda one: _lacking(one, takings)):
        yield operation, True
    by_parameters = [one.name for one in forward_operations() if _has_its_parameters(one.name, takings)]
    others = [one for one in by_parameters if one not in of_name][:_MOST_OPERATIONS]
    # A word other than attention says what else a function does.
    by_word = [one for one in suggested_by_a_word(name) if one not in (*of_name, *ATTENTION, *_OF_HEADS)]
    for operation in dict.fromkeys((*others, *by_word)):
        yield operation, False


def _is_mask_of_another_kind(takings: Sequence[Taking]) -> bool:
    """Return whether a number that must be given says which keys are hidden besides the later ones."""
    return any(_HIDING.intersection(words_of(one.name)) for one in takings if not one.has_default)


def _is_of_one_head(takings: Sequence[Taking]) -> bool:
    """Return whether matrices of queries, keys and values are given, and nothing else of multi-head attention."""
    whole = taken("multi_head_attention", takings, by_order=False)
    return has_weights_apart(OPERATIONS[_ONE_HEAD], takings) and {"weights.w_o", "num_heads"} <= set(whole.missing)


def _has_a_gate(takings: Sequence[Taking]) -> bool:
    """Return whether a parameter is called as the matrix of a gate is."""
    return any("gate" in words_of(one.name) for one in takings)


def _is_called_attention(name: str) -> bool:
    """Return whether a name says attention, and nothing else but how it is laid out or taken in parts."""
    words = set(words_of(name))
    return bool(words & _ATTENDING) and words <= _ATTENDING | _WAYS_TO_ATTEND


def _lacking(operation: str, takings: Sequence[Taking]) -> int:
    wanted = [one for one in OPERATIONS[operation].parameters if one.requirement == "positional"]
    _, missing = assigned(takings, [one for one in wanted if one.kind != "weights"], by_order=False)
    return len(missing)


def _has_its_parameters(operation: str, takings: Sequence[Taking]) -> bool:
    """Return whether all that an operation needs, and nothing else that must be given, is among the parameters."""
    required = [one for one in OPERATIONS[operation].parameters if one.requirement == "positional"]
    if any(one.kind in ("weights", "scalar") for one in required):
        return False
    found, missing = assigned(takings, required, by_order=False)
    others = [one.name for one in takings if not one.has_default and one.name not in found]
    of_tokens = operation in ("cross_entropy", "next_token_loss")
    return not missing and (not others or (of_tokens and all(map(losses.is_weighing, others))))


def _frameworks(function: Callable[..., Any], declared: str | None) -> Iterator[ArrayFramework]:
    # What text alone speaks of is imported for it.
    named = frameworks_named(function)
    names = (declared,) if declared else dict.fromkeys((*named, "numpy"))
    for name in names:
        if declared or name in sys.modules or name in named:
            try:
                yield framework(name)
            except LoadError:
                continue


def _nearest_words(name: str, takings: Sequence[Taking]) -> str:
    near = nearest(name, takings)
    if not near:
        return NO_OPERATION
    words = [f"{one}{_differences(one, missing, takings)}" for one, missing in near]
    return f"nearest are {', '.join(words)}"


def _differences(operation: str, missing: Sequence[str], takings: Sequence[Taking]) -> str:
    """Return what a function lacks of an operation, and what it must be given that the operation does not have."""
    found, _ = assigned(takings, OPERATIONS[operation].parameters, by_order=False)
    others = [f"`{one.name}`" for one in takings if not one.has_default and one.name not in found]
    parts = (f"without {', '.join(missing)}" if missing else "", f"it needs {', '.join(others)}" if others else "")
    said = "; ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def is_of_another_interface(function: Callable[..., Any], operation: str) -> bool:
    """Return whether a function of an operation's name has fewer arguments than it, weights apart, or several results.

    It is not called: what it keeps of a call would be what the laws look for.
    """
    takings, record = parameters_of(function), OPERATIONS[operation]
    if takings is None:
        return False
    required = [one for one in takings if not one.has_default]
    if len(required) < len(record.positional) or has_weights_apart(record, required):
        return True
    return not record.results and returns_several(function)


def fits_as_written(function: Callable[..., Any], operation: str) -> bool:
    """Return whether a function of an operation's name can be called by the interface, with its keywords' names."""
    record = OPERATIONS[operation]
    if signatures.unaccepted_call(function, record):
        return False
    if signatures.misspelt_keywords(function, record) or signatures.foreign_keywords(function, record):
        return False
    # A call by the interface leaves out what another name stands for, and its default need not be the interface's.
    roles = taken(operation, parameters_of(function) or (), by_order=False).roles
    return not any(role in record.features and name != role for name, role in roles.items())
