"""Reads mixtures of experts: which experts a token is sent to, and with which shares their outputs are summed.

The shares are read off the numbers: each row of the mixture is a sum of rows that the experts gave for it. What they
should be follows from the router's scores, in one of the ways that published models have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree, unit_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.paths import common_path, layer_in
from veriformer.conformance_tests.recognition.stacked_experts import outputs_of_stacks
from veriformer.conformance_tests.recognition.sublayers import FeedForwardSublayer, Sublayers
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected
from veriformer.conformance_tests.recognition.weighted_experts import by_expert, weighted_inputs

# Shares below this part of the largest are those of experts that a token is not sent to.
# So many values of the stream's size lie between the sums of one expert and of another at most.
_MOST_BETWEEN = 12
_NONE = 1e-9
# Tokens that tell one way to share from another.
_LEAST_TOKENS = 4


@dataclass(frozen=True, eq=False)
class Mixture:
    """Experts side by side, and what routes tokens to them.

    `scheme` says in words how the shares follow from the scores, "" where that was not recognised; `count` is the
    number of the router's columns, `chosen` that of the experts for each token, `factor` what all shares are multiplied
    by. `mistake` is what is wrong with the shares. `place` is the step of the router, `summed` the value in which the
    outputs are together, None if not found. `is_stacked` says that all experts are one network whose matrices are
    stacked; `network` is what that is, in words, where it is no sublayer of its own.
    """

    members: tuple[Layered, ...]
    router: LinearMap
    path: str
    layer: int
    place: int
    count: int
    chosen: int = 0
    scheme: str = ""
    mistake: Suspicion | None = None
    summed: int | None = None
    is_stacked: bool = False
    network: str = ""
    factor: float = 1.0

    @property
    def experts(self) -> list[Layered]:
        """The members that tokens are sent to, without one that all of them share; none that is more than one."""
        return [] if self.is_stacked else _routed(self.members, self.count)


@dataclass(frozen=True, eq=False)
class _Shares:
    """What each expert's output is multiplied by for each token (N, E), in the order of the router's columns.

    `summed` is the value in which the outputs are together.
    """

    shares: Array
    summed: int


def mixtures_in(flow: Flow, sublayers: Sublayers, readings: Sequence[Layered]) -> Iterator[Mixture]:
    """Yield the mixtures of experts among the sublayers: each router with the networks that read what it reads."""
    networks = [one for one in readings if isinstance(one.place.sublayer, FeedForwardSublayer)]
    taken: set[int] = set()
    for router in sublayers.others:
        members = _members(flow, sublayers, router, [one for one in networks if one.first_step not in taken])
        if members:
            taken.update(one.first_step for one in members)
            yield _mixture(flow, sublayers, members, router)
            continue
        left = [one for one in networks if one.first_step not in taken]
        stacked = _weighted(flow, sublayers, router, left) or _stacked(flow, sublayers, router, left)
        if stacked is not None:
            taken.update(one.first_step for one in stacked.members)
            yield stacked
            continue
        computed = _computed(flow, sublayers, router)
        if computed is not None:
            yield computed


def _computed(flow: Flow, sublayers: Sublayers, router: LinearMap) -> Mixture | None:
    """Return the mixture of experts in stacks of parameters, whatever order its tokens are in; None without one."""
    count, rows = sublayers.maps.width_out(router), _rows(flow, router.input)
    path = common_path(router.names).rpartition(".")[0].rpartition(".")[0]
    layer = layer_in(common_path(router.names)) or 0

    found: tuple[str, _Shares] | None = None
    unsolved = 0
    for summed, its in groupby(outputs_of_stacks(flow, router, count), key=itemgetter(0)):
        # Experts that are added one after the other make sums of some of them on the way: the last has all.
        here = _first_solved(flow.array(summed).reshape(rows.shape), its)
        unsolved = 0 if here is not None else unsolved + 1
        if here is not None:
            found = here[0], _Shares(here[1], summed)
        elif found is not None and unsolved > _MOST_BETWEEN:
            break
    if found is None:
        return None
    plain = Mixture((), router, path, layer, router.step, count, is_stacked=True, network=found[0])
    return _judged(flow, plain, found[1])


def _first_solved(summed: Array, its: Iterable[tuple[int, str, Array]]) -> tuple[str, Array] | None:
    """Return the experts of which some rows are sums, in words, with the weights of each; None where there are none."""
    for _, network, outputs in its:
        weights = _solved(summed, outputs, np.ones(outputs.shape[:2], dtype=bool))
        if weights is not None:
            return network, weights
    return None


def _members(flow: Flow, sublayers: Sublayers, router: LinearMap, networks: Sequence[Layered]) -> list[Layered]:
    """Return the networks that read rows of what a map reads, and whose outputs meet the map's; none if too many."""
    count = sublayers.maps.width_out(router)
    rows = _rows(flow, router.input)
    if count < 2 or not rows.size or not networks:
        return []
    after, known = set(flow.descendants(router.output)), _indices(rows)
    found = []
    for one in networks:
        sublayer = one.place.sublayer
        same_width = flow.shape(sublayer.entry.input)[-1:] == rows.shape[-1:]
        if not same_width or _places(known, _rows(flow, sublayer.entry.input)) is None:
            continue
        if not after.isdisjoint(flow.descendants(sublayer.exit.output)) and router.step < sublayer.exit.step:
            found.append(one)
    return found if len(found) > 1 and len(_routed(found, count)) <= count else []


