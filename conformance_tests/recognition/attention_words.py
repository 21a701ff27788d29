"""What an attention was found to be, in words: the keys that are seen, what logits and heads go through, its maps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import BFLOAT, HALF
from veriformer.conformance_tests.recognition.attention_aspects import describe_rotation, same_for_all_queries
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.biases import bias_of, fills, visible_with
from veriformer.conformance_tests.recognition.buckets import buckets_of
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.operands import Operand
from veriformer.conformance_tests.recognition.paths import common_path

_BIASES = {
    "alibi": "ALiBi",
    "buckets": "a bias by bucket of distance",
    "table": "a bias added to the logits",
    "of_query": "positions multiplied with the query",
}
# A number of bfloat16 is mostly one of float16 too.
_HALF_PRECISION = (HALF, BFLOAT)
# A bias below this leaves no key a weight that shows.
_HIDDEN = -30.0
_ROLES = ("query", "key", "value")


def attention_words(flow: Flow, reading: AttentionReading, batch: int) -> Iterator[str]:
    """Yield what an attention does otherwise than softmax(q kᵀ/√D) v over all keys, each in a few words.

    `batch` is the number of samples of the pass; an attention of windows has more.
    """
    # Towers of one model may have other numbers of samples.
    if (samples := len(reading.heads.query)) > batch > 0 and samples % batch == 0:
        yield f"in {samples // batch} windows of {reading.heads.query.shape[2]} positions"
    if reading.setting is not None:
        yield _visible(flow, reading.setting)
        yield from _logits(flow, reading, reading.setting)
    yield from _norms(reading)
    if reading.query.rotation is not None:
        yield describe_rotation(reading.query.rotation)
    yield from _mixed(reading)
    yield from _projected(reading)
    yield from _latents(flow, reading)


def _mixed(reading: AttentionReading) -> Iterator[str]:
    """Yield what the values are made of where their projection gives only a part of them."""
    mixed = reading.sublayer.mixed
    if mixed is not None:
        others = common_path(mixed.others.names)
        named = others.rpartition(".")[0] or others
        if mixed.is_learned:
            yield f"values: a learned share of its own and of those of {named}"
        else:
            yield f"values: {mixed.share:.4g} of its own + {mixed.share_of_others:.4g} of those of {named}"


def _latents(flow: Flow, reading: AttentionReading) -> Iterator[str]:
    """Yield the widths of the latents that heads are projected from."""
    widths: dict[int, list[str]] = {}
    for role in _ROLES:
        narrowed = [one for one in getattr(reading.sublayer, role) if reading.sublayer.narrowing.get(one)]
        for one in narrowed:
            widths.setdefault(flow.shape(one.input)[-1], []).append(role)
    for width, roles in widths.items():
        yield f"{' and '.join(dict.fromkeys(roles))} from a latent of {width}"


def _visible(flow: Flow, setting: Setting) -> str:
    """Return which keys a query sees, in words."""
    if setting.window is not None:
        left, right = setting.window
        if right == 0 and left is not None:
            return f"{setting.pattern} of {left + 1} keys"
        return f"window of {left} keys before and {right} after" if left is not None and right is not None else "window"
    token = hidden_token(flow, setting)
    first = _window_with_first_keys(setting)
    if first is not None:
        return f"causal of {first[0]} keys and the first {first[1]}"
    return setting.pattern if token is None else f"{setting.pattern}: keys of token {token} hidden"


def _window_with_first_keys(setting: Setting) -> tuple[int, int] | None:
    """Return how many keys up to its own each query sees, and how many of the first ones; None for another mask."""
    mask = setting.mask
    if mask is None or mask.ndim < 2 or mask.shape[-1] != mask.shape[-2]:
        return None
    shown = mask.reshape(-1, *mask.shape[-2:])
    length, table = shown.shape[-1], shown[0]
    distance = np.arange(length)[:, None] - np.arange(length)
    if (shown != table).any() or not table.diagonal().all() or (table & (distance < 0)).any():
        return None
    first = int(table[-1].argmin())
    window = int(table[-1][::-1].argmin())
    made = (distance >= 0) & ((distance < window) | (np.arange(length) < first))
    return (window, first) if first and window and bool((made == table).all()) else None


def hidden_token(flow: Flow, setting: Setting) -> int | None:
    """Return the token whose keys a mask hides, those and no others; None where it hides other ones."""
    parts = _tokens_by_visibility(flow, setting)
    return None if parts is None or len(parts[1]) != 1 else int(parts[1][0])


def only_seen_token(flow: Flow, setting: Setting) -> int | None:
    """Return the token whose keys alone a mask lets through while it hides those of several others; None elsewhere."""
    parts = _tokens_by_visibility(flow, setting)
    return None if parts is None or len(parts[0]) != 1 or len(parts[1]) < 2 else int(parts[0][0])


def token_of_blind_queries(flow: Flow, setting: Setting) -> int | None:
    """Return the token whose queries see no key where all others see all keys; None for another mask.

    Such a mask of padding stands along the queries, where it belongs along the keys.
    """
    mask = setting.mask
    if mask is None or mask.ndim < 2 or (mask != mask[..., :1]).any() or mask.all():
        return None
    by_query = mask.reshape(len(mask), -1, *mask.shape[-2:])[:, 0, :, 0]
    for tokens in (flow.array(one) for one in flow.trace.inputs):
        if tokens.dtype.kind == "i" and tokens.shape == by_query.shape:
            blind = np.unique(tokens[~by_query])
            if len(blind) == 1 and not (tokens[by_query] == blind[0]).any():
                return int(blind[0])
    return None


def _tokens_by_visibility(flow: Flow, setting: Setting) -> tuple[Array, Array] | None:
    """Return the tokens whose keys are seen and those whose keys are hidden; None where some are both."""
    mask = setting.mask
    if mask is None or mask.ndim < 2 or not same_for_all_queries(mask):
        return None
    by_key = mask.reshape(len(mask), -1, *mask.shape[-2:])[:, 0, 0]
    for tokens in (flow.array(one) for one in flow.trace.inputs):
        if tokens.dtype.kind != "i" or tokens.shape != by_key.shape:
            continue
        # Where all keys of a sample are hidden, a finite fill leaves all visible.
        mixed = by_key.any(axis=-1) & ~by_key.all(axis=-1)
        seen, hidden = np.unique(tokens[mixed][by_key[mixed]]), np.unique(tokens[mixed][~by_key[mixed]])
        if mixed.any() and not np.isin(seen, hidden).any():
            return seen, hidden
    return None


def _logits(flow: Flow, reading: AttentionReading, setting: Setting) -> Iterator[str]:
    """Yield the scale where it is not 1/√D, which a configuration may say, or a mistake; and what else logits get."""
    width = reading.heads.query.shape[-1]
    if setting.scale is not None and abs(setting.scale * width**0.5 - 1.0) > 1e-6:
        of_part = _scale_of_a_part(reading, setting.scale)
        yield f"logits times {setting.scale:.4g} ({of_part}1/√D is {width**-0.5:.4g})"
    if setting.softcap is not None:
        yield f"logits capped at ±{setting.softcap:g}"
    if setting.bias is not None and not fills(setting.bias) and (bias := bias_of(flow, reading)) is not None:
        by_distance = (", by distance" if bias.by_distance else "") + (" and scaled" if bias.scaled else "")
        by_distance += f" times {bias.factor:.4g}" if bias.factor != 1.0 else ""
        by_distance += _directions(flow, reading, setting) if bias.kind == "buckets" else ""
        yield _BIASES[bias.kind] + by_distance + (", some keys hidden" if setting.bias.min() < _HIDDEN else "")
    if setting.sinks is not None:
        yield "sinks" if setting.sinks.any() else "sinks of 0"
    operands = (reading.sublayer.sites[0].query_value, reading.sublayer.sites[0].key_value)
    unit = reading.heads.unit
    if unit in _HALF_PRECISION and unit > max(flow.unit(one) for one in operands):
        yield "computed in half precision, though query and key are finer"


def _scale_of_a_part(reading: AttentionReading, scale: float) -> str:
    """Return that a scale follows from those components of a head alone that are not turned, where it does."""
    rotation, width = reading.query.rotation, reading.heads.query.shape[-1]
    rest = 0 if rotation is None else width - rotation.width
    is_of_rest = rest > 0 and abs(scale * rest**0.5 - 1.0) <= 1e-6
    return f"1/√{rest}, of what is not turned; " if is_of_rest else ""


def _directions(flow: Flow, reading: AttentionReading, setting: Setting) -> str:
    """Return of which keys the buckets of a bias tell distances apart, where that is known."""
    visible = np.ones(reading.heads.query.shape[2:3] + reading.heads.key.shape[2:3], dtype=bool)
    shown = visible_with(setting, (1, 1, *visible.shape))[0, 0] & visible
    found = buckets_of(flow, setting, shown)
    rule = None if found is None else found.rule
    return "" if rule is None or not rule.directions else f" {rule.directions}"


def _norms(reading: AttentionReading) -> Iterator[str]:
    """Yield the norms of queries and keys, and whether they are over each head or over all of a position."""
    norms = {role: norm for role in _ROLES if (norm := getattr(reading, role).norm) is not None}
    widths = {role: getattr(reading, role).heads.shape[-1] for role in norms}
    alike: dict[tuple[str, bool], list[str]] = {}
    for role, norm in norms.items():
        alike.setdefault((norm.kind, norm.width > widths[role]), []).append(role)
    for (kind, is_over_all), roles in alike.items():
        late = [role for role in roles if getattr(reading, role).order[:1] == ("rotary",)]
        named = " and ".join(roles)
        of = f"{named} over all heads" if is_over_all else f"each head of {named}"
        yield f"{kind} of {of}{' after they are turned' if late == roles else ''}"


def _projected(reading: AttentionReading) -> Iterator[str]:
    """Yield the order in which one map gives queries, keys and values, where it gives several of them."""
    steps: dict[int, list[str]] = {}
    for role in _ROLES:
        steps.setdefault(getattr(reading.sublayer, role)[0].step, []).append(role)
    for roles in (roles for roles in steps.values() if len(roles) > 1):
        operands = [getattr(reading, role) for role in roles]
        if all(operand.split is not None and operand.split.columns is not None for operand in operands):
            order = sorted(roles, key=lambda role: getattr(reading, role).split.offset)
            by_head = " of each head" if any(map(_has_gaps, operands)) else ""
            yield f"one map for {', '.join(order)}{by_head}"


def _has_gaps(operand: Operand) -> bool:
    return operand.split is not None and operand.split.layout == "blocks_with_gaps"
