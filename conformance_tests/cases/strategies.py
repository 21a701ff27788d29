"""The choice of cases: from a law's space and what the implementation can do to descriptions of calls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product, starmap
from typing import Any

from veriformer.conformance_tests.cases import choices
from veriformer.conformance_tests.cases.black_box import BoxSpace, box_cases
from veriformer.conformance_tests.cases.case import (
    Activation,
    AttentionCase,
    CausalMaskCase,
    FeedForwardCase,
    MaskKind,
    MaskShape,
    PaddingMaskCase,
    Palette,
    PositionCase,
    VectorCase,
)
from veriformer.conformance_tests.cases.layers import layer_cases
from veriformer.conformance_tests.cases.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.cases.merging import merge_cases
from veriformer.conformance_tests.cases.models import ModelSpace, model_cases
from veriformer.conformance_tests.cases.positional_strategies import alibi_cases, bucket_cases, rotary_cases
from veriformer.conformance_tests.cases.sizes import (
    Compiled,
    Sizes,
    fit,
    free_sizes,
    pooled,
    small_sizes,
    smallest_first,
)
from veriformer.conformance_tests.cases.spaces import (
    MASK_SHAPES_OF_ONE_HEAD,
    REDUCTIONS,
    AlibiSpace,
    AttentionSpace,
    BucketSpace,
    CausalMaskSpace,
    EmbeddingSpace,
    FeedForwardSpace,
    How,
    LayerSpace,
    LossSpace,
    MergeSpace,
    OwnSpace,
    PaddingMaskSpace,
    PositionSpace,
    RotarySpace,
    Space,
    VectorSpace,
)
from veriformer.conformance_tests.cases.training import embedding_cases, loss_cases
from veriformer.conformance_tests.cases.windows import SOFTCAPS, WINDOWS, LogitSettings

__all__ = ["Limits", "attention_cases", "cases", "own_space", "resolved", "vector_cases"]

_SCALES = (1.0, 0.25, 2.0, 0.3)
# Batch, rows, width, and of a network its hidden units, for frameworks that compile each: the common ones first, which
# every law has in all settings, then those that laws take turns at.
_VECTORS = ((1, 2, 3), (2, 3, 5), (3, 2, 17), (3, 2, 1), (1, 3, 65), (2, 1, 2))
_WIDTHS = (*range(1, 10), 16, 17, 64, 65)
_NETWORKS = ((2, 3, 4, 5), (1, 2, 3, 7), (3, 2, 5, 1), (2, 3, 2, 17))


def cases(space: Space, limits: Limits) -> choices.Choice[Any]:
    """Return the choice among the cases of a space; TypeError when nothing is drawn from it."""
    space = resolved(space, limits.operation)
    drawn = _DRAWN.get(type(space))
    if drawn is None:
        raise TypeError(f"no cases are drawn from {type(space).__name__}")
    choice: choices.Choice[Any] = drawn(space, limits)
    return choice.map(lambda case: limits.fixed.applied(case, space)) if limits.fixed.offered else choice


def resolved(space: Space, operation: str) -> Space:
    """Return the space itself, or in place of `OwnSpace` the operation's own."""
    return own_space(operation, extras=space.extras) if isinstance(space, OwnSpace) else space


def own_space(operation: str, *, extras: bool = True) -> Space:
    """Return the space of an operation's ordinary cases, for laws that hold of every operation."""
    how: How = "sometimes" if extras else "never"
    own: dict[str, Space] = {
        "softmax": VectorSpace(),
        "single_head_attention": AttentionSpace(
            mask=how, lengths="equal", heads=1, biases="never", mask_shapes=MASK_SHAPES_OF_ONE_HEAD
        ),
        "layer_norm": VectorSpace(least_width=2),
        "rms_norm": VectorSpace(),
        "gelu": VectorSpace(),
        "silu": VectorSpace(),
        "feed_forward": FeedForwardSpace(),
        "gated_feed_forward": FeedForwardSpace(),
        "causal_mask": CausalMaskSpace(),
        "padding_mask": PaddingMaskSpace(),
        "sinusoidal_positions": PositionSpace(),
        "token_embedding": EmbeddingSpace(scaled=how),
        "cross_entropy": LossSpace(ignore=how, smoothing=how, reductions=REDUCTIONS if extras else (None,)),
        "rotary_embedding": RotarySpace(),
        "alibi_bias": AlibiSpace(),
        "relative_position_bucket": BucketSpace(),
        "merge_attention": MergeSpace(),
        "encoder_layer": LayerSpace(padding=how),
        "decoder_layer": LayerSpace(padding=how, memory_padding=how),
        "encoder": ModelSpace(padding=how),
        "encoder_decoder": ModelSpace(padding=how, source_padding=how),
        "language_model": ModelSpace(padding=how),
        "model": BoxSpace(padding=how),
        "decode_step": ModelSpace(cuts="any", padding=how, positions=how),
    }
    return own.get(operation, AttentionSpace(mask=how, causal=how, bias=how, scale=how))