def _routed(members: Sequence[Layered], count: int) -> list[Layered]:
    """Return the members that have a column of the router each, by the number in their path, or by their order."""
    numbers = _numbers([one.path_of_maps for one in members])
    numbered = [one for one, number in zip(members, numbers, strict=True) if number is not None]
    return numbered if numbered and len(numbered) <= count else list(members)


def _stacked(flow: Flow, sublayers: Sublayers, router: LinearMap, networks: Sequence[Layered]) -> Mixture | None:
    """Return the mixture of experts whose matrices are one stack, all of which ran on every token; None without one."""
    count, rows = sublayers.maps.width_out(router), _rows(flow, router.input)
    if count < 2 or not rows.size:
        return None
    after_router = set(flow.descendants(router.output))
    for one in networks:
        if not np.array_equal(_rows(flow, one.place.sublayer.entry.input), rows):
            continue
        after = flow.descendants(one.place.sublayer.entry.output)
        outputs = [value for value in sorted(after) if flow.array(value).size == count * rows.size]
        for given in (array for value in outputs for array in by_expert(flow.array(value), count, rows.shape)):
            present = np.ones(given.shape[:2], dtype=bool)
            for value in sorted(after_router & set(after)):
                array = flow.array(value)
                if array.size != rows.size or array.dtype.kind != "f":
                    continue
                weights = _solved(array.reshape(rows.shape), given, present)
                if weights is not None:
                    path = common_path([one.path, *(name.rpartition(".")[0] for name in router.names)])
                    plain = Mixture((one,), router, path, one.layer, router.step, count, is_stacked=True)
                    return _judged(flow, plain, _Shares(weights, value))
    return None


def _weighted(flow: Flow, sublayers: Sublayers, router: LinearMap, networks: Sequence[Layered]) -> Mixture | None:
    """Return the mixture of experts whose inputs are multiplied by their shares; None without one."""
    count, rows = sublayers.maps.width_out(router), _rows(flow, router.input)
    found = weighted_inputs(flow, rows, count, networks)
    is_stacked = found is not None and len(found.members) == 1
    columns = None if found is None else list(range(count)) if is_stacked else _columns(found.members, count)
    if found is None or columns is None or None in columns:
        return None
    shares = np.zeros((len(rows), count))
    shares[:, [column for column in columns if column is not None]] = found.shares
    path = common_path([*(one.path for one in found.members), *(name.rpartition(".")[0] for name in router.names)])
    plain = Mixture(found.members, router, path, found.members[0].layer, router.step, count, is_stacked=is_stacked)
    judged = _judged(flow, plain, _Shares(shares, found.summed))
    return replace(judged, scheme=f"{judged.scheme}, times what an expert reads" if judged.scheme else "")


