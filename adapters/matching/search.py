"""The form in which a function is an operation: the first that gives the reference's results, else the likest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import (
    added_residuals,
    alibi,
    axes,
    by_length,
    by_query,
    causal,
    chunks,
    halves,
    log_sums,
    losses,
    masks,
    masks_of_heads,
    merged,
    offsets,
    own_tables,
    packed_samples,
    rotary_offsets,
    special,
    temperatures,
    together,
    windows,
)
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import (
    ATTENTION,
    AsItIs,
    FlatTokens,
    Layout,
    OfLengths,
    OfOneWidth,
    joins_axes,
    of_heads,
    of_streams,
    of_vectors,
)
from veriformer.adapters.matching.meant import NORMS, Meant
from veriformer.adapters.matching.names import Taking, words_of
from veriformer.adapters.matching.packed import other_orders
from veriformer.adapters.matching.places import ByPlace, SampleBySample, of_one_position
from veriformer.adapters.matching.probes import (
    EQUAL_LENGTHS,
    EQUAL_WIDTHS,
    GROUPED,
    SIZES,
    Probe,
    is_grouped,
    is_near,
    probe_of,
    probe_of_sizes,
)
from veriformer.adapters.matching.sinks import with_sinks
from veriformer.adapters.matching.sources import (
    Taken,
    needs_heads,
    no_smoothing,
    taken,
    with_axes_of_heads,
    with_matrices_turned,
    with_packed_weights_in,
)
from veriformer.adapters.matching.sublayers import ACTIVATIONS, Sublayer, sublayer_of
from veriformer.adapters.matching.texts import (
    divides_by_length,
    reads,
    says_more_than_a_lookup,
    says_power_of_two,
    shifts_by_one,
    source_of,
)
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS

_NETWORKS = ACTIVATIONS
Candidate = tuple[Form, dict[str, int]]
TURNED = "matrices (out, in)"
"""What is said of a form whose matrices are transposed."""
_MORE_AXES = "arrays with more axes get other results"
OF_LENGTH = (
    "it is right for vectors that are not small; it divides by their length, or by eps where that is larger, and the "
    "laws are of an eps that is added"
)
"""Why a norm that is right as far as it goes is not judged."""
# A function whose results depend on the arguments so differently is something else.
_LEAST_LIKENESS = 0.05


@dataclass(frozen=True)
class Found:
    """A form of a function; `exact` where its results are the reference's, `likeness` where they are not."""

    form: Form
    exact: bool
    likeness: float = 1.0


def form_of(
    function: Callable[..., Any],
    operation: str,
    takings: Sequence[Taking],
    framework: ArrayFramework,
    *,
    named: bool,
    said: bool = False,
    name: str = "",
    layout: str = "",
) -> tuple[Found | None, str]:
    """Return the form in which a function is an operation, None with the reason where there is none.

    A function that is not `named` so must give the reference's results. One that is `said` to be the operation may give
    any of the right shape. Where its layout is known, only forms with the words of that `layout` are tried.
    """
    found = taken(operation, takings, by_order=named, unread=_unread_masks(function, takings))
    if operation == "rotary_embedding":
        found = special.without_unread_places(found, function)
    if operation in (*ATTENTION, merged.OPERATION):
        by_name = taken(operation, takings, by_order=False, unread=_unread_masks(function, takings))
        found = together.with_packed(operation, by_name, source_of(function) or "") or found
    # A probe has a few dozen numbers: on a busy machine a second thread takes a hundred times as long as the work.
    framework.use_one_thread()
    trials = Trials(function, framework)
    best: Found | None = None
    own, meant = sublayer_of(function), Meant.by(function, operation, found)
    for form, sizes in _in_order(_candidates(operation, found, framework), function, operation, name):
        if form.last_resort and best is not None and not best.form.last_resort:
            break
        if layout and form.layout.words != layout:
            continue
        if _is_as_like_as_can_be(best) and chunks.excuses_other_lengths(form, function):
            continue
        if special.is_contradicted(form, function) or meant.excludes(form.layout, best.form.layout if best else None):
            continue
        # It is right so only where it is not for more axes at once.
        fewer = best is not None and form.layout.rank < best.form.layout.rank
        probe = _probe(operation, sizes, form, own)
        answers, is_partly_right = _wrong_ones_first(operation, trials.forms(form, probe), probe)
        for answered, result in answers:
            may_be_likest = named and not _is_as_like_as_can_be(best)
            is_triangle = may_be_likest and causal.hides_later_keys(trials, answered, probe, result)
            must = meant.causal or is_triangle
            one, its = causal.causal_or_not(answered, probe, result, words_of(name), must=must)
            if its.is_answered_by(result):
                if operation in NORMS and "eps" in found.missing and divides_by_length(function):
                    return None, OF_LENGTH
                one = replace(one, words=(*one.words, _MORE_AXES)) if fewer else one
                return _with_features(trials, Found(one, True), found, its), ""
            if may_be_likest:
                likeness = trials.likeness(one, its, result) if own is None else own.likeness(_activation_of(one))
                # With another axis as the length, queries would not see a triangle of keys.
                likeness += is_partly_right + is_triangle
                if fewer and likeness < 1.0:
                    continue
                if best is None or likeness > best.likeness + 1e-9:
                    best = Found(one, False, likeness)
                    its_probe = its
    reason = _refusal(operation, function, name, found, best, said=said)
    if not reason and not said and best is not None and special.is_of_tensor2tensor(trials, best.form, its_probe):
        reason = special.OF_TENSOR2TENSOR
    if reason:
        return None, reason
    if best is not None:
        return _with_features(trials, best, found, its_probe), ""
    if _lacking(operation, found):
        return None, f"nothing is {' and '.join(_lacking(operation, found))}"
    return None, trials.failure or "it returns no array"


