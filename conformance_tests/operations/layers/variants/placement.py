"""The places of norms and residual connections in a layer, and mistakes about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Point

Transformation = Callable[[Array], Array]
# What a sublayer returned is added to what: the stream, the result, whether the norm comes first, whose result it is.
Addition = Callable[[Array, Array, bool, str], Array]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer by its name, the norm that belongs to it, and what it does."""

    name: str
    norm: Transformation
    apply: Transformation


Step = Callable[[Array, Sublayer, bool, Addition], Array]
Course = Callable[[Array, Sequence[Sublayer], bool, Addition], Array]


def through_sublayers(x: Array, sublayers: Sequence[Sublayer], norm_first: bool, point: Point) -> Array:
    """Return the stream after all sublayers at a point with these decisions."""
    dropped = point["sublayer_output"]
    kept = [sublayer for sublayer in sublayers if sublayer.name != dropped()]
    result: Array = point["norm_placement"](x, kept, norm_first, point["residual"])
    return result


def step(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    """Return x + sublayer(norm(x)) where the norm comes first, else norm(x + sublayer(x))."""
    if norm_first:
        return add(x, sublayer.apply(sublayer.norm(x)), True, sublayer.name)
    return sublayer.norm(add(x, sublayer.apply(x), False, sublayer.name))


def _everywhere(wrong: Step) -> Course:
    def course(x: Array, sublayers: Sequence[Sublayer], norm_first: bool, add: Addition) -> Array:
        for sublayer in sublayers:
            x = wrong(x, sublayer, norm_first, add)
        return x

    return course


def _only(name: str, wrong: Step) -> Course:
    return _everywhere(lambda x, sublayer, *rest: (wrong if sublayer.name == name else step)(x, sublayer, *rest))


def _stream_is_normalised(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    if not norm_first:
        return step(x, sublayer, norm_first, add)
    normalised = sublayer.norm(x)
    return add(normalised, sublayer.apply(normalised), True, sublayer.name)


def _result_is_normalised(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    if norm_first:
        return step(x, sublayer, norm_first, add)
    return add(x, sublayer.norm(sublayer.apply(x)), False, sublayer.name)


def _sum_is_normalised_too(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    result = step(x, sublayer, norm_first, add)
    return sublayer.norm(result) if norm_first else result


def _without_norm(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    return add(x, sublayer.apply(x), norm_first, sublayer.name)


def _post_norm_without_norm(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    return (step if norm_first else _without_norm)(x, sublayer, norm_first, add)


def _post_norm_is_pre_norm(x: Array, sublayer: Sublayer, norm_first: bool, add: Addition) -> Array:
    return step(x, sublayer, True, add)


def _stream_stays_unnormalised(x: Array, sublayers: Sequence[Sublayer], norm_first: bool, add: Addition) -> Array:
    """Return what post-norm sublayers make of normed sums, when each result is added to the sum before its norm."""
    if norm_first:
        return _everywhere(step)(x, sublayers, norm_first, add)
    total, normalised = x, x
    for sublayer in sublayers:
        total = add(total, sublayer.apply(normalised), False, sublayer.name)
        normalised = sublayer.norm(total)
    return normalised


_OF_PRE_NORM = (
    mistake("prenorm_residual_after_norm", _everywhere(_stream_is_normalised)),
    mistake(
        "prenorm_residual_after_norm",
        _only("self_attention", _stream_is_normalised),
        name="stream_normalised_in_self_attention",
    ),
    mistake(
        "prenorm_residual_after_norm",
        _only("feed_forward", _stream_is_normalised),
        name="stream_normalised_in_network",
    ),
    mistake("norm_flag_ignored", _everywhere(lambda x, sublayer, first, add: step(x, sublayer, False, add))),
    mistake("norm_after_pre_norm_sum", _everywhere(_sum_is_normalised_too)),
)
_OF_POST_NORM = (
    mistake("norm_after_sublayer_no_residual_norm", _everywhere(_result_is_normalised)),
    mistake("norm_after_sublayer_no_residual_norm", _everywhere(_post_norm_is_pre_norm), name="post_norm_is_pre_norm"),
    mistake(
        "norm_after_sublayer_no_residual_norm",
        _only("self_attention", _result_is_normalised),
        name="result_normalised_in_self_attention",
    ),
    mistake(
        "norm_after_sublayer_no_residual_norm",
        _only("feed_forward", _result_is_normalised),
        name="result_normalised_in_network",
    ),
    mistake("postnorm_residual_before_norm", _stream_stays_unnormalised),
    mistake(
        "postnorm_residual_before_norm",
        _only("self_attention", _post_norm_is_pre_norm),
        name="attention_of_post_norm_is_pre_norm",
    ),
    mistake(
        "missing_final_norm_prenorm", _only("feed_forward", _post_norm_without_norm), name="last_post_norm_missing"
    ),
)
_OF_CROSS_ATTENTION = (
    mistake(
        "prenorm_residual_after_norm",
        _only("cross_attention", _stream_is_normalised),
        name="stream_normalised_in_cross_attention",
    ),
    mistake(
        "norm_after_sublayer_no_residual_norm",
        _only("cross_attention", _result_is_normalised),
        name="result_normalised_in_cross_attention",
    ),
)
_OF_BOTH = (
    mistake("", _everywhere(_without_norm), name="norm_missing", meaning="no sublayer has a norm"),
    mistake(
        "",
        _only("self_attention", _without_norm),
        name="norm_of_self_attention_missing",
        meaning="the self-attention has no norm",
    ),
)
_WITH_FLAG = (
    mistake("norm_flag_inverted", _everywhere(lambda x, sublayer, first, add: step(x, sublayer, not first, add))),
    mistake(
        "", _only("feed_forward", _without_norm), name="norm_of_network_missing", meaning="the network has no norm"
    ),
)


def norm_placement(*, pre_norm: bool, post_norm: bool, cross_attention: bool = False) -> Decision:
    """Return the decision where norms stand, for layers of one kind or of both, with cross-attention or without."""
    return Decision(
        "norm_placement",
        "Where do the norms of a layer stand?",
        (
            standard("as_asked", _everywhere(step)),
            *(_OF_PRE_NORM if pre_norm else ()),
            *(_OF_POST_NORM if post_norm else ()),
            *_OF_BOTH,
            *(_OF_CROSS_ATTENTION if cross_attention else ()),
            *(_WITH_FLAG if pre_norm and post_norm else ()),
        ),
    )


def _missing(x: Array, result: Array, norm_first: bool, name: str) -> Array:
    return result


def _averaged(x: Array, result: Array, norm_first: bool, name: str) -> Array:
    return np.asarray((x + result) / 2)


def _added(x: Array, result: Array, norm_first: bool, name: str) -> Array:
    return np.asarray(x + result)


def _where(first: bool, wrong: Addition) -> Addition:
    return lambda x, result, norm_first, name: (wrong if norm_first is first else _added)(x, result, norm_first, name)


def _of(only: str, wrong: Addition) -> Addition:
    return lambda x, result, norm_first, name: (wrong if name == only else _added)(x, result, norm_first, name)


_BY_FLAG = (
    mistake("residual_missing", _where(False, _missing), name="residual_missing_in_post_norm"),
    mistake("residual_missing", _where(True, _missing), name="residual_missing_in_pre_norm"),
    mistake("residual_scaled", _where(True, _averaged), name="residual_scaled_in_pre_norm"),
    mistake("residual_scaled", _where(False, _averaged), name="residual_scaled_in_post_norm"),
)


def residual(*, flag: bool, cross_attention: bool = False) -> Decision:
    """Return the decision what a sublayer's result is added to, for layers with the flag `norm_first` or without.

    With `cross_attention` its result is one of those.
    """
    missing = _of("cross_attention", _missing)
    of_cross_attention = (
        mistake("residual_missing", missing, name="residual_missing_in_cross_attention"),
        mistake("residual_missing", _where(True, missing), name="residual_missing_in_cross_attention_of_pre_norm"),
        mistake("residual_missing", _where(False, missing), name="residual_missing_in_cross_attention_of_post_norm"),
    )
    return Decision(
        "residual",
        "To what is the result of a sublayer added?",
        (
            standard("stream", _added),
            mistake("residual_missing", _missing),
            mistake("residual_missing", _of("self_attention", _missing), name="residual_missing_in_self_attention"),
            mistake("residual_missing", _of("feed_forward", _missing), name="residual_missing_in_network"),
            *(of_cross_attention if cross_attention else ()),
            mistake("residual_scaled", _averaged),
            *(_BY_FLAG if flag else ()),
        ),
    )


def sublayer_outputs(*names: str) -> Decision:
    """Return the decision which sublayer's result is thrown away: none, or one of those named."""
    return Decision(
        "sublayer_output",
        "Which sublayer's result is used?",
        (
            standard("all", lambda: None),
            *(mistake("sublayer_output_discarded", lambda name=name: name, name=f"{name}_discarded") for name in names),
        ),
    )


def norm_weights(count: int) -> Decision:
    """Return the decision which sublayer uses which of `count` norms; its options permute the list of norms."""
    further = (
        mistake("norms_exchanged", lambda norms: [norms[1], norms[0], *norms[2:]], name="first_norms_exchanged"),
        mistake(
            "",
            lambda norms: [*norms[:-1], norms[-2]],
            name="norm_of_cross_attention_again",
            meaning="the network of a decoder layer uses the norm of the cross-attention",
        ),
    )
    return Decision(
        "norm_weights",
        "Whose gain and shift does a sublayer's norm use?",
        (
            standard("own", lambda norms: norms),
            mistake("first_norm_everywhere", lambda norms: [norms[0]] * len(norms)),
            mistake("norms_exchanged", lambda norms: [*norms[:-2], norms[-1], norms[-2]]),
            *(further if count > 2 else ()),
        ),
    )