def attention_cases(space: AttentionSpace, limits: Limits) -> choices.Choice[AttentionCase]:
    """Return cases of attention: flags first, then sizes, then values, the order that shrinks best.

    Each draw costs more than a call of a small attention, so what belongs together is drawn together.
    """
    if limits.compiles_per_shape and not limits.small:
        compiled = choices.sampled_from([_fixed(chosen, space, limits) for chosen in pooled(limits.pool, limits.turn)])
    else:
        given, grouped = _flags(space, limits), _is_grouped(space, limits)
        if limits.small:
            sizes = choices.sampled_from(small_sizes(space, grouped=grouped))
            flags = choices.sampled_from([flags for values in given for flags in values])
            settings = choices.tuples(flags, choices.sampled_from(limits.dtypes))
        else:
            sizes = choices.in_turn(free_sizes(space, limits.seed), smallest_first)
            # An input that has many values is not given more often for it.
            settings = choices.builds(
                lambda chosen, value: (chosen[0][value % len(chosen[0])], chosen[1]),
                choices.in_some_order(product(given, limits.dtypes), limits.seed),
                choices.integers(0, 2**16),
            )
        compiled = choices.builds(lambda chosen, size: (chosen[0], size, chosen[1]), settings, sizes)
    values = choices.sampled_from(tuple(product(space.amplitudes, space.palettes, space.mask_kinds)))
    return choices.builds(lambda *drawn: _case(limits, space, *drawn), compiled, values, SEEDS)


def _case(
    limits: Limits,
    space: AttentionSpace,
    compiled: tuple[dict[str, Any], Sizes, str],
    values: tuple[int, Palette, MaskKind],
    seed: int,
) -> AttentionCase:
    (flags, sizes, dtype), (amplitude, palette, kind) = compiled, values
    heads = sizes.kv_heads * sizes.group
    equal_widths = limits.equal_widths and space.widths != "unequal"
    return AttentionCase(
        batch=sizes.batch,
        heads=heads,
        kv_heads=sizes.kv_heads if _is_grouped(space, limits) else heads,
        query_length=sizes.queries,
        key_length=sizes.keys,
        head_width=sizes.width,
        value_width=sizes.width if equal_widths else sizes.value_width,
        dtype=dtype,
        palette=palette,
        amplitude=min(amplitude, LARGEST_AMPLITUDE[dtype]),
        mask=kind if "mask_shape" in flags else "none",
        seed=seed,
        **flags,
    )


def _is_grouped(space: AttentionSpace, limits: Limits) -> bool:
    return limits.operation == "grouped_query_attention" or space.grouped


def _flags(space: AttentionSpace, limits: Limits) -> list[list[dict[str, Any]]]:
    """Return every combination of optional inputs that the space leaves open, the plainest first, in all its values."""
    wishes = {name: how for name, how in _wishes(space).items() if name in limits.features and how != "never"}
    switches = ([True] if how == "always" else [False, True] for how in wishes.values())
    biases = (False, True) if _may_have_biases(space, limits) else (space.biases == "always",)
    combinations: list[list[dict[str, Any]]] = []
    for *drawn, with_biases in product(*switches, biases):
        on = {name for name, switch in zip(wishes, drawn, strict=True) if switch}
        shapes = space.mask_shapes if "mask" in on else space.mask_shapes[:1]
        settled = [
            _settled(on, space, limits, shape, logits, biases=with_biases)
            for shape, logits in product(shapes, _logit_settings(on))
        ]
        combinations.append(settled)
    return combinations


def _logit_settings(on: set[str]) -> list[LogitSettings]:
    """Return the values of the optional inputs that have one; where others are on too, few of each."""
    scales = _SCALES if "scale" in on else _SCALES[:1]
    windows = WINDOWS if "window" in on else WINDOWS[:1]
    softcaps = SOFTCAPS if "softcap" in on else SOFTCAPS[:1]
    return list(starmap(LogitSettings, product(scales, windows, softcaps)))