def _is_as_like_as_can_be(best: Found | None) -> bool:
    """Return whether no other form can be more alike: the result depends on all that the reference's depends on.

    It is 2 where queries see a triangle of keys besides. Of rotations and of classes more than that counts.
    """
    return best is not None and best.form.operation in ATTENTION and best.likeness in (1.0, 2.0)


def _in_order(
    candidates: Iterator[Candidate], function: Callable[..., Any], operation: str, name: str
) -> Iterable[Candidate]:
    """Return the forms of a class, or of a function, in the order in which they are tried."""
    own = sublayer_of(function)
    if own is not None:
        return _of_class(candidates, own)
    if operation not in _NETWORKS:
        return candidates
    text = (source_of(function) or name).casefold()
    # Of a wrong network the activation that its code names is the one that it is meant to have.
    return sorted(candidates, key=lambda one: str(_activation_of(one[0])) not in text)


def _refusal(
    operation: str, function: Callable[..., Any], name: str, found: Taken, best: Found | None, *, said: bool
) -> str:
    """Return why a function that is right in no form is not judged in the likeliest; empty where it may be."""
    # What a function makes of a guess says nothing of the function.
    unknown = [one for one in found.unknown if best is None or best.form.sources[one] is found.sources[one]]
    if unknown and not _lacking(operation, found):
        return needs(name, unknown)
    own = sublayer_of(function)
    if own is not None and own.only_exact:
        return own.only_exact
    if best is not None and (why := getattr(function, "only_exact", "")):
        return str(why)
    if best is None or said:
        return ""
    if operation == "token_embedding" and says_more_than_a_lookup(function):
        return f"it does more to the rows than {operation} does"
    if operation == "cross_entropy" and shifts_by_one(function):
        return "it compares logits with the targets of the next position, as next_token_loss does"
    if best.likeness < _LEAST_LIKENESS:
        return f"it answers, and its results depend on its arguments otherwise than those of {operation}"
    return ""


def _unread_masks(function: Callable[..., Any], takings: Sequence[Taking]) -> list[str]:
    """Return the masks that code does not read, so that one that it reads is judged.

    Where it reads none, the first is left out: it is said to have no effect.
    """
    masks = [one.name for one in takings if "mask" in one.name and one.has_default]
    unread = [one for one in masks if not reads(function, one)]
    return unread if len(unread) < len(masks) else unread[1:]