def _mixture(flow: Flow, sublayers: Sublayers, members: Sequence[Layered], router: LinearMap) -> Mixture:
    path = common_path([*(one.path for one in members), *(name.rpartition(".")[0] for name in router.names)])
    count = sublayers.maps.width_out(router)
    plain = Mixture(tuple(members), router, path, members[0].layer, router.step, count)
    found = _shares(flow, members, router, count)
    return plain if found is None else _judged(flow, plain, found)


def _judged(flow: Flow, plain: Mixture, found: _Shares) -> Mixture:
    """Return a mixture with how its shares follow from the scores, or what is wrong with them."""
    router, count, path = plain.router, plain.count, plain.path
    scores = _rows(flow, router.output, count)
    sent = np.abs(found.shares) > _NONE * max(float(np.abs(found.shares).max(initial=0.0)), 1e-300)
    chosen = int(sent.sum(axis=1).max(initial=0))
    if len(scores) < _LEAST_TOKENS or chosen == 0 or (sent.sum(axis=1) != chosen).any():
        return plain
    unit = max(unit_of(flow.array(found.summed)), flow.unit_between(router.output, found.summed))
    by = _selected_by(flow, router, found.summed, scores, sent)
    for words, expected in _ways(scores, sent):
        factor = _factor(found.shares, expected, unit)
        if factor is not None:
            times = "" if abs(factor - 1.0) <= 1e-6 else f", times {factor:.4g}"
            wrong = _wrong_choice(flow, router, found.summed, scores, sent, path) if by is None else None
            scheme = f"top {chosen} of {count}{by}, {words}{times}" if by is not None else ""
            return replace(plain, chosen=chosen, scheme=scheme, mistake=wrong, summed=found.summed, factor=factor)
    mistake = _mistake(found, scores, sent, unit, path, flow, router) or _lost(found, scores, sent, unit, path, flow)
    return replace(plain, chosen=chosen, mistake=mistake, summed=found.summed)


def _shares(flow: Flow, members: Sequence[Layered], router: LinearMap, count: int) -> _Shares | None:
    """Return what the outputs are multiplied by; None where no value is a sum of them."""
    rows = _rows(flow, router.input)
    known = _indices(rows)
    outputs = np.zeros((len(members), *rows.shape))
    present = np.zeros((len(members), len(rows)), dtype=bool)
    for place, one in enumerate(members):
        sublayer = one.place.sublayer
        at = _places(known, _rows(flow, sublayer.entry.input))
        if at is None:
            return None
        given = _rows(flow, sublayer.exit.output)
        if len(given) != len(at):
            # Rows of several experts that were computed together are not told apart.
            return None
        outputs[place, at], present[place, at] = given, True
    columns = _columns(members, count)
    if columns is None:
        return None
    for value in _sums(flow, members, rows.size):
        weights = _solved(flow.array(value).reshape(rows.shape), outputs, present)
        if weights is not None:
            shares = np.zeros((len(rows), count))
            for place, column in enumerate(columns):
                if column is not None:
                    shares[:, column] = weights[:, place]
            return _Shares(shares, value)
    return None


def _sums(flow: Flow, members: Sequence[Layered], size: int) -> Iterator[int]:
    """Yield the values of the stream's size that all experts' outputs lead to, the nearest first."""
    filled = [one for one in members if flow.array(one.place.sublayer.exit.output).size]
    after = [set(flow.descendants(one.place.sublayer.exit.output)) for one in filled]
    both = set.intersection(*after) if after else set()
    for value in sorted(both):
        array = flow.array(value)
        if array.size == size and array.dtype.kind == "f":
            yield value