def _fixed(chosen: Compiled, space: AttentionSpace, limits: Limits) -> tuple[dict[str, Any], Sizes, str]:
    """Return one entry of the pool made to fit the space, so that few combinations are ever compiled."""
    wishes = _wishes(space)
    on = {name for name, how in wishes.items() if how == "always" or (how == "sometimes" and name in chosen.extras)}
    shape = chosen.mask_shape if chosen.mask_shape in space.mask_shapes else space.mask_shapes[0]
    biases = space.biases == "always" or (space.biases == "sometimes" and "bias" in chosen.extras)
    # Numbers are compiled as numbers, whatever they are.
    logits = LogitSettings(_SCALES[(limits.turn or 0) % len(_SCALES)])
    flags = _settled(on & limits.features, space, limits, shape, logits, biases=biases)
    # With more dtypes than entries another law starts at another dtype, so that a run meets all that are declared.
    rounds = -(-len(limits.dtypes) // limits.pool)
    index = chosen.dtype_index + limits.pool * (limits.seed % rounds)
    return flags, fit(chosen.sizes, space), limits.dtypes[index % len(limits.dtypes)]


def _wishes(space: AttentionSpace) -> dict[str, How]:
    return {
        "mask": space.mask,
        "bias": space.bias,
        "is_causal": space.causal,
        "scale": space.scale,
        "window": space.window,
        "softcap": space.softcap,
        "sinks": space.sinks,
    }


def _may_have_biases(space: AttentionSpace, limits: Limits) -> bool:
    return limits.operation == "multi_head_attention" and space.biases == "sometimes"


def _settled(
    on: set[str] | frozenset[str],
    space: AttentionSpace,
    limits: Limits,
    mask_shape: MaskShape,
    logits: LogitSettings,
    *,
    biases: bool,
) -> dict[str, Any]:
    """Return the fields of a case for the optional inputs that are on, keeping apart what must not meet."""
    causal = "is_causal" in on
    if limits.bias_excludes_mask and {"mask", "bias"} <= on:
        on = on - {"mask" if space.bias == "always" else "bias"}
    if limits.causal_excludes_mask and causal:
        # The flag gives way to a mask or bias, unless the law is about the flag.
        on = on - {"mask", "bias"} if space.causal == "always" else on
        causal = space.causal == "always" or not on & {"mask", "bias"}
    flags: dict[str, Any] = {"bias": "bias" in on, "is_causal": causal, "biases": biases}
    if "mask" in on:
        flags["mask_shape"] = mask_shape
    if "scale" in on:
        flags["scale"] = logits.scale
    if "window" in on:
        flags["window"] = logits.window
    if "softcap" in on:
        flags["softcap"] = logits.softcap
    flags["sinks"] = "sinks" in on
    return flags


def vector_cases(space: VectorSpace, limits: Limits) -> choices.Choice[VectorCase]:
    """Return cases of operations on vectors."""
    if limits.compiles_per_shape and not limits.small:
        rare = _VECTORS[2:][(limits.turn or 0) % len(_VECTORS[2:])]
        compiled = [*product(_VECTORS[:2], limits.dtypes), (rare, limits.dtypes[limits.seed % len(limits.dtypes)])]
        given = choices.in_some_order(compiled, limits.seed)
    else:
        few = choices.integers(1, 3)
        wide = few if limits.small else choices.in_some_order(_WIDTHS, limits.seed)
        given = choices.tuples(choices.tuples(few, few, wide), choices.sampled_from(limits.dtypes))
    return choices.builds(
        lambda *drawn: _vector_case(space, *drawn),
        given,
        choices.sampled_from(space.palettes),
        choices.sampled_from(space.amplitudes),
        choices.sampled_from((1e-5, 1e-3, 1e-1)),
        SEEDS,
    )


def _vector_case(
    space: VectorSpace,
    given: tuple[tuple[int, int, int], str],
    palette: Palette,
    amplitude: int,
    eps: float,
    seed: int,
) -> VectorCase:
    (batch, rows, width), dtype = given
    amplitude = min(amplitude, LARGEST_AMPLITUDE[dtype])
    rows, width = max(rows, space.least_rows), max(width, space.least_width)
    return VectorCase(batch, rows, width, dtype, palette, amplitude, eps, seed)


def feed_forward_cases(space: FeedForwardSpace, limits: Limits) -> choices.Choice[FeedForwardCase]:
    """Return cases of feed-forward networks; a gated one has no biases."""
    wishes: dict[How, tuple[bool, ...]] = {"never": (False,), "sometimes": (False, True), "always": (True,)}
    biases = wishes[space.biases] if limits.operation == "feed_forward" else (False,)
    values = choices.sampled_from(tuple(product(space.palettes, space.amplitudes)))
    settings = tuple(product(space.activations, biases, limits.dtypes))
    any_setting = choices.sampled_from(settings)
    if limits.compiles_per_shape and not limits.small:
        common, rare = choices.sampled_from(_NETWORKS[:1]), _NETWORKS[1:][(limits.turn or 0) % len(_NETWORKS[1:])]
        own = choices.sampled_from([(rare, settings[limits.seed % len(settings)])])
        given = choices.one_of(choices.tuples(common, any_setting), own)
    elif limits.small:
        given = choices.tuples(choices.tuples(*[choices.integers(1, 2)] * 4), any_setting)
    else:
        few, wide = choices.integers(1, 3), choices.one_of(choices.integers(1, 9), choices.sampled_from((16, 17, 33)))
        given = choices.tuples(choices.tuples(few, few, wide, wide), any_setting)
    return choices.builds(lambda *drawn: _feed_forward_case(space, *drawn), given, values, SEEDS)


def _feed_forward_case(
    space: FeedForwardSpace,
    given: tuple[tuple[int, int, int, int], tuple[Activation, bool, str]],
    values: tuple[Palette, int],
    seed: int,
) -> FeedForwardCase:
    (batch, rows, width, hidden), (activation, biases, dtype) = given
    palette, amplitude = values
    return FeedForwardCase(
        batch,
        max(rows, space.least_rows),
        width,
        max(hidden, space.least_hidden),
        activation=activation,
        biases=biases,
        dtype=dtype,
        palette=palette,
        # A gated network multiplies two products: float16 would overflow.
        amplitude=min(amplitude, 2) if dtype == "float16" else amplitude,
        seed=seed,
    )


def causal_mask_cases(space: CausalMaskSpace, _: Limits) -> choices.Choice[CausalMaskCase]:
    """Return lengths of causal masks."""
    lengths = choices.integers(1, 9)
    if space.square:
        return choices.builds(lambda length: CausalMaskCase(length, length), lengths)
    return choices.builds(CausalMaskCase, lengths, lengths)


@choices.composite
def padding_mask_cases(draw: choices.Draw, space: PaddingMaskSpace, _: Limits) -> PaddingMaskCase:
    """Return lengths and the length that they are padded to."""
    lengths = draw(choices.lists(choices.integers(1, 7), min_size=space.least_batch, max_size=4))
    return PaddingMaskCase(tuple(lengths), max(lengths) + draw(choices.sampled_from((0, 0, 1, 2, 3))))


def position_cases(space: PositionSpace, limits: Limits) -> choices.Choice[PositionCase]:
    """Return lengths and even widths."""
    lengths = choices.integers(space.least_length, max(space.least_length, 6 if limits.small else 3))
    pairs = choices.integers(1, 3)
    if not limits.small:
        # Half of them stay short, so that few cases meet the shortest.
        lengths = choices.one_of(lengths, choices.integers(space.least_length, 40))
        pairs = choices.one_of(pairs, choices.integers(1, 32))
    widths = pairs.map(lambda half: 2 * half)
    return choices.builds(PositionCase, lengths, widths, choices.sampled_from(limits.dtypes))


_DRAWN: dict[type[Space], Callable[[Any, Limits], choices.Choice[Any]]] = {
    AttentionSpace: attention_cases,
    VectorSpace: vector_cases,
    FeedForwardSpace: feed_forward_cases,
    CausalMaskSpace: causal_mask_cases,
    PaddingMaskSpace: padding_mask_cases,
    PositionSpace: position_cases,
    LossSpace: loss_cases,
    EmbeddingSpace: embedding_cases,
    LayerSpace: layer_cases,
    RotarySpace: rotary_cases,
    AlibiSpace: alibi_cases,
    MergeSpace: merge_cases,
    BucketSpace: bucket_cases,
    ModelSpace: model_cases,
    BoxSpace: box_cases,
}