def needs(name: str, unknown: Sequence[str]) -> str:
    """Return the sentence about parameters of which nothing says what to pass."""
    listed = " and ".join(f"`{one}`" for one in unknown)
    example = ", ".join(f"{one}=..." for one in unknown)
    it = "it" if len(unknown) == 1 else "them"
    return (
        f"{name or 'the function'}(...) needs {listed}, and nothing says what to pass: give {it} a default ({example}) "
        f"in its signature, or write a function without {it} that calls it, and check again"
    )


def _wrong_ones_first(
    operation: str, results: Iterator[tuple[Form, np.ndarray]], probe: Probe
) -> tuple[Iterable[tuple[Form, np.ndarray]], bool]:
    """Return the results of a rotation of queries and keys: the wrong one of the two, else both together.

    With them comes whether one of the two is right, so that the form is the one that is meant.
    """
    found = list(results) if operation == "rotary_embedding" else []
    if len(found) != len(("query", "key")) or not found[0][0].turns_both:
        return found or results, False
    wrong = [one for one in found if not probe.is_answered_by(one[1])]
    first, result = found[0]
    return wrong or [(replace(first, pick=replace(first.pick, kind="both")), result)], len(wrong) == 1


def _of_class(
    candidates: Iterable[tuple[Form, dict[str, int]]], own: Sublayer
) -> Iterator[tuple[Form, dict[str, int]]]:
    """Yield the forms of a class, those of the activation that its code names first: it takes samples of positions."""
    found = [(_of_its_sizes(form, own), sizes) for form, sizes in candidates]
    whole = [one for one in found if one[0].layout == found[0][0].layout]
    known = [one for one in whole if not (own.is_oriented and TURNED in one[0].words)]
    yield from sorted(known, key=lambda one: -own.likeness(_activation_of(one[0])))


def _activation_of(form: Form) -> Any:
    return form.fixed_values.get(f"{form.operation}.activation")


def _of_its_sizes(form: Form, own: Sublayer) -> Form:
    """Return the form of a class that was built with sizes of its own, which are all that it takes."""
    sizes = {name: value for name, value in own.sizes.items() if name != "num_kv_heads" or is_grouped(own.sizes)}
    fixed = {f"{form.operation}.{name}": value for name, value in sizes.items()}
    return replace(form, fixed_values={**form.fixed_values, **fixed}, words=(*own.words, *form.words))


def _probe(operation: str, sizes: dict[str, int], form: Form, own: Sublayer | None) -> Probe:
    given: dict[str, Any] = {}
    activation = _activation_of(form)
    if activation is not None:
        given["activation"] = activation
    probe = probe_of(operation, sizes, **given) if own is None else probe_of_sizes(operation, own.sizes, **given)
    if f"{operation}.context" in form.limitations:
        # Without a context of its own, an attention attends to what asks.
        return probe.with_argument("context", probe.arguments["x"])
    return probe


_FEW_QUERIES, _MANY_KEYS = 2, 13
_AS_MANY = "as many keys as queries, since with others its results are wrong"


def _candidates(operation: str, found: Taken, framework: ArrayFramework) -> Iterator[tuple[Form, dict[str, int]]]:
    """Yield the forms to try, each with the sizes of its probe, the commonest first."""
    if _lacking(operation, found) and operation not in special.FORMS:
        return
    for form in _with_what_it_lacks(operation, found, framework):
        given = isinstance(form.layout, by_query.ByQuery | packed_samples.PackedSamples)
        for layout in [form.layout] if given else _layouts(operation, found, framework):
            for sizes, limitations in _sizes(operation, layout):
                limited = tuple(f"{operation}.{one}" for one in limitations)
                yield replace(form, layout=layout, limitations=(*form.limitations, *limited)), sizes


def _lacking(operation: str, found: Taken) -> list[str]:
    """Return what the operation needs and no parameter is, without what can be done without."""
    bearable = special.MAY_BE_MISSING.get(operation, frozenset())
    if _has_heads_in_weights(operation, found):
        bearable |= {"num_heads"}
    return [one.removeprefix("weights.") for one in found.missing if one not in bearable]


def _has_heads_in_weights(operation: str, found: Taken) -> bool:
    """Return whether a function has all weights together, and is not told how many heads there are."""
    return operation == "multi_head_attention" and bool(found.held) and "num_heads" in found.missing


