"""Reads the values of a pass as parts of a Transformer: sums, norms and activations of what was read before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.recognition.agreement import agree, unit_of
from veriformer.conformance_tests.recognition.conditioning import condition_in, waves_of
from veriformer.conformance_tests.recognition.elementwise import activation_of, factor_of, limits_of, shift_of
from veriformer.conformance_tests.recognition.expressions import (
    Activated,
    Attended,
    Condition,
    Embedded,
    Expression,
    Fixed,
    Gated,
    Limited,
    Norm,
    Output,
    Product,
    Scaled,
    Shifted,
    Sum,
    Taken,
    Unknown,
    Waves,
)
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import Maps
from veriformer.conformance_tests.recognition.mistaken import mistaken_norm
from veriformer.conformance_tests.recognition.norms import FoundNorm, norm_of
from veriformer.conformance_tests.recognition.sites import Site

# A norm or an activation written out takes fewer steps than this.
_LONGEST = 32
_MOST_IN_VAIN = 4


# A value, the norm that leads from it, and the vectors that its gain and shift are among.
_Start = tuple[int, FoundNorm, list[int]]


class Reader:
    """Reads values; what was read once is kept."""

    def __init__(self, flow: Flow, maps: Maps, sites: Sequence[Site]) -> None:
        self.flow = flow
        self.maps = maps
        self.sites = sites
        self._read: dict[int, Expression] = {}
        # How often a line of code in a module has been no norm with a known mistake.
        self._in_vain: Counter[tuple[str, str, int, str]] = Counter()

    @cached_property
    def _site_by_output(self) -> dict[int, Site]:
        return {site.output_value: site for site in self.sites}

    @cached_property
    def _lookup_by_output(self) -> dict[int, object]:
        return {one.output: one for one in self.maps.lookups}

    def read(self, value: int) -> Expression:
        """Return what a value is."""
        source = self.flow.source(value)
        if source not in self._read:
            self._read[source] = self._reading(source)
        return self._read[source]

    def _reading(self, value: int) -> Expression:
        if not self.flow.array(value).size:
            # Without a number there is nothing to be read: no token was sent here.
            return Unknown(value, ())
        if value in self.maps.by_output:
            return Output(value, self.maps.by_output[value])
        for lookup in self.maps.lookups:
            if lookup.output == value:
                return Embedded(value, lookup)
        if self.flow.is_fixed(value):
            return Fixed(value)
        if value in self._site_by_output:
            return Attended(value, (self._site_by_output[value],))
        step = self.flow.making(value)
        if step is None:
            return Unknown(value, ())
        if step.kind in (Kind.REARRANGEMENT, Kind.LOOKUP):
            return self._waves(value) or self._taken(value, step)
        return (
            self._conditioned(value, step)
            or self._sum_of_two(value, step)
            or self._scaled(value, step)
            or self._norm(value)
            or self._activation(value)
            or self._times_vector(value, step)
            or self._moved(value, step)
            or self._product(value, step)
            or self._sum_with_unknown(value, step)
            or self._sum_with_fixed(value, step)
            or self._mistaken_norm(value)
            or self._sum(value, step)
            or self._waves(value)
            or Unknown(value, tuple(self.read(one) for one in self._moving(step)))
        )

    def _moving(self, step: Step) -> list[int]:
        floats = [one for one in dict.fromkeys(step.operands) if self.flow.array(one).dtype.kind == "f"]
        return [one for one in floats if self.flow.depends_on_input(one)]

    def _taken(self, value: int, step: Step) -> Expression:
        # What is joined with an array without numbers, as with an empty cache, is what it was.
        floats = [one for one in step.operands if self.flow.array(one).dtype.kind == "f" and self.flow.array(one).size]
        parts = tuple(self.read(one) for one in floats)
        if parts and all(isinstance(part, Attended) for part in parts):
            return Attended(value, tuple(site for part in parts if isinstance(part, Attended) for site in part.sites))
        return Taken(value, parts)

    def _conditioned(self, value: int, step: Step) -> Expression | None:
        """Return a part whose vectors are multiplied or moved, in each sample, by a vector that another map gives."""
        found = condition_in(self.flow, self._moving(step), value)
        if found is None:
            return None
        of, gain, shift = (None if one is None else self.read(one) for one in found)
        if of is None or isinstance(of, Unknown) or not all(one is None or _is_given(one) for one in (gain, shift)):
            return None
        if isinstance(of, Norm):
            has_gain = of.given_gain is not None
            if (gain is not None and has_gain) or (shift is not None and (of.given_shift or not (gain or has_gain))):
                return None
            return replace(
                of,
                value=value,
                given_gain=of.given_gain if gain is None else Condition(gain),
                given_shift=of.given_shift if shift is None else Condition(shift),
            )
        return Gated(value, of, Condition(gain)) if gain is not None and shift is None else None

    def _times_vector(self, value: int, step: Step) -> Expression | None:
        """Return a map's output that is multiplied by a learned vector, as LayerScale does it before the sum."""
        moving = self._moving(step)
        fixed = [one for one in step.operands if one not in moving]
        shape = self.flow.shape(value)
        if len(moving) != 1 or len(fixed) != 1 or not shape or not self._same_size(moving, value):
            return None
        vector = self.flow.array(fixed[0])
        if vector.dtype.kind != "f" or vector.size != shape[-1] or not self.flow.depends_on_parameters(fixed[0]):
            return None
        of = self.read(moving[0])
        before = self.flow.array(moving[0]).reshape(shape)
        unit = max(self.flow.unit(one) for one in (*moving, value))
        if not isinstance(of, Output) or not agree(self.flow.array(value), before * vector.ravel(), unit):
            return None
        return Gated(value, of, Condition(self.read(fixed[0])))

    def _waves(self, value: int) -> Expression | None:
        """Return sines and cosines of what the model was handed, one number for each sample."""
        for start in self._numbers_of_vectors(value):
            found = waves_of(self.flow.array(start), self.flow.array(value))
            if found is not None:
                return Waves(value, *found)
        return None

    def _numbers_of_vectors(self, value: int) -> Iterator[int]:
        """Yield the inputs of the model that have one number for each vector of a value."""
        width = self.flow.shape(value)[-1] if self.flow.shape(value) else 0
        behind = self.flow.ancestors(value) if width else {}
        for one in self.flow.trace.inputs:
            if one in behind and self.flow.array(one).size * width == self.flow.array(value).size:
                yield one

    def _sum_of_two(self, value: int, step: Step) -> Expression | None:
        """Return a sum of two values of the pass that are read as parts themselves, as a residual is."""
        moving = self._moving(step)
        if step.kind != Kind.ADDITION or len(moving) != 2 or not self._same_size(moving, value):
            return None
        for one, other in (moving, moving[::-1]):
            if not self.flow.array(other).any():
                # What was multiplied by zero is no term.
                return self.read(one)
        terms = [self.read(one) for one in moving]
        if any(isinstance(term, Unknown) for term in terms):
            return None
        # A norm may be written as x · s + (shift − mean · s), whose terms are no norms by themselves.
        norm = self._norm(value) if any(isinstance(term, Norm) and term.kind == "norm" for term in terms) else None
        return norm or Sum(value, _flat(terms))

    def _sum_with_unknown(self, value: int, step: Step) -> Expression | None:
        """Return a sum of a part and something unknown, such as the stream and a mixture of experts."""
        moving = self._moving(step)
        if step.kind != Kind.ADDITION or len(moving) != 2 or not self._same_size(moving, value):
            return None
        terms = [self.read(one) for one in moving]
        return None if all(isinstance(term, Unknown) for term in terms) else Sum(value, _flat(terms))

    def _sum_with_fixed(self, value: int, step: Step) -> Expression | None:
        """Return a sum to which a table is added, as positions are; what is added to a part may be its shift."""
        moving = self._moving(step)
        is_sum = step.kind == Kind.ADDITION and len(moving) == 1 and isinstance(self.read(moving[0]), Sum)
        return self._sum(value, step) if is_sum else None

    def _sum(self, value: int, step: Step) -> Expression | None:
        if step.kind != Kind.ADDITION:
            return None
        terms = [self.read(one) for one in step.operands if self.flow.array(one).dtype.kind == "f"]
        if len(terms) != 2:
            return None
        for total, added in (terms, terms[::-1]):
            if isinstance(total, Sum) and self._is_late_bias(added, value) and isinstance(total.terms[-1], Output):
                return Sum(value, total.terms)
        return Sum(value, _flat(terms))

    def _is_late_bias(self, added: Expression, value: int) -> bool:
        """Return whether one vector of parameters is added to all positions: `x + h @ w + b` adds its bias last."""
        vector, shape = self.flow.array(added.value), self.flow.shape(value)
        one_row = isinstance(added, Fixed) and vector.ndim > 0 and vector.size == shape[-1]
        return one_row and self.flow.depends_on_parameters(added.value)

    def _same_size(self, values: Sequence[int], value: int) -> bool:
        return all(self.flow.array(one).size == self.flow.array(value).size for one in values)

    def candidates(self, value: int) -> Iterator[int]:
        """Yield the values of the same size that a value is made from, the farthest first, up to the last map."""
        stops = set(self.maps.by_output) | {one.output for one in self.maps.lookups} | set(self._site_by_output)
        size = self.flow.array(value).size
        near = self.flow.ancestors(value, stop=lambda one: one in stops)
        ranked = sorted(near.items(), key=lambda item: -item[1])
        for one, steps in ranked:
            array = self.flow.array(one)
            fits = 0 < steps <= _LONGEST and array.size == size and array.dtype.kind == "f"
            if fits and self.flow.depends_on_input(one):
                yield one

    def vectors_between(self, start: int, end: int) -> list[int]:
        """Return the fixed vectors that act on the way from one value to another, as gains and shifts do."""
        width = self.flow.shape(end)[-1] if self.flow.shape(end) else 0
        found: dict[int, None] = {}
        for index in self.flow.between(start, end):
            for one in self.flow.steps[index].operands:
                array = self.flow.array(one)
                if array.dtype.kind == "f" and array.size == width and self.flow.is_fixed(one):
                    found.setdefault(one)
        return list(found)

    def _norm(self, value: int) -> Expression | None:
        found = list(self._norms(value))
        if not found:
            return None
        start, norm, vectors = self._likeliest(found)
        gain = None if norm.gain is None else vectors[norm.gain]
        shift = None if norm.shift is None else vectors[norm.shift]
        one_plus = gain is not None and self._is_one_plus(gain)
        of = self.read(start)
        unread = isinstance(of, Unknown) and start not in self.flow.trace.inputs
        if unread or (isinstance(of, Norm) and of.kind == "norm"):
            # A norm of what is no part may be a mistaken norm of a part; of the same value the right norm says more.
            mistaken = self._mistaken_norm(value)
            said = None if mistaken is None or mistaken.of.value == of.value else mistaken.mistake
            # With its own eps it is right, whatever the norms before it have.
            if mistaken is not None and said is not None and said.decision != "eps_value":
                return mistaken
        return Norm(value, self.read(start), norm.kind, norm.eps, norm.placement, gain, shift, one_plus)

    def _likeliest(self, found: Sequence[_Start]) -> _Start:
        """Return the norm of the nearest value that is a part itself.

        A vector whose mean was taken off, or one before a factor, has the same norm but for eps, which rounding may
        hide; so has a vector that was divided by its size and not yet multiplied by the gain.
        """
        usual = [one for one in found if one[1].eps is None or float(f"{one[1].eps:.0e}") == one[1].eps] or found
        for start in reversed(usual):
            of = self.read(start[0])
            if not isinstance(of, Unknown) and not _is_unfinished_norm(of):
                return start
        return usual[0]

    def _norms(self, value: int) -> Iterator[_Start]:
        whole = self.flow.array(value)
        if whole.ndim < 1 or whole.shape[-1] < 2:
            return
        rows = whole.reshape(-1, whole.shape[-1])
        for start in self.candidates(value):
            vectors = self.vectors_between(start, value)
            before = self.flow.array(start).reshape(rows.shape)
            if len(vectors) > 4:
                continue
            norm = norm_of(
                before, rows, [self.flow.array(one).ravel() for one in vectors], self.flow.unit_between(start, value)
            )
            if norm is not None:
                yield start, norm, vectors

    def _mistaken_norm(self, value: int) -> Norm | None:
        """Return a norm with a mistake in it: of a part, by a vector of parameters or a size taken of each row.

        A line that a loop runs again and again, and that has been none, is none.
        """
        step = self.flow.making(value)
        line = ("", "", 0, "") if step is None else (step.module, step.file, step.line, step.operation)
        if line[1] and self._in_vain[line] >= _MOST_IN_VAIN:
            return None
        found = self._norm_with_mistake(value)
        self._in_vain[line] += found is None or found.mistake is None
        return found

    def _norm_with_mistake(self, value: int) -> Norm | None:
        shape = self.flow.shape(value)
        if len(shape) < 2 or shape[-1] < 2:
            return None
        unnamed: Norm | None = None
        for start in reversed(list(self.candidates(value))):
            of = self.read(start)
            if isinstance(of, Norm) and of.kind != "norm" and of.mistake is None and not isinstance(of.of, Unknown):
                # What is done to a right norm afterwards, such as hiding padding, is no norm again.
                return unnamed
            given = start in self.flow.trace.inputs
            if (isinstance(of, Unknown) and not given) or (
                isinstance(of, Output) and self.flow.shape(start)[-1:] != shape[-1:]
            ):
                continue
            vectors = self.vectors_between(start, value)
            if len(vectors) > 2 or not self._takes_sizes(start, value):
                continue
            found = self._with_mistake(value, start, of, vectors)
            if found.mistake is not None:
                return found
            # What a model does to its own input is a norm only where its formula is known.
            unnamed = unnamed or (None if given else found)
        return unnamed

    def _takes_sizes(self, start: int, value: int) -> bool:
        """Return whether something smaller than the vectors is computed on the way, such as their sizes."""
        size = self.flow.array(value).size
        for index in self.flow.between(start, value):
            step = self.flow.steps[index]
            made = [self.flow.array(one) for one in step.results]
            # Zeros that are put in are no sizes.
            if step.kind == Kind.OTHER and any(
                0 < one.size < size and one.dtype.kind == "f" and one.any() for one in made
            ):
                return True
        return False

    def _with_mistake(self, value: int, start: int, of: Expression, vectors: Sequence[int]) -> Norm:
        before, after = self.flow.array(start), self.flow.array(value).reshape(self.flow.shape(start))
        arrays = [self.flow.array(one).ravel() for one in vectors]
        found = mistaken_norm(before, after, arrays, self.flow.unit_between(start, value), self._eps_seen())
        gain = vectors[0] if vectors else None
        shift = vectors[1] if len(vectors) > 1 else None
        if found is None:
            return Norm(value, of, "norm", None, "", gain, shift)
        return Norm(value, of, found.kind, found.eps, "inside_root", gain, shift, mistake=found.named)

    def _eps_seen(self) -> list[float]:
        """Return the values of eps of the norms that were read so far."""
        norms = [one for one in self._read.values() if isinstance(one, Norm)]
        return list(dict.fromkeys(one.eps for one in norms if one.eps is not None))

    def _is_one_plus(self, gain: int) -> bool:
        """Return whether a gain is one more than its parameter."""
        names = self.flow.parameters_of(gain)
        if len(names) != 1:
            return False
        parameter = self.flow.array(self.flow.trace.parameters[names[0]]).ravel()
        return agree(self.flow.array(gain).ravel(), 1.0 + parameter, unit_of(self.flow.array(gain)))

    def _activation(self, value: int) -> Expression | None:
        result = self.flow.array(value)
        for start in self.candidates(value):
            before = self.flow.array(start)
            name = activation_of(before, result, self.flow.unit_between(start, value))
            if name is not None:
                return Activated(value, self.read(start), name)
        return None

    def _product(self, value: int, step: Step) -> Expression | None:
        moving = self._moving(step)
        if len(moving) != 2 or not self._same_size(moving, value):
            return None
        first, second = (self.flow.array(one).reshape(self.flow.shape(value)) for one in moving)
        if not agree(self.flow.array(value), first * second, max(self.flow.unit(one) for one in (*moving, value))):
            return None
        return Product(value, self.read(moving[0]), self.read(moving[1]))

    def _moved(self, value: int, step: Step) -> Expression | None:
        """Return a value that a number was added to, or that was cut off at limits."""
        moving = self._moving(step)
        if len(moving) != 1 or not self._same_size(moving, value):
            return None
        before, after = self.flow.array(moving[0]), self.flow.array(value)
        limits = limits_of(before, after)
        if limits is not None:
            return Limited(value, self.read(moving[0]), *limits)
        amount = shift_of(before, after, max(self.flow.unit(one) for one in (moving[0], value)))
        return None if amount is None else Shifted(value, self.read(moving[0]), amount)

    def _scaled(self, value: int, step: Step) -> Expression | None:
        moving = self._moving(step)
        if len(moving) != 1:
            return None
        before, after = self.flow.array(moving[0]), self.flow.array(value)
        if np.array_equal(before, after):
            return self.read(moving[0])
        factor = factor_of(before, after, max(self.flow.unit(one) for one in (moving[0], value)))
        if factor is None:
            return None
        of = self.read(moving[0])
        # The last step of an activation may be a factor: x · (1 + erf(x / √2)), halved.
        activation = self._activation(value) if isinstance(of, Product | Unknown) else None
        return activation or self._finished_norm(value, of) or Scaled(value, of, factor)

    def _finished_norm(self, value: int, of: Expression) -> Norm | None:
        """Return the right norm that one with a mistake becomes by a factor: x · γ / |x|, times √D."""
        if not isinstance(of, Norm) or (of.mistake is None and of.kind != "norm"):
            return None
        found = self._norm(value)
        return found if isinstance(found, Norm) and found.mistake is None and found.kind != "norm" else None


