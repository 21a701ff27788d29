"""Comparing two recorded models: their parts in pairs, what differs in each, and where the values part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.ports.alignment import Pair, aligned
from veriformer.conformance_tests.ports.causes import cause_of, change_of, of_first_departing
from veriformer.conformance_tests.ports.cuts import TIGHT, apart, cuts_of, last_cut
from veriformer.conformance_tests.ports.direct import FirstParting, first_parting
from veriformer.conformance_tests.ports.exchanged import (
    EXCHANGED,
    Layer,
    cause_of_exchange,
    exchanged_layers,
    is_of_weights,
)
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.findings import (
    NO_NAME,
    Cause,
    CauseKind,
    Difference,
    PortComparison,
    PortVerdict,
)
from veriformer.conformance_tests.ports.held_as_it_was import HeldAsTheyWere
from veriformer.conformance_tests.ports.items import Cut, Item, PortPart, Weight
from veriformer.conformance_tests.ports.judged import Judged, first_lost
from veriformer.conformance_tests.ports.logits import cause_of_weights
from veriformer.conformance_tests.ports.not_found_out import norms_without_eps
from veriformer.conformance_tests.ports.pairing import findings_of
from veriformer.conformance_tests.ports.precision import OF_FEW, rounding_of
from veriformer.conformance_tests.ports.read_otherwise import Used, is_used, without_misread
from veriformer.conformance_tests.ports.side import Side
from veriformer.conformance_tests.ports.stream_norms import with_norms_of_the_stream
from veriformer.conformance_tests.ports.tables import part_pair, weight_pairs
from veriformer.conformance_tests.ports.values import cause_of_results, cause_of_values, known_before
from veriformer.conformance_tests.recognition.findings import Departure, StepName
from veriformer.conformance_tests.recognition.paths import code_of

_STRUCTURE = ("norm", "residual", "heads_output", "final_norm")


class Comparing:
    """Two models that were recorded on the same inputs; the numbers of their results may be `bound` apart.

    With `padded` some of the tokens are padding, whose values do not matter.
    """

    def __init__(self, name_a: str, trace_a: Trace, name_b: str, trace_b: Trace, *, padded: bool = False) -> None:
        self.padded = padded
        with np.errstate(all="ignore"):
            self.first, self.second = Side(name_a, trace_a), Side(name_b, trace_b)
            self.bound = max(rounding_of(self.first.flow), rounding_of(self.second.flow))
            self.pairs = aligned(self.first.parts, self.second.parts)
            self.used = Used(self.first), Used(self.second)
            self.held = HeldAsTheyWere(self.first, self.second)
        self.notices: list[str] = []

    def result(self) -> PortComparison:
        """Return what both have in common, and where and why they differ."""
        with np.errstate(all="ignore"):
            return self._result()

    def _result(self) -> PortComparison:
        distance = self._outputs_apart()
        judged = self._judged()
        if any(finding.is_stored for one in judged for finding in one.findings) and self.bound < OF_FEW:
            self.bound = OF_FEW
            judged = self._judged()
        differences, inside = self._told(judged, distance)
        if distance > self.bound:
            differences = differences or ([self._of_results()] if self._ends_alike() else [])
            differences = self._with_parting(differences, judged) or [self._of_nothing_known()]
        verdict: PortVerdict = "differ" if differences else "inside" if inside else "agree"
        return PortComparison(
            self.first.name,
            self.second.name,
            (self.first.trace.framework, self.second.trace.framework),
            (self.first.trace.dtype, self.second.trace.dtype),
            verdict,
            distance,
            tuple(part_pair(one) for one in judged),
            tuple(differences),
            tuple(inside),
            weight_pairs(judged, self.first, self.second, self.used[1]),
            (*self.notices, *norms_without_eps(self.pairs)),
        )

    def _with_parting(self, differences: list[Difference], judged: Sequence[Judged]) -> list[Difference]:
        """Return the differences after the place where the models part by their values, if that is none of them."""
        named = [one for one in differences if one.cause.kind != "unknown"]
        if named and self.padded:
            return differences
        found = first_parting(self.first, self.second, self.bound)
        if found is None or (named and not self._comes_first(found, named[0], judged)):
            return differences
        return [found.difference, *(one for one in named if not _is_departure(one))]

    def _first_parted(self, judged: Sequence[Judged]) -> Judged | None:
        """Return the first part that both have and whose values are not the same."""
        return next((one for one in judged if None not in one.pair and not one.far <= self.bound), None)

    def _comes_first(self, found: FirstParting, named: Difference, judged: Sequence[Judged]) -> bool:
        """Return whether the models part for a known reason before the first part whose values are not the same.

        What is named within that part, or differs in it, is the reason itself.
        """
        first = self._first_parted(judged)
        part = None if first is None else first.pair[0]
        if first is None or part is None or not found.is_known:
            return False
        if (named.operation, named.layer) == (part.role, part.layer):
            return False
        # A parameter that is not used belongs to no operation, and may be of any part.
        departs = any(one.suspects and one.operation for one in first.own)
        return not departs and all(finding.harmless for finding in first.findings)

    def _outputs_apart(self) -> float:
        first, second = self.first.outputs, self.second.outputs
        if not first or not second:
            return float("inf")
        return apart(first[0], second[0])

    # --- pairs ---

    def _judged(self) -> list[Judged]:
        every = [weight for part in self.first.parts for weight in part.weights()]
        found = []
        lost = False
        for pair in self.pairs:
            one = Judged(pair)
            found.append(one)
            first, second = pair
            if first is None or second is None:
                one.far = float("inf")
                continue
            one.findings = self.held.marked(without_misread(findings_of(first, second, every), *self.used))
            one.own = self._departures_of_one((self.second, second), (self.first, first))
            one.own_a = self._departures_of_one((self.first, first), (self.second, second))
            cuts = [(cut, other, apart(cut.array, other.array, cut.heads)) for cut, other in cuts_of(first, second)]
            # Without a value behind them, differences are taken to have an effect.
            unused = first.unused or second.unused
            known = bool(cuts) and (unused or cuts[-1][0] is last_cut(first))
            one.far = cuts[-1][2] if known else float("inf")
            # Values of other sizes are of parts that were read otherwise.
            alike = (far for cut, other, far in cuts if cut.array.size == other.array.size)
            if known and all(far <= self.bound for far in alike):
                one.findings = [finding for finding in one.findings if not finding.may_be_misread]
            one.unknown = next(((cut, other) for cut, other, far in cuts if not far <= self.bound), None)
            begins = first_lost(pair)
            if lost or begins is not None:
                one.without_what_is_behind(None if lost or begins is None else begins[1])
            if begins is not None and not lost:
                side, cut = begins
                self.notices.append(
                    f"the {cut.key} of {'AB'[side]} in {cut.path or 'the model'} are not all numbers: behind them only "
                    "weights are compared"
                )
                lost = True
        with_norms_of_the_stream(found)
        return found

    def _departures_of_one(self, own: tuple[Side, PortPart], other: tuple[Side, PortPart]) -> list[Departure]:
        """Return what one model departs in within a part, and the other one does not."""
        known = {(one.step, _slugs(one)) for one in self._within(*other)}
        return [one for one in self._within(*own) if (one.step, _slugs(one)) not in known]

    def _within(self, side: Side, part: PortPart) -> list[Departure]:
        places = [item.place for item in part.items]
        low, high = min(places, default=part.place), max(places, default=part.place)
        return [one for one in side.departures if low <= one.place <= high]

    # --- differences ---

    def _told(self, judged: Sequence[Judged], distance: float) -> tuple[list[Difference], list[Difference]]:
        """Return the differences that the results show, and those that they do not.

        Where the results are the same up to rounding, only what is read off exactly and may have so small an effect is
        held against the second model; a part that was recognised in one of them only is none of it.
        """
        equal, rounded = distance <= TIGHT, distance <= self.bound
        differences: list[Difference] = []
        inside: list[Difference] = []
        parted = False
        exchanged = {} if rounded else exchanged_layers(judged, self.first.parts)
        for one in judged:
            first, second = one.pair
            if exchanged and first is not None and (first.stack, first.layer) in exchanged:
                known = any(each.cause.name == EXCHANGED for each in differences)
                found = [] if known else [self._of_exchange(one, exchanged)]
                # What else differs in these layers does so whichever weights they have.
                kept = (each for each in one.findings if not each.harmless and not is_of_weights(each))
                found += [self._difference(one, each) for each in kept]
                found += [self._of_departure(one, item) for item in one.own if item.suspects]
                differences += found
                one.told, parted = tuple(each.step for each in found), True
                continue
            before = len(differences)
            if first is None or second is None:
                if not rounded and not self._is_read_otherwise(first, second):
                    (inside if not parted and self._joins(one, judged) else differences).append(
                        self._unmatched(one.pair)
                    )
                continue
            shown = [] if equal else [finding for finding in one.findings if self._shows(one, finding, parted=parted)]
            shown = [finding for finding in shown if finding.is_fine] if rounded else shown
            named = [item for item in one.own if item.suspects and item.step in _STRUCTURE]
            if named and any(finding.is_structure for finding in shown):
                shown = [finding for finding in shown if not finding.is_structure]
                differences += [self._of_departure(one, item) for item in named]
            for finding in one.findings:
                if finding in shown:
                    differences.append(self._difference(one, finding))
                elif not finding.is_layout and not (named and finding.is_structure):
                    inside.append(self._difference(one, finding))
            if equal and not one.findings and one.unknown is not None and one.unknown[0].key == "bias values":
                inside.append(self._of_values(one, *one.unknown))
            has_effect = not rounded and (parted or not one.far <= self.bound)
            if has_effect and not shown and not (named and any(finding.is_structure for finding in one.findings)):
                differences += [self._of_departure(one, item) for item in one.own]
                if not one.own:
                    differences += [self._of_departure_of_first(one, item) for item in one.own_a]
                if not parted and not one.own and not one.own_a and one.unknown is not None:
                    differences.append(self._of_values(one, *one.unknown))
            elif has_effect:
                # What is wrong at another step of the part, by itself, is not what was found.
                steps = {finding.item.step for finding in one.findings} | {item.step for item in named}
                others = [item for item in one.own if item.suspects and item.step not in steps]
                differences += [self._of_departure(one, item) for item in others]
            one.told = tuple(each.step for each in differences[before:])
            parted = parted or not one.far <= self.bound
        return differences, inside

    def _is_read_otherwise(self, first: PortPart | None, second: PortPart | None) -> bool:
        """Return whether a part that one of the two has was only not recognised in the other."""
        if first is not None:
            return is_used(first, self.used[1])
        return second is not None and is_used(second, self.used[0])

    def _shows(self, one: Judged, finding: Finding, *, parted: bool) -> bool:
        """Return whether what differs has an effect.

        As long as the values before are the same, those behind say it; behind the first place where they part, what
        nothing makes up for is taken to have one.
        """
        if finding.harmless:
            return False
        return parted or not one.far <= self.bound or (finding.is_fine and not one.far <= TIGHT)

    def _joins(self, one: Judged, judged: Sequence[Judged]) -> bool:
        """Return whether the values behind a part without a counterpart are the same again."""
        later = judged[judged.index(one) + 1 :]
        return any(other.far <= self.bound for other in later)

    def _difference(self, one: Judged, finding: Finding) -> Difference:
        cause = cause_of(finding)
        if finding.harmless:
            cause = Cause(cause.kind, cause.name, f"{cause.sentence}; {finding.harmless}", cause.confidence)
        step = finding.item.step
        own = next((item for item in one.own if item.step == step), None)
        own_a = one.departure_of_first(finding)
        if own_a is not None and own is None:
            cause = of_first_departing(cause, own_a)
        first, second = finding.first, finding.second
        if finding.cut_otherwise or finding.held:
            # The weights are the same, so that the code is the place.
            first, second = (replace(each, names=()) if isinstance(each, Weight) else each for each in (first, second))
        return replace(self._placed(one.pair, first, second, step, cause, own), own_a=own_a)

    def _of_exchange(self, one: Judged, exchanged: Mapping[Layer, int]) -> Difference:
        """Return that whole layers are exchanged, at the first weight that shows it."""
        moved = next(finding for finding in one.findings if finding.elsewhere is not None)
        cause = cause_of_exchange(exchanged, in_code=bool(moved.held))
        return self._placed(one.pair, moved.first, moved.second, moved.item.step, cause, None)

    def _of_departure(self, one: Judged, item: Departure) -> Difference:
        name = item.suspects[0].name if item.suspects else NO_NAME
        confidence = item.suspects[0].confidence if item.suspects else 0.0
        kind: CauseKind = "mistake" if item.suspects else "unknown"
        cause = Cause(kind, name, f"B: {item.sentence}", confidence, f"{item.path or 'the model'}: {change_of(item)}")
        first, second = one.pair
        found = self._placed(one.pair, None, None, item.step, cause, item)
        assert first is not None
        assert second is not None
        return Difference(**{**vars(found), "path_b": item.path, "file_b": item.file, "line_b": item.line})

    def _of_departure_of_first(self, one: Judged, item: Departure) -> Difference:
        where = one.pair[1].path if one.pair[1] is not None else ""
        cause = Cause.unknown("B does not do here what A does", f"{where}: do as A does")
        found = self._placed(one.pair, None, None, item.step, of_first_departing(cause, item), None)
        return replace(found, path_a=item.path, file_a=item.file, line_a=item.line, own_a=item)

    def _of_values(self, one: Judged, first: Cut, second: Cut) -> Difference:
        both = one.pair
        if first.key in ("weights", "heads output") and both[0] is not None and both[1] is not None:
            told = cause_of_weights(both[0], both[1])
            if told is not None:
                return self._placed(both, first, second, told.step, told.cause, None)
        cause = cause_of_values(first, second, known_before(self.pairs, both, first))
        return self._placed(both, first, second, first.step, cause, None)

    def _of_nothing_known(self) -> Difference:
        sentence = "the results differ, and no part that was recognised in both does"
        place_a, place_b = (side.flow.maker(side.trace.outputs[0]) or 0 for side in (self.first, self.second))
        return self._at("", place_a, "", place_b, None, "unembedding", "", Cause.unknown(sentence))

    def _ends_alike(self) -> bool:
        """Return whether the last values of the last parts are the same."""
        ends = [None if part is None else last_cut(part) for part in self.pairs[-1]] if self.pairs else [None, None]
        return ends[0] is not None and ends[1] is not None and apart(ends[0].array, ends[1].array) <= self.bound

    def _of_results(self) -> Difference:
        """Return what is done to the last values, which are the same, in one model only."""
        pair = self.pairs[-1]
        ends = [last_cut(part) if part is not None else None for part in pair]
        assert ends[0] is not None
        assert ends[1] is not None
        cause = cause_of_results(
            ends[0].array, self.first.outputs[0], self.second.outputs[0], pair[1].path if pair[1] else ""
        )
        found = self._placed(pair, ends[0], ends[1], "unembedding", cause, None)
        place_a, place_b = (side.flow.maker(side.trace.outputs[0]) or 0 for side in (self.first, self.second))
        (file_a, line_a), (file_b, line_b) = code_of(self.first.flow, place_a), code_of(self.second.flow, place_b)
        return replace(found, file_a=file_a, line_a=line_a, file_b=file_b, line_b=line_b)

    def _unmatched(self, pair: Pair) -> Difference:
        first, second = pair
        part = first or second
        assert part is not None
        if second is None:
            sentence = f"A has a part that B has not: {part.role} in {part.path or 'the model'}"
            change = f"add a part like A's {part.path or 'model'}: {part.role}"
        else:
            sentence = f"B has a part that A has not: {part.role} in {part.path or 'the model'}"
            change = f"leave out the {part.role} of {part.path or 'the model'}"
        cause = Cause("mistake", "unmatched", sentence, 1.0, change.replace("_", " ") if not part.path else change)
        steps: dict[str, StepName] = {"feed_forward": "feed_forward", "embedding": "embedding"}
        step = steps.get(part.role, "attention_output")
        return self._placed(pair, None, None, step, cause, None)

    def _placed(
        self,
        pair: Pair,
        item_a: Item | None,
        item_b: Item | None,
        step: StepName,
        cause: Cause,
        own: Departure | None,
    ) -> Difference:
        first, second = pair
        part = first or second
        assert part is not None
        path_a, place_a = _where(first, item_a)
        path_b, place_b = _where(second, item_b)
        return self._at(path_a, place_a, path_b, place_b, part.layer, step, part.role, cause, own)

    def _at(
        self,
        path_a: str,
        place_a: int,
        path_b: str,
        place_b: int,
        layer: int | None,
        step: StepName,
        role: str,
        cause: Cause,
        own: Departure | None = None,
    ) -> Difference:
        file_a, line_a = code_of(self.first.flow, place_a)
        file_b, line_b = code_of(self.second.flow, place_b)
        return Difference(path_a, path_b, layer, step, role, file_a, line_a, file_b, line_b, cause, own)


def _where(part: PortPart | None, item: Item | None) -> tuple[str, int]:
    if item is not None:
        return (item.names[0] if isinstance(item, Weight) and item.names else item.path), item.place
    return ("", 0) if part is None else (part.path, part.place)


def _is_departure(one: Difference) -> bool:
    """Return whether it was said of the second model alone."""
    return one.own is not None and one.cause.sentence == f"B: {one.own.sentence}"


def _slugs(one: Departure) -> tuple[str, ...]:
    return tuple(suspect.name for suspect in one.suspects)