def _with_what_it_lacks(operation: str, found: Taken, framework: ArrayFramework) -> Iterable[Form]:
    form = Form(operation, found.sources, found.by_position, features=_features(operation, found))
    if _has_heads_in_weights(operation, found):
        apart = with_axes_of_heads(operation, found)
        form = replace(form, sources=apart.sources, words=("weights (E, H, D)",))
    if operation in special.FORMS:
        yield from special.FORMS[operation](form, found, framework)
        return
    whole = [form]
    if found.together:
        whole = [*together.forms(form, found)]
    elif operation in ATTENTION:
        in_rows = [*packed_samples.forms(form, found, framework)]
        whole = in_rows or by_length.with_all_keys(form, found, framework)
    elif operation == masks_of_heads.OPERATION:
        whole = masks_of_heads.with_all_visible(form, found, framework)
    form = whole[0]
    forms = [
        *(one for each in whole for one in (chunks.forms(each, found) if operation in ATTENTION else [each])),
        *masks.with_whole_masks(form, found),
        *special.exchanged(form, found),
    ]
    forms += _with_weights_otherwise(operation, form, found)
    if summed := [*added_residuals.forms(form, found)]:
        # One that leaves the residual out is right as a norm of the other.
        yield from summed
        return
    yield from special.with_held_parameters(form, found)
    for each in forms:
        for one in temperatures.forms(operation, each, found):
            yield from _of_one_activation(operation, special.limited(operation, one, found))


def _with_weights_otherwise(operation: str, form: Form, found: Taken) -> Iterator[Form]:
    """Yield the forms whose matrices are transposed, or whose queries, keys and values stand in another order."""
    in_order = {order: with_packed_weights_in(order, found) for order in other_orders(found.sources)}
    for order, one in {"": found, **in_order}.items():
        words = (f"packed as {order}",) if order else ()
        if order:
            yield replace(form, sources=one.sources, words=words)
        if one.held or any(role.startswith("weights.") for role in one.roles.values()):
            yield replace(form, sources=with_matrices_turned(operation, one).sources, words=(TURNED, *words))


def _of_one_activation(operation: str, form: Form) -> Iterator[Form]:
    for activation in _NETWORKS.get(operation, ()):
        fixed = {f"{operation}.activation": activation}
        limits = (*form.limitations, f"{operation}.activation")
        yield replace(form, fixed_values=fixed, limitations=limits, words=(*form.words, activation))
    if operation not in _NETWORKS:
        yield form


def _features(operation: str, found: Taken) -> tuple[str, ...]:
    return tuple(one for one in OPERATIONS[operation].features if one in found.features and one != "mask")


def _layouts(operation: str, found: Taken, framework: ArrayFramework) -> list[Layout]:
    if operation == "attention_weights":
        return [AsItIs("(B, H, L, D)", 4)]
    if operation in ATTENTION:
        layouts = of_heads(ATTENTION[operation])
        if needs_heads(found):
            # A function that needs the number of heads joins them to another axis; other layouts fit it for one head.
            layouts.sort(key=lambda one: not joins_axes(one))
            # For one head, each order of what stands in one array is the same.
            layouts = [one for one in layouts if not found.together or "H·D" in one.words]
        return with_sinks(layouts, found)
    if operation == "rotary_embedding":
        layouts = [one for one in of_heads(("x",)) if "H·D" not in one.words and "one query" not in one.words]
        if special.takes_tables(found):
            return [SampleBySample(one) for one in layouts]
        if "positions" in found.missing:
            return [ByPlace(one, framework) for one in layouts]
        return [*layouts, *of_one_position()]
    if operation == "cross_entropy":
        return [AsItIs("(B, L, N)", 3), FlatTokens()]
    if operation == "alibi_bias":
        return alibi.layouts(found, framework)
    if operation == "merge_attention":
        return list(merged.layouts())
    if operation == "multi_head_attention":
        return of_streams(("x", "context"))
    if operation == "softmax":
        return axes.of_vectors_or_columns("x")
    if operation in (*NORMS, *_NETWORKS):
        return of_vectors("x")
    return [AsItIs()]