def _solved(summed: Array, outputs: Array, present: Array) -> Array | None:
    """Return the weights (N, members) with which rows are sums of the outputs for them; None where they are none."""
    weights = np.zeros((len(summed), len(outputs)))
    if not (np.isfinite(summed).all() and np.isfinite(outputs).all()):
        return None
    for token, row in enumerate(summed):
        own = np.flatnonzero(present[:, token])
        if own.size == 0 or own.size > row.size:
            return None
        weights[token, own] = np.linalg.lstsq(outputs[own, token].T, row, rcond=None)[0]
        # What is no sum of them is refuted by the first rows.
        if token == 0 and not agree(row, weights[token, own] @ outputs[own, token], unit_of(summed)):
            return None
    made = np.einsum("nm,mne->ne", weights, outputs)
    return weights if agree(summed, made, unit_of(summed)) else None


def _ways(scores: Array, sent: Array) -> Iterator[tuple[str, Array]]:
    """Yield the shares that published models give to the chosen experts, with words for each."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    for name, values in (
        ("softmax", exponentials / exponentials.sum(axis=1, keepdims=True)),
        ("sigmoid", 0.5 * (1.0 + np.tanh(0.5 * scores))),
    ):
        kept = np.where(sent, values, 0.0)
        over = "softmax over the chosen" if name == "softmax" else f"{name}, of sum one"
        yield over, kept / kept.sum(axis=1, keepdims=True)
        yield f"{name} over all" if name == "softmax" else name, kept


def _factor(shares: Array, expected: Array, unit: float) -> float | None:
    """Return the number that the expected shares are multiplied by; None where they are others."""
    at = np.unravel_index(int(np.argmax(expected)), expected.shape)
    factor = float(shares[at] / expected[at])
    return factor if factor > 0 and agree(shares, factor * expected, unit) else None


def _selected_by(flow: Flow, router: LinearMap, summed: int, scores: Array, sent: Array) -> str | None:
    """Return words on what the choice depends on besides the scores, "" for nothing; None where that is not known."""
    if _are_largest(scores, sent):
        return ""
    for values, corrected in _choices(flow, router, summed, scores):
        if corrected and _are_largest(values, sent):
            return " by corrected scores"
        for limited, words in _within_groups(values, int(sent.sum(axis=1)[0])):
            if _are_largest(limited, sent):
                return f"{' by corrected scores' if corrected else ''} within {words}"
    return None


def _choices(flow: Flow, router: LinearMap, summed: int, scores: Array) -> Iterator[tuple[Array, bool]]:
    """Yield the numbers by which experts may be chosen, and whether a vector of corrections was added to them."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
    every = (0.5 * (1.0 + np.tanh(0.5 * scores)), softmax, scores)
    yield from ((values, False) for values in every)
    for index in flow.between(router.output, summed):
        for one in flow.steps[index].operands:
            vector = flow.array(one)
            if flow.is_fixed(one) and vector.dtype.kind == "f" and vector.size == scores.shape[1]:
                yield from ((values + vector.ravel(), True) for values in every)