def _is_given(expression: Expression) -> bool:
    """Return whether a map gives something, as it is, cut out, or moved by a number: the stream's own parts are not."""
    while isinstance(expression, Shifted | Scaled | Activated | Taken):
        if isinstance(expression, Taken):
            if len(expression.of) != 1:
                return False
            expression = expression.of[0]
        else:
            expression = expression.of
    return isinstance(expression, Output | Sum)


def _is_unfinished_norm(expression: Expression) -> bool:
    """Return whether vectors were divided by their sizes, and perhaps multiplied by a number, and by no gain yet."""
    while isinstance(expression, Scaled):
        expression = expression.of
    return isinstance(expression, Norm) and expression.gain is None


def _flat(terms: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(one for term in terms for one in (term.terms if isinstance(term, Sum) else (term,)))


def describe(expression: Expression) -> str:
    """Return an expression in one line, for people who debug the reading."""
    match expression:
        case Embedded(lookup=lookup):
            return f"rows of {', '.join(lookup.names)}"
        case Fixed():
            return "fixed"
        case Output(map=one):
            return one.label
        case Sum(terms=terms):
            return "(" + " + ".join(map(describe, terms)) + ")"
        case Norm(of=of, kind=kind, eps=eps):
            return f"{kind}[{eps}]({describe(of)})"
        case Activated(of=of, name=name):
            return f"{name}({describe(of)})"
        case Product(first=first, second=second):
            return f"{describe(first)}·{describe(second)}"
        case Scaled(of=of, factor=factor):
            return f"{factor:.4g}·{describe(of)}"
        case Gated(of=of, by=by):
            return f"{describe(of)}·[{describe(by.of)}]"
        case Waves(layout=layout, base=base):
            return f"waves[{layout}, {base:.4g}]"
        case Shifted(of=of, amount=amount):
            return f"({describe(of)} + {amount:.4g})"
        case Limited(of=of, low=low, high=high):
            return f"limited[{low}, {high}]({describe(of)})"
        case Taken(of=parts):
            return f"some of {', '.join(map(describe, parts))}"
        case Attended(sites=sites):
            return f"attention at {', '.join(str(site.first_step) for site in sites)}"
        case Unknown(of=parts):
            return f"unknown({', '.join(map(describe, parts))})"
    return "?"