def _sizes(operation: str, layout: Layout) -> Iterator[tuple[dict[str, int], tuple[str, ...]]]:
    """Yield the sizes to try, with the limitations that they stand for."""
    grouped = GROUPED if operation == "grouped_query_attention" else {}
    if operation not in ATTENTION:
        yield {}, ()
        if operation in ("causal_mask", "alibi_bias"):
            yield dict(EQUAL_LENGTHS), ("unequal_lengths",)
        return
    yield {**grouped}, ()
    yield {**grouped, **EQUAL_WIDTHS}, ("value_width",)
    if packed_samples.has_keys_apart(layout):
        return
    yield {**grouped, **EQUAL_LENGTHS}, ("unequal_lengths",)
    yield {**grouped, **EQUAL_LENGTHS, **EQUAL_WIDTHS}, ("unequal_lengths", "value_width")


def _with_features(trials: Trials, best: Found, found: Taken, probe: Probe) -> Found:
    """Return the form with the mask that the function takes, and without keywords that fail."""
    form, probe = _with_those_that_answer(trials, windows.without_pairs(trials, best.form, found, probe), probe)
    if best.exact:
        form = own_tables.with_tables_of_file(trials, form, found, probe)
        form = axes.with_its_axis(trials, form, found, probe)
        form = rotary_offsets.with_offset(trials, form, found, probe)
    form = merged.without_empty_parts(trials, form, probe)
    if form.operation == "rotary_embedding" and "positions" in found.roles.values():
        form = _with_positions_of_samples(trials, form, probe)
    if form.operation in ATTENTION:
        form = offsets.with_offset(trials, form, found, probe)
        form = masks.with_numbers(trials, masks.with_visibility(trials, form, found, probe), found, probe)
    if form.operation == masks_of_heads.OPERATION:
        form = masks_of_heads.with_mask(trials, form, found, probe)
    if form.operation == "cross_entropy":
        form = losses.with_ignored(trials, form, found, probe)
    if form.operation == "next_token_loss":
        form = losses.with_mask_of_tokens(trials, form, found, probe)
        zero = tuple(f"`{name}` is 0" for name, source in found.sources.items() if source is no_smoothing)
        form = replace(form, words=(*form.words, *zero))
    form = _of_its_lengths(trials, form, found, probe)
    if form.operation == "alibi_bias" and _is_for_powers_of_two(trials, form, found, probe):
        form = replace(form, layout=alibi.PowersOfTwo(form.layout), words=(*form.words, "powers of two of heads"))
        result = trials.result(form, probe)
        best = replace(best, exact=best.exact or (result is not None and probe.is_answered_by(result)))
    of_class = getattr(trials.function, "said", ())
    said = (*of_class, *log_sums.words(trials, form, probe), *halves.words(trials, form, probe))
    form = replace(form, words=(*form.words, *said))
    passed_over = [one for one in found.left_out if form.sources[one] is found.sources[one]]
    lost = set(best.form.features) - set(form.features)
    unanswered = [name for name, role in found.roles.items() if role in lost]
    left_out = tuple(dict.fromkeys([*passed_over, *unanswered, *masks.not_given(form, found)]))
    unread = tuple(one for one in left_out if one in found.roles and not reads(trials.function, one))
    words = (*form.words, *(f"`{one}` has no effect, since the code does not read it" for one in unread))
    left_out = tuple(one for one in left_out if one not in unread)
    return replace(best, form=replace(form, words=words, left_out=left_out))


def _with_those_that_answer(trials: Trials, form: Form, probe: Probe) -> tuple[Form, Probe]:
    """Return the form with the keywords that it answers to, and the probe.

    Many an attention makes a causal mask of one length: with such a keyword there are as many queries as keys.
    """
    failing = [
        feature
        for feature in form.features
        if form.fixed_values.get(f"{form.operation}.{feature}") is None and not _answers(trials, form, probe, feature)
    ]
    if failing and form.operation in ATTENTION:
        equal = masks.of_equal_lengths(form, probe)
        if any(_answers(trials, form, equal, feature) for feature in failing):
            failing = [feature for feature in failing if not _answers(trials, form, equal, feature)]
            form, probe = masks.limited_to_equal_lengths(form), equal
    return replace(form, features=tuple(one for one in form.features if one not in failing)), probe