def _within_groups(values: Array, chosen: int, *, best: bool = True) -> Iterator[tuple[Array, str]]:
    """Yield the numbers with those of all but the best groups of experts hidden, as DeepSeek's routers do.

    Where the groups are not the `best`, these are the hidden ones.
    """
    tokens, count = values.shape
    for groups in (one for one in range(2, count) if count % one == 0):
        grouped = values.reshape(tokens, groups, -1)
        ranked = np.sort(grouped, axis=-1)[..., ::-1]
        for by_group in (ranked[..., :2].sum(axis=-1), ranked[..., 0]):
            for kept in range(1, groups):
                shown = kept if best else groups - kept
                if shown * (count // groups) >= chosen:
                    least = np.sort(by_group, axis=1)[:, -kept][:, None]
                    hidden = np.where(((by_group >= least) == best)[..., None], grouped, -np.inf)
                    yield hidden.reshape(tokens, count), f"{kept} of {groups} groups"


def _are_largest(values: Array, sent: Array) -> bool:
    """Return whether those are chosen whose values are the largest of each token."""
    least = np.where(sent, values, np.inf).min(axis=1)
    most = np.where(sent, -np.inf, values).max(axis=1)
    return bool((least >= most).all() and np.isfinite(least).all())


def _wrong_choice(
    flow: Flow, router: LinearMap, summed: int, scores: Array, sent: Array, path: str
) -> Suspicion | None:
    """Return the mistake in what is chosen: the lowest scores, or all but the best groups. No other one is judged."""
    if _are_largest(-scores, sent):
        sentence = "each token is sent to the experts with the lowest scores"
        return Suspicion("other", 0, sentence, (suspected("moe_lowest_chosen", sentence=sentence),), path)
    chosen = int(sent.sum(axis=1)[0])
    for values, _ in _choices(flow, router, summed, scores):
        for limited, words in _within_groups(values, chosen, best=False):
            if _are_largest(limited, sent):
                sentence = f"each token is sent to experts outside of the best groups, {words}"
                return Suspicion("other", 0, sentence, (suspected("moe_best_groups_hidden", sentence=sentence),), path)
    return None


def _mistake(
    found: _Shares, scores: Array, sent: Array, unit: float, path: str, flow: Flow, router: LinearMap
) -> Suspicion | None:
    """Return what is wrong with shares that follow from the scores in no known way; None where that is not known."""
    place = flow.maker(found.summed) or 0
    for name, sentence, made in (*_wrong_shares(scores, sent), *_corrected_shares(flow, router, found, scores, sent)):
        if _factor(np.sort(found.shares, axis=1) if name == _EXCHANGED else found.shares, made, unit) is not None:
            return Suspicion("other", place, sentence, (suspected(name, sentence=sentence),), path)
    return None


def _lost(found: _Shares, scores: Array, sent: Array, unit: float, path: str, flow: Flow) -> Suspicion | None:
    """Return that some of the chosen experts are missing from the sum, whose shares are made for more of them."""
    count, kept = sent.shape[1], int(sent.sum(axis=1)[0])
    order = np.argsort(-scores, axis=1, kind="stable")
    for chosen in range(kept + 1, count):
        best = np.zeros_like(sent)
        np.put_along_axis(best, order[:, :chosen], values=True, axis=1)
        for words, expected in _ways(scores, best) if not (sent & ~best).any() else ():
            # Shares over all experts are the same for any number of them.
            if "over all" not in words and _factor(found.shares, np.where(sent, expected, 0.0), unit) is not None:
                sentence = f"{kept} of the {chosen} experts that the shares of a token are made for are in its sum"
                return Suspicion("other", flow.maker(found.summed) or 0, sentence, (), path)
    return None


_EXCHANGED = "moe_shares_exchanged"


def _wrong_shares(scores: Array, sent: Array) -> Iterator[tuple[str, str, Array]]:
    """Yield the shares that known mistakes give."""
    for words, expected in _ways(scores, sent):
        if (sent.sum(axis=1) > 1).all():
            sentence = f"the experts of a token get each other's shares ({words})"
            yield _EXCHANGED, sentence, np.sort(expected, axis=1)
        for shift in (1, -1):
            sentence = f"each token gets the shares of its neighbour ({words})"
            yield "moe_shares_of_another_token", sentence, _by_rank(np.roll(expected, shift, axis=0), scores, sent)
    exponentials = np.exp(scores - scores.max(axis=0, keepdims=True))
    over_tokens = exponentials / exponentials.sum(axis=0, keepdims=True)
    kept = np.where(sent, over_tokens, 0.0)
    sentence = "the scores are normalised over the tokens, and not over the experts"
    yield "softmax_wrong_axis", sentence, kept
    yield "softmax_wrong_axis", sentence, kept / kept.sum(axis=1, keepdims=True)
    if sent.sum(axis=1).max() > 1:
        sentence = "the chosen experts are weighed alike, whatever their scores"
        yield "moe_scores_not_used", sentence, np.where(sent, 1.0, 0.0)
        for words, expected in _ways(scores, sent):
            sentence = f"all chosen experts get the share of the first ({words})"
            yield "moe_shares_of_the_first", sentence, np.where(sent, expected.max(axis=1, keepdims=True), 0.0)


def _corrected_shares(
    flow: Flow, router: LinearMap, found: _Shares, scores: Array, sent: Array
) -> Iterator[tuple[str, str, Array]]:
    """Yield the shares that are made of corrected scores, whose correction is for the choice alone."""
    sentence = "the correction of the scores, which is for the choice of experts, is in their shares too"
    for values, corrected in _choices(flow, router, found.summed, scores):
        if corrected:
            kept = np.where(sent, values, 0.0)
            yield "moe_correction_in_shares", sentence, kept
            yield "moe_correction_in_shares", sentence, kept / kept.sum(axis=1, keepdims=True)


def _by_rank(shares: Array, scores: Array, sent: Array) -> Array:
    """Return the shares of each row given to the chosen experts of that row, the largest to the one scored highest."""
    chosen = int(sent.sum(axis=1).max())
    order = np.argsort(-np.where(sent, scores, -np.inf), axis=1)[:, :chosen]
    made = np.zeros_like(shares)
    np.put_along_axis(made, order, np.sort(shares, axis=1)[:, ::-1][:, :chosen], axis=1)
    return made


# --- rows and columns -------------------------------------------------------------------------------------------------


def _rows(flow: Flow, value: int, width: int = 0) -> Array:
    array = flow.array(value)
    return array.reshape(-1, width or (array.shape[-1] if array.ndim else 1))


def _indices(rows: Array) -> Mapping[bytes, list[int]]:
    """Return where each row stands; tokens that are the same have several places."""
    found: dict[bytes, list[int]] = {}
    for place, row in enumerate(np.ascontiguousarray(rows)):
        found.setdefault(row.tobytes(), []).append(place)
    return found


def _places(known: Mapping[bytes, list[int]], rows: Array) -> list[int] | None:
    """Return the tokens that an expert's rows are of; None where a row is none of the router's."""
    taken: dict[bytes, int] = {}
    places = []
    for row in np.ascontiguousarray(rows):
        key = row.tobytes()
        number = taken.get(key, 0)
        if key not in known or number >= len(known[key]):
            return None
        places.append(known[key][number])
        taken[key] = number + 1
    return places


def _columns(members: Sequence[Layered], count: int) -> list[int | None] | None:
    """Return the router's column of each member, None for an expert that all tokens share; None if not known."""
    numbers = _numbers([one.path_of_maps for one in members])
    if any(number is not None for number in numbers):
        own = [number for number in numbers if number is not None]
        return numbers if len(set(own)) == len(own) and max(own) < count else None
    return list(range(count)) if len(members) == count else None


def _numbers(names: Sequence[tuple[str, ...]]) -> list[int | None]:
    """Return the number that tells experts apart in the names of their parameters; None for one without it.

    It is the one that differs between experts of the same pattern.
    """
    split = [re.split(r"[._]", one[0]) if one else [] for one in names]
    patterns = ["".join("#" if piece.isdigit() else f".{piece}" for piece in pieces) for pieces in split]
    usual = max(set(patterns), key=patterns.count)
    alike = [pieces for pieces, pattern in zip(split, patterns, strict=True) if pattern == usual]
    differing = [at for at in range(len(alike[0])) if len({pieces[at] for pieces in alike}) > 1]
    if len(differing) != 1 or len(alike) < 2:
        return [None] * len(names)
    return [
        int(pieces[differing[0]]) if pattern == usual else None for pieces, pattern in zip(split, patterns, strict=True)
    ]
