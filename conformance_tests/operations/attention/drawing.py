"""How cases of attention are drawn: flags first, then sizes, then values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product, starmap
from typing import Any, NamedTuple

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import MaskKind, Palette
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.attention.case import (
    ADDITIONS,
    GROUPED,
    PROJECTED,
    AttentionCase,
    AttentionSpace,
    MaskShape,
)
from veriformer.conformance_tests.operations.attention.sizes import (
    Compiled,
    Sizes,
    fit,
    free_sizes,
    pooled,
    small_sizes,
    smallest_first,
)
from veriformer.conformance_tests.operations.attention.windows import SOFTCAPS, WINDOWS, LogitSettings

_SCALES = (1.0, 0.25, 2.0, 0.3)


def attention_cases(space: AttentionSpace, limits: Limits) -> choices.Choice[AttentionCase]:
    """Return cases of attention: flags first, then sizes, then values, the order that shrinks best.

    Each draw costs more than a call of a small attention, so what belongs together is drawn together.
    """
    if limits.operation in ADDITIONS:
        name = ADDITIONS[limits.operation]
        space = replace(space, bias="always") if name == "bias" else replace(space, sinks="always")
        limits = replace(limits, features=limits.features | {name})
    if limits.equal_lengths:
        space = _of_equal_lengths(space)
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
            # An input with many values is not given more often than others.
            settings = choices.builds(
                lambda chosen, value: (chosen[0][value % len(chosen[0])], chosen[1]),
                choices.in_some_order(product(given, limits.dtypes), limits.seed),
                choices.integers(0, 2**16),
            )
        compiled = choices.builds(lambda chosen, size: (chosen[0], size, chosen[1]), settings, sizes)
    values = choices.sampled_from(tuple(product(space.amplitudes, space.palettes, space.mask_kinds)))
    return choices.builds(lambda *drawn: _case(limits, space, *drawn), compiled, values, SEEDS)


def _of_equal_lengths(space: AttentionSpace) -> AttentionSpace:
    """Return the space with as many queries as keys, unless its law is about other numbers of them."""
    # A law about one key is tried with one query.
    fixed = space.queries or space.keys
    fits = fixed is None or (fixed >= max(space.least_queries, space.least_keys) and space.keys in (None, fixed))
    return replace(space, lengths="equal", queries=fixed, keys=fixed) if fits and space.lengths != "unequal" else space


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
    return limits.operation in GROUPED or space.grouped


def _flags(space: AttentionSpace, limits: Limits) -> list[list[dict[str, Any]]]:
    """Return every combination of optional inputs that the space leaves open, the plainest first, in all its values."""
    wishes = {name: how for name, how in _wishes(space).items() if name in limits.features and how != "never"}
    switches = ([True] if how == "always" else [False, True] for how in wishes.values())
    biases = (False, True) if _may_have_biases(space, limits) else (space.biases == "always",)
    combinations: list[list[dict[str, Any]]] = []
    for *drawn, with_biases in product(*switches, biases):
        on = {name for name, switch in zip(wishes, drawn, strict=True) if switch}
        shapes = space.mask_shapes if "mask" in on else space.mask_shapes[:1]
        of_bias = space.bias_shapes if "bias" in on else space.bias_shapes[:1]
        settled = [
            _settled(on, space, limits, Shapes(shape, of_its_bias), logits, biases=with_biases)
            for shape, of_its_bias, logits in product(shapes, of_bias, _logit_settings(on))
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
    """Return one entry of the pool, adapted to the space, so that few combinations are ever compiled."""
    wishes = _wishes(space)
    on = {name for name, how in wishes.items() if how == "always" or (how == "sometimes" and name in chosen.extras)}
    shape = chosen.mask_shape if chosen.mask_shape in space.mask_shapes else space.mask_shapes[0]
    biases = space.biases == "always" or (space.biases == "sometimes" and "bias" in chosen.extras)
    # Numbers are compiled as numbers, whatever they are.
    logits = LogitSettings(_SCALES[(limits.turn or 0) % len(_SCALES)])
    # Few shapes are compiled, and laws take turns at those of the bias.
    of_bias = space.bias_shapes[(limits.turn or 0) % len(space.bias_shapes)]
    flags = _settled(on & limits.features, space, limits, Shapes(shape, of_bias), logits, biases=biases)
    # With more dtypes than entries each law starts at another dtype, so that a run meets all declared ones.
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
    return limits.operation in PROJECTED and space.biases == "sometimes"


class Shapes(NamedTuple):
    """The shapes of a mask and of a bias, where there are any."""

    mask: MaskShape
    bias: MaskShape


def _settled(
    on: set[str] | frozenset[str],
    space: AttentionSpace,
    limits: Limits,
    shapes: Shapes,
    logits: LogitSettings,
    *,
    biases: bool,
) -> dict[str, Any]:
    """Return the fields of a case for the optional inputs that are on, without forbidden combinations."""
    causal = "is_causal" in on
    if limits.bias_excludes_mask and {"mask", "bias"} <= on:
        on = on - {"mask" if space.bias == "always" else "bias"}
    if limits.causal_excludes_mask and causal:
        # The flag gives way to a mask or bias, unless the law is about the flag.
        on = on - {"mask", "bias"} if space.causal == "always" else on
        causal = space.causal == "always" or not on & {"mask", "bias"}
    flags: dict[str, Any] = {"bias": "bias" in on, "is_causal": causal, "biases": biases}
    if "mask" in on:
        flags["mask_shape"] = shapes.mask
    if "bias" in on:
        flags["bias_shape"] = shapes.bias
    if "scale" in on:
        flags["scale"] = logits.scale
    if "window" in on:
        flags["window"] = logits.window
    if "softcap" in on:
        flags["softcap"] = logits.softcap
    flags["sinks"] = "sinks" in on
    return flags