def _is_for_powers_of_two(trials: Trials, form: Form, found: Taken, probe: Probe) -> bool:
    """Return whether ALiBi is meant for powers of two of heads: an attention that adds it need not say so."""
    if says_power_of_two(trials.function) or not alibi.inputs_among(tuple(found.sources)):
        return says_power_of_two(trials.function)
    other = probe.with_argument("num_heads", 3)
    result = trials.result(form, other)
    return result is None or not other.is_answered_by(result)


def _of_its_lengths(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form that refuses the lengths of queries and keys that the function does not take.

    One that is always causal and looks from the end is not made for queries before the first key: NaN says so.
    """
    if form.operation not in ATTENTION or packed_samples.has_keys_apart(form.layout):
        return form
    is_limited = f"{form.operation}.unequal_lengths" in form.limitations
    if _is_wrong_with_more_keys(trials, form, probe) and (is_limited or not _reads_keys(trials, found)):
        form = masks.limited_to_equal_lengths(replace(form, words=(*form.words, _AS_MANY)))
    if f"{form.operation}.value_width" in form.limitations and "value" in probe.arguments:
        form = replace(form, layout=OfOneWidth(form.layout))
    if f"{form.operation}.unequal_lengths" in form.limitations:
        return replace(form, layout=OfLengths(form.layout, equal=True))
    if not form.fixed_values.get(f"{form.operation}.is_causal"):
        return form
    lengths = masks.lengths_of(probe)
    longer = probe_of(form.operation, {**lengths, "L": lengths["S"], "S": lengths["L"]}, is_causal=True)
    result = trials.result(form, longer)
    if lengths["L"] >= lengths["S"] or result is None or np.isfinite(result).all():
        return form
    limitations = (*form.limitations, f"{form.operation}.more_queries_than_keys")
    return replace(form, layout=OfLengths(form.layout, equal=False), limitations=limitations)


def _is_wrong_with_more_keys(trials: Trials, form: Form, probe: Probe) -> bool:
    """Return whether a function is right with many keys for as many queries, and not with as many keys for few."""
    causal = {"is_causal": True} if form.fixed_values.get(f"{form.operation}.is_causal") else {}
    few, many = (
        probe_of(form.operation, {**masks.lengths_of(probe), "L": queries, "S": _MANY_KEYS}, **causal)
        for queries in (_FEW_QUERIES, _MANY_KEYS)
    )
    of_few = trials.result(form, few)
    if of_few is None or few.is_answered_by(of_few):
        return False
    of_many = trials.result(form, many)
    return of_many is not None and many.is_answered_by(of_many)


def _reads_keys(trials: Trials, found: Taken) -> bool:
    """Return whether a function asks for the number of keys itself, so that it is meant to take any."""
    keys = "|".join(re.escape(name) for name, role in found.roles.items() if role == "key")
    asked = rf"\b({keys})\s*\.\s*(shape|size)\b|\blen\(\s*({keys})\b"
    return not keys or bool(re.search(asked, source_of(trials.function) or ""))


def _with_positions_of_samples(trials: Trials, form: Form, probe: Probe) -> Form:
    """Return the form in which each sample is turned by itself, if only so its positions may be its own.

    One that takes those of all samples at once does so.
    """
    rows = np.stack([probe.arguments["positions"] + 3 * sample for sample in range(SIZES["B"])])
    own = probe.with_argument("positions", rows)
    if isinstance(form.layout, SampleBySample):
        together = replace(form, layout=form.layout.layout)
        at_once, one_by_one = trials.result(together, own), trials.result(form, own)
        same = at_once is not None and one_by_one is not None and is_near(at_once, one_by_one)
        return together if same else form
    alone = replace(form, layout=SampleBySample(form.layout))
    return alone if trials.result(form, own) is None and trials.result(alone, own) is not None else form


def _answers(trials: Trials, form: Form, probe: Probe, feature: str) -> bool:
    value = special.value_of(form.operation, feature, probe)
    return value is None or trials.result(form, probe.with_argument(feature, value)) is not None
