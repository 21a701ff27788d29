"""What an attention is compared in with its siblings, and the mistakes that can be told without any."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.recognition.aspects import Aspect
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.biases import fills
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.operands import Operand
from veriformer.conformance_tests.recognition.turning import Turned

_ROLES: tuple[StepName, ...] = ("query", "key", "value")


def attention_aspects(flow: Flow, reading: AttentionReading) -> Iterator[Aspect]:
    """Yield what an attention does, in the order in which it does it."""
    operands = {"query": reading.query, "key": reading.key, "value": reading.value}
    yield from _of_columns(flow, reading, operands)
    yield from _of_width(reading)
    for role in _ROLES:
        operand = operands[role]
        maps = getattr(reading.sublayer, role)
        bias = maps[0].bias is not None
        yield Aspect(
            f"{role} bias", role, bias, "a bias is added" if bias else "no bias is added", maps[0].step, rank=int(bias)
        )
        if operand.split is not None:
            place = flow.maker(operand.split.value) or maps[0].step
            moved = operand.split.moved
            words = "each position has its own"
            if moved:
                words = f"each position has that of the position {'before' if moved > 0 else 'behind'} it"
            yield Aspect(f"{role} moved", role, moved, words, place, rank=int(not moved))
            yield Aspect(f"{role} layout", role, operand.split.layout, _LAYOUTS[operand.split.layout], place)
        words = "they are made from the projection in a way that is not known"
        place = flow.maker(getattr(reading.sublayer.sites[0], f"{role}_value")) or maps[0].step
        yield Aspect(f"{role} understood", role, operand.understood, words, place)
    for role in _ROLES:
        yield from _of_operand(flow, role, operands[role], reading)
    yield from _of_setting(flow, reading)
    if reading.merge is not None:
        yield Aspect(
            "merge",
            "heads_output",
            (reading.merge.rows_kept, reading.merge.in_order),
            "the heads' outputs stand one after the other" if reading.merge.in_order else "in another order",
            reading.sublayer.exit.step,
        )
    out = reading.sublayer.exit.bias is not None
    yield Aspect(
        "output bias",
        "attention_output",
        out,
        "a bias is added" if out else "no bias is added",
        reading.sublayer.exit.step,
        rank=int(out),
    )


def _seen_otherwise(setting: Setting, usual: Hashable) -> str:
    """Return the mistake that a pattern of visible keys is, where the other layers have the usual one."""
    if setting.pattern == "every key" and setting.bias is not None and fills(setting.bias):
        return "finite_mask_beaten_by_logits"
    if setting.pattern == "every key":
        return "decoder_not_causal" if usual == "causal" else "window_left_side_unlimited"
    if setting.pattern == "window" and usual in ("causal", "causal window"):
        # Later keys are seen as far as earlier ones.
        return "decoder_not_causal"
    if usual == "every key":
        return "encoder_made_causal" if setting.is_causal else ""
    if setting.mask is None:
        return ""
    return mask_mistake(setting.mask) or (_window_mistake(setting.mask) if usual == "causal window" else "")


def _window_mistake(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """Return the mistake that a table of visible keys (…, L, S) is in place of a window of keys before."""
    seen = np.asarray(mask.reshape(-1, *mask.shape[-2:]).any(axis=0))
    distance = np.arange(seen.shape[0])[:, None] - np.arange(seen.shape[1])
    left = int(distance[seen].max(initial=0))
    if np.array_equal(seen, (distance >= -1) & (distance <= left)):
        return "causal_diagonal_off_by_one"
    rows = slice(1, None)
    without_own = (distance >= 1) & (distance <= left)
    return "causal_mask_excludes_self" if np.array_equal(seen[rows], without_own[rows]) else ""


def _other_window(own: int | None, usual: Hashable) -> str:
    left = usual[0] if isinstance(usual, tuple) else None
    return "sliding_window_off_by_one" if own is not None and left is not None and abs(own - left) == 1 else ""


# Patterns of visible keys that correct models take in turns.
_TURNS: Mapping[str, str] = {
    "causal": "one side",
    "causal window": "one side",
    "every key": "both sides",
    "window": "both sides",
}
_LAYOUTS: Mapping[str, str] = {
    "blocks": "each head has columns of its own, one head after the other",
    "blocks_with_gaps": "each head has its columns of query, key and value together",
    "blocks_reversed": "the heads come in reverse order",
    "component_major": "the columns go through the heads first and through the components then",
    "mixed": "the numbers of a head come from several positions",
    "other": "in an order of its own",
}


def _of_columns(flow: Flow, reading: AttentionReading, operands: Mapping[str, Operand]) -> Iterator[Aspect]:
    """Yield which columns of a fused projection are queries, keys and values."""
    maps = {role: getattr(reading.sublayer, role)[0] for role in _ROLES}
    splits = {role: operands[role].split for role in _ROLES}
    offsets = {role: -1 if split is None else split.offset for role, split in splits.items()}
    if len({one.step for one in maps.values()}) == len(_ROLES) or min(offsets.values()) < 0:
        return
    order = sorted({one.step for one in maps.values()})
    widths = {role: flow.shape(maps[role].output)[-1] for role in _ROLES}
    # Layers of several widths have the same order, in columns of their own.
    at = {role: (order.index(maps[role].step), offsets[role] / widths[role]) for role in _ROLES}
    words = ", ".join(f"{role} from column {offsets[role]}" for role in _ROLES)
    all_differ = len(set(at.values())) == len(at)
    order_of = _in_order(tuple(at.items()))
    yield Aspect(
        "columns",
        "query",
        tuple(at.items()),
        words,
        maps["query"].step,
        lambda usual: "" if all_differ and isinstance(usual, tuple) and order_of == _in_order(usual) else _EXCHANGED,
        rank=int(all_differ),
    )


def _in_order(at: tuple[tuple[str, tuple[int, float]], ...]) -> list[str]:
    return [role for role, _ in sorted(at, key=lambda one: one[1])]


_EXCHANGED = "projections=queries_and_keys_exchanged"


def _of_operand(flow: Flow, role: StepName, operand: Operand, reading: AttentionReading) -> Iterator[Aspect]:
    end = getattr(reading.sublayer.sites[0], f"{role}_value")
    place = flow.maker(flow.computed(end)) or reading.sublayer.first_step
    if not operand.understood:
        return
    rotation = operand.rotation
    if rotation is not None:
        kind = (rotation.pairing, rotation.width, rotation.at_end, rotation.start + 0.0, rotation.direction)
        yield Aspect(
            f"{role} rotation",
            "rotary",
            kind,
            describe_rotation(rotation),
            place,
            mistake=lambda usual: _turned_otherwise(kind, usual),
        )
    base = None if rotation is None else tuple(round(float(one), 4) for one in rotation.frequencies[:4])
    yield Aspect(
        f"{role} base",
        "rotary",
        base,
        describe_rotation(rotation),
        place,
        mistake="rope_window_constant_position" if rotation is None else "rope_theta_ignored",
        alternates="" if role == "value" else "rotation",
        follows="visible keys",
        seldom=True,
        rank=int((rotation is not None) == (role != "value")),
        # Another base, and no positions at all, are what some layers of known models have.
        is_choice=True,
    )
    norm = operand.norm
    yield Aspect(
        f"{role} norm",
        role,
        None if norm is None else (norm.kind, norm.gain is None),
        "no norm" if norm is None else norm.kind,
        place,
        rank=int(norm is not None),
    )
    if len(operand.order) > 1:
        yield Aspect(f"{role} order", role, operand.order, ", then ".join(operand.order), place)


def _turned_otherwise(own: tuple[object, ...], usual: Hashable) -> str:
    """Return the mistake that a rotation is, where the other layers have the usual one."""
    if not isinstance(usual, tuple) or own[0] != usual[0]:
        return "rope_interleaved_vs_half"
    if own[-1] != usual[-1]:
        return "rope_sign_flipped"
    return "rope_rotary_dim_ignored" if own[1] != usual[1] else ""


def scale_mistake(scale: float, heads: int, width: int, d_model: int, lengths: Sequence[int] = ()) -> str:
    """Return the mistake that a scale in place of 1/√D is; "" where it is none that people make.

    `lengths` are the sizes of the axes of samples, queries and keys.
    """
    mistakes = (
        ("scale_missing", 1.0),
        ("scale_by_d_model_not_head_dim", 1.0 / math.sqrt(heads * width)),
        ("scale_by_d_model_not_head_dim", 1.0 / math.sqrt(d_model or 1)),
        ("scale_applied_twice", 1.0 / width),
        ("attention.scale=multiplied_by_root", math.sqrt(width)),
        ("attention.scale=fourth_root", width**-0.25),
        # The number of heads in place of their width.
        *(("scale_by_wrong_axis", size**-0.5) for size in (heads, *lengths) if size not in (1, width)),
    )
    if width == 1:
        return ""
    return next((name for name, wrong in mistakes if abs(scale - wrong) <= 1e-6 * wrong), "")


def mask_mistake(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """Return the mistake that a table of visible keys (…, L, S) is in place of causality; "" where it is none.

    Padding of some samples does not matter, nor what a query without a key sees: fills that are finite show it all.
    """
    seen = np.asarray(mask.reshape(-1, *mask.shape[-2:]).any(axis=0))
    length, keys = seen.shape
    if length != keys or length < 3:
        return ""
    causal = np.tril(np.ones((length, keys), dtype=bool))
    tables = (
        ("causal_diagonal_off_by_one", np.tril(causal | True, 1)),
        ("causal_mask_excludes_self", np.tril(causal, -1)),
        ("causal_mask_transposed", causal.T),
        ("mask_polarity_inverted", ~causal),
    )
    if _is_window(~seen):
        return "mask_polarity_inverted"
    for name, table in tables:
        rows = table.any(axis=-1)
        if np.array_equal(seen[rows], table[rows]) and (seen[~rows].all() or not seen[~rows].any()):
            return name
    return ""


def _is_window(table: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
    """Return whether each query has keys in a row, of which its own is the last."""
    columns = [np.flatnonzero(row) for row in table]
    return all(
        one.size > 0 and one[-1] == query and one[-1] - one[0] == one.size - 1 for query, one in enumerate(columns)
    )


def describe_rotation(rotation: Turned | None) -> str:
    """Return a rotation in words."""
    if rotation is None:
        return "no rotary embedding"
    base = "frequencies of its own" if rotation.base is None else f"base {rotation.base:g}"
    start = "" if abs(rotation.start) < 1e-3 else f", positions from {rotation.start:g}"
    turn = "" if rotation.direction > 0 else ", turned backwards"
    pairing: str = rotation.pairing
    if rotation.pairing_after != pairing:
        pairing += f" pairing, laid out as in the {rotation.pairing_after}"
    width = f"width {rotation.width}{' at the end' if rotation.at_end else ''}"
    return f"rotary, {pairing} pairing, {width}, {base}{start}{turn}"


def _of_width(reading: AttentionReading) -> Iterator[Aspect]:
    """Yield into how many heads of which width the queries are cut."""
    width = reading.heads.query.shape[-1]
    words = f"the queries are cut into {counted(reading.head_count, 'head')} of {counted(width, 'column')}"
    place = reading.sublayer.query[0].step
    yield Aspect("head width", "query", width, words, place, alternates="width", follows="visible keys", seldom=True)


def _of_setting(flow: Flow, reading: AttentionReading) -> Iterator[Aspect]:
    site, setting = reading.sublayer.sites[0], reading.setting
    first, last = site.steps[0], site.steps[-1]
    understood = setting is not None
    yield Aspect("core", "weights", understood, "the heads' outputs are none that a softmax over keys gives", first)
    if setting is None:
        return
    width = reading.heads.query.shape[-1]
    scale = setting.scale if setting.scale is not None else width**-0.5
    usual = setting.scale is None
    yield Aspect(
        "scale",
        "logits",
        float(f"{scale * width**0.5:.5g}"),
        "the logits are divided by √D" if usual else f"the logits are multiplied by {scale:.4g}",
        first,
        rank=int(usual),
        mistake=scale_mistake(scale, reading.head_count, width, 0),
    )
    cap = setting.softcap
    yield Aspect(
        "softcap", "logits", cap, "no cap" if cap is None else f"the logits are capped at ±{cap:g}", first, rank=1
    )
    pattern = setting.pattern
    patterns = {"causal": "each query sees its own and earlier keys", "every key": "each query sees every key"}
    if setting.bias is not None and fills(setting.bias):
        low = f"each query sees every key, later ones with logits that are lowered by {-setting.bias.min():g} only"
        patterns["every key"] = low
    window = "" if setting.window is None else f"each query sees {setting.window[0]} keys before its own"
    yield Aspect(
        "visible keys",
        "mask",
        pattern,
        window or patterns.get(setting.pattern, f"the keys are {setting.pattern}"),
        min(first + 1, last),
        alternates=_TURNS.get(setting.pattern, ""),
        seldom=setting.window is None,
        rank={"causal": 3, "causal window": 2, "every key": 1}.get(setting.pattern, 0),
        mistake=lambda usual: _seen_otherwise(setting, usual),
    )
    if setting.window is not None:
        left = setting.window[0]
        yield Aspect(
            "window",
            "mask",
            setting.window,
            window,
            min(first + 1, last),
            mistake=lambda usual: _other_window(left, usual),
            is_choice=True,
        )
    added = setting.bias is not None and not fills(setting.bias)
    words = "a bias is added to the logits" if added else "no bias is added to the logits"
    yield Aspect("bias", "logits", added, words, first, rank=int(added), from_first=added)
    if added:
        words = "the bias that is added is one of its own"
        yield Aspect("bias by head", "logits", _fingerprint(setting), words, first)
    yield Aspect(
        "sinks", "weights", setting.sinks is not None, "sinks" if setting.sinks is not None else "no sinks", last
    )


def _fingerprint(setting: Setting) -> float:
    """Return a number that two biases share where they are the same."""
    bias = setting.bias if setting.bias is not None else np.zeros(1)
    return float(f"{float((bias.ravel() * np.cos(np.arange(bias.size))).sum()):.9g}")


def same_for_all_queries(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
    """Return whether a mask (…, L, S) hides the same keys from all queries, as padding does."""
    return bool((mask == mask[..., :1, :]).all())
