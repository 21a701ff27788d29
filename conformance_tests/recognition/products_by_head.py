"""Products of a stack of matrices, one for each head, rewritten as the one product that they are.

With y[b, h] = x[b] W[h] the input is repeated for each head and the matrices for each sample. That is the product of x
with all matrices side by side, whose columns are dealt out to the heads afterwards; and a sum over the heads of
z[b, h] W[h] is the product of what stands side by side in z with the matrices on top of each other. Reading starts from
such whole products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import canonical_factors, factors
from veriformer.conformance_tests.recognition.tracking import places

# So many samples and heads at most are compared with each other.
_MOST = 1024


def with_whole_products(trace: Trace) -> Trace:
    """Return a record in which products by head are whole ones; the same one where it has none."""
    flow = Flow(trace)
    rewriting = _Rewriting(flow)
    for index in range(len(trace.steps)):
        stack = _stack(flow, index)
        if _is_pointwise(flow, index):
            rewriting.turn(index)
        elif stack is None:
            rewriting.add_bias_first(index)
        elif stack.is_repeated:
            rewriting.deal_out(index, stack)
        else:
            rewriting.sum_up(index, stack)
    return rewriting.trace() if rewriting.instead else trace


@dataclass(frozen=True, eq=False)
class _Stack:
    """A product (samples · heads, rows, columns) of vectors and matrices; `sample` and `head` say which is where.

    `vectors` are (samples · heads, rows, width), `matrices` (heads, columns, width), `result` has the axes of the
    product. `is_repeated` says that all heads have the same vectors.
    """

    moving: int
    fixed: int
    vectors: Array
    matrices: Array
    result: Array
    sample: Array
    head: Array
    is_repeated: bool

    @property
    def by_head(self) -> Array:
        """The result as (samples, rows, heads · columns)."""
        samples, heads = int(self.sample.max()) + 1, int(self.head.max()) + 1
        found = np.empty((samples, heads, *self.result.shape[1:]))
        found[self.sample, self.head] = self.result
        return np.ascontiguousarray(found.swapaxes(1, 2)).reshape(samples, self.result.shape[1], -1)


def _stack(flow: Flow, index: int) -> _Stack | None:
    step = flow.steps[index]
    if step.kind != Kind.CONTRACTION or len(step.operands) != 2 or not any(step.attributes.get("parallel", ())):
        return None
    values, sides = factors(step), canonical_factors(flow, step)
    fixed = [place for place, one in enumerate(values) if flow.is_fixed(one)]
    if sides is None or len(fixed) != 1 or not flow.depends_on_parameters(values[fixed[0]]):
        return None
    count = int(np.prod([flow.shape(values[0])[axis] for axis in step.attributes["parallel"][0]]))
    if not 1 < count <= _MOST:
        return None
    matrices, vectors = (_stacked(sides[place], step, place, count) for place in (fixed[0], 1 - fixed[0]))
    result = flow.array(step.results[0]).reshape(
        count, *(len(one[0]) for one in _in_order(matrices, vectors, fixed[0]))
    )
    result = result if fixed[0] == 1 else result.swapaxes(1, 2)
    head, sample = _labels(matrices), _labels(vectors)
    is_repeated = int(sample.max()) + 1 < count
    if int(head.max()) == 0:
        return None
    if not is_repeated:
        # Matrices are repeated for each sample, in turn.
        sample = np.array([int((head[:place] == head[place]).sum()) for place in range(count)])
    heads, samples = int(head.max()) + 1, int(sample.max()) + 1
    if heads * samples != count or len(np.unique(sample * heads + head)) != count:
        return None
    first = [int(np.flatnonzero(head == one)[0]) for one in range(heads)]
    return _Stack(values[1 - fixed[0]], values[fixed[0]], vectors, matrices[first], result, sample, head, is_repeated)


def _in_order(matrices: Array, vectors: Array, fixed: int) -> tuple[Array, Array]:
    return (vectors, matrices) if fixed == 1 else (matrices, vectors)


def _stacked(side: Array, step: Step, place: int, count: int) -> Array:
    """Return a factor as (parallel, own, contracted)."""
    summed = len(step.attributes["contracted"][place])
    width = int(np.prod(side.shape[side.ndim - summed :]))
    return np.ascontiguousarray(side).reshape(count, -1, width)


def _labels(stack: Array) -> Array:
    """Return which of the different ones each is, numbered as they come."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(one.tobytes(), len(numbers)) for one in stack])


def _is_pointwise(flow: Flow, index: int) -> bool:
    """Return whether a step is a convolution of width one over (samples, channels, positions): a product for each."""
    step = flow.steps[index]
    if step.kind != Kind.CONTRACTION or "contracted" in step.attributes or not 2 <= len(step.operands) <= 3:
        return False
    inputs, kernel, *bias = (flow.array(one) for one in step.operands)
    result = flow.array(step.results[0])
    if inputs.ndim != 3 or kernel.ndim != 3 or kernel.shape[2] != 1 or kernel.shape[1] != inputs.shape[1]:
        return False
    if flow.is_fixed(step.operands[0]) or not flow.is_fixed(step.operands[1]):
        return False
    expected = kernel[..., 0] @ inputs + (bias[0].reshape(-1, 1) if bias else 0.0)
    return expected.shape == result.shape and agree(result, expected)


class _Rewriting:
    """New steps in place of some of a record."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.values = list(flow.trace.values)
        self.instead: dict[int, list[Step]] = {}

    def trace(self) -> Trace:
        """Return the record with what was rewritten."""
        steps = [new for index, step in enumerate(self.flow.steps) for new in self.instead.get(index, [step])]
        return replace(self.flow.trace, values=tuple(self.values), steps=tuple(steps))

    def deal_out(self, index: int, stack: _Stack) -> None:
        """Multiply each vector once with all matrices side by side, and deal the columns out."""
        source = self._source(stack)
        if source is None:
            return
        step, width = self.flow.steps[index], stack.vectors.shape[-1]
        shape = (*self.flow.shape(source)[:-1], stack.by_head.shape[-1])
        columns = self._rearranged(step, stack.fixed, stack.matrices.reshape(-1, width).T)
        product = self._added(stack.by_head.reshape(shape))
        axes = MappingProxyType({"factors": (0, 1), "contracted": ((len(shape) - 1,), (0,)), "parallel": ((), ())})
        steps = [columns[1], replace(step, operands=(source, columns[0]), results=(product,), attributes=axes)]
        biased = self._biased(index, stack, product, shape)
        if biased is None:
            steps.append(_moving(step, product, step.results[0]))
        else:
            # What the product was before its bias is used nowhere else.
            where, bias_steps, total = biased
            self.instead[where] = [*bias_steps, _moving(step, total, self.flow.steps[where].results[0])]
        self.instead[index] = steps

    def _source(self, stack: _Stack) -> int | None:
        """Return the value whose rows are those of the vectors, each once."""
        first = [int(np.flatnonzero(stack.sample == one)[0]) for one in range(int(stack.sample.max()) + 1)]
        rows = stack.vectors[first].reshape(-1, stack.vectors.shape[-1])
        found, value = None, stack.moving
        for _ in range(8):
            array = self.flow.array(value)
            if array.size == rows.size and array.shape[-1:] == rows.shape[-1:]:
                # The first of those that are alike has no axis for the heads yet.
                found = value if np.array_equal(array.reshape(rows.shape), rows) else found
            made = self.flow.making(value)
            if made is None or made.kind != Kind.REARRANGEMENT or len(made.operands) != 1:
                break
            value = made.operands[0]
        return found

    def _biased(
        self, index: int, stack: _Stack, product: int, shape: tuple[int, ...]
    ) -> tuple[int, list[Step], int] | None:
        """Return the step that adds a bias to each head, the steps in its place, and their last value."""
        users = self._only_user(self.flow.steps[index].results[0], in_order=True)
        other = None if users is None else self._other_term(*users)
        if users is None or other is None:
            return None
        value, where = users
        step = self.flow.steps[where]
        added = np.broadcast_to(self.flow.array(other), self.flow.shape(value))
        by_head = replace(stack, result=np.ascontiguousarray(added).reshape(stack.result.shape)).by_head
        if self._turned(stack, index) or (by_head != by_head[:1, :1]).any():
            return None
        bias, moved = self._rearranged(step, other, by_head[0, 0])
        total = self._added(self.values[product].array + self.values[bias].array)
        return where, [moved, replace(step, operands=(product, bias), results=(total,))], total

    def turn(self, index: int) -> None:
        """Put the channels of a convolution of width one last, as those of any other projection are."""
        step = self.flow.steps[index]
        moving, kernel, *bias = step.operands
        turned, moved = self._rearranged(step, moving, self.flow.array(moving).swapaxes(1, 2))
        matrix, cut = self._rearranged(step, kernel, self.flow.array(kernel)[..., 0].T)
        result = np.ascontiguousarray(self.flow.array(step.results[0]).swapaxes(1, 2))
        axes = MappingProxyType({"factors": (0, 1), "contracted": ((2,), (0,)), "parallel": ((), ())})
        product = self._added(result)
        whole = replace(step, operands=(turned, matrix, *bias), results=(product,), attributes=axes)
        self.instead[index] = [moved, cut, whole, _moving(step, product, step.results[0])]

    def add_bias_first(self, index: int) -> None:
        """Add the bias of a projection before its result is rearranged, where the model adds it afterwards."""
        step = self.flow.steps[index]
        if step.kind != Kind.CONTRACTION or "contracted" not in step.attributes or len(step.operands) != 2:
            return
        product, values = step.results[0], factors(step)
        place = next((place for place, one in enumerate(values) if self.flow.is_fixed(one)), None)
        if place is None or self.flow.is_fixed(values[1 - place]) or not self.flow.depends_on_parameters(values[place]):
            return
        users = self._only_user(product, in_order=False)
        if users is None or users[0] == product:
            return
        value, where = users
        if np.array_equal(self.flow.array(value).ravel(), self.flow.array(product).ravel()):
            return
        bias = self._other_term(value, where)
        found = None if bias is None else places(self.flow.array(product), self.flow.array(value))
        if bias is None or found is None:
            return
        before = np.empty(self.flow.shape(product))
        before.ravel()[found.ravel()] = np.broadcast_to(self.flow.array(bias), found.shape).ravel()
        own = len(self.flow.shape(values[place])) - len(step.attributes["contracted"][place])
        plain, shifts = (_with_last(array, own, place) for array in (self.flow.array(product), before))
        rows = shifts.reshape(-1, *shifts.shape[shifts.ndim - own :])
        if (rows != rows[:1]).any():
            return
        total = self.flow.steps[where]
        if place == 0:
            # The components come last, as in any other projection.
            self.instead[index] = [_with_factors_exchanged(step, product := self._added(plain))]
        vector, moved = self._rearranged(total, bias, rows[0])
        added = self._added(plain + rows[0])
        self._leave_out_between(step.results[0], value)
        self.instead[where] = [
            moved,
            replace(total, operands=(product, vector), results=(added,)),
            _moving(total, added, total.results[0]),
        ]

    def _leave_out_between(self, start: int, end: int) -> None:
        """Leave out the steps that rearrange one value to another, which nothing else uses."""
        while end != start:
            made = self.flow.maker(end)
            if made is None:
                return
            self.instead[made] = []
            end = self.flow.steps[made].operands[0]

    def _other_term(self, value: int, where: int) -> int | None:
        """Return what is added to a value by a step, if it is fixed and made of parameters and as large at most."""
        step = self.flow.steps[where]
        others = [one for one in step.operands if one != value]
        if step.kind != Kind.ADDITION or len(others) != 1 or not self.flow.is_fixed(others[0]):
            return None
        if not self.flow.depends_on_parameters(others[0]):
            return None
        try:
            np.broadcast_to(self.flow.array(others[0]), self.flow.shape(value))
        except ValueError:
            return None
        return others[0]

    def _turned(self, stack: _Stack, index: int) -> bool:
        """Return whether the matrices come first in the product, so that its axes are exchanged."""
        return factors(self.flow.steps[index])[0] == stack.fixed

    def _only_user(self, value: int, *, in_order: bool) -> tuple[int, int] | None:
        """Return the one step that computes with a value, and what the value was rearranged to before.

        With `in_order` its numbers must have kept their order.
        """
        for _ in range(4):
            users = self.flow.users(value)
            if len(users) != 1 or value in self.flow.trace.outputs:
                return None
            step = self.flow.steps[users[0]]
            if step.kind != Kind.REARRANGEMENT or len(step.results) != 1:
                return value, users[0]
            seen = self.flow.array(step.results[0])
            if seen.size != self.flow.array(value).size:
                return None
            if in_order and (seen.ravel() != self.flow.array(value).ravel()).any():
                return None
            value = step.results[0]
        return None

    def sum_up(self, index: int, stack: _Stack) -> None:
        """Multiply what stands side by side in the heads with the matrices on top of each other.

        A bias that is added to each head before the sum is added as many times as there are heads.
        """
        users = self._only_user(self.flow.steps[index].results[0], in_order=False)
        if users is None or self._turned(stack, index):
            return
        own = self._other_term(*users)
        last = users if own is None else self._only_user(self.flow.steps[users[1]].results[0], in_order=False)
        if last is None:
            return
        total = self.flow.steps[last[1]]
        samples, heads = int(stack.sample.max()) + 1, len(stack.matrices)
        summed = stack.by_head.reshape(samples, -1, heads, stack.matrices.shape[1]).sum(axis=2)
        shift = np.zeros(1) if own is None else self._over_heads(own, heads, summed.shape[-1])
        result = self.flow.array(total.results[0])
        if shift is None or result.size != summed.size or not agree(result.reshape(summed.shape), summed + shift):
            return
        side_by_side = replace(stack, result=stack.vectors).by_head
        merged = self._rearranged(total, stack.moving, side_by_side)
        # (heads, columns, width) to (heads · width, columns).
        matrix = self._rearranged(total, stack.fixed, np.concatenate(list(stack.matrices.swapaxes(1, 2))))
        axes = MappingProxyType({"factors": (0, 1), "contracted": ((2,), (0,)), "parallel": ((), ())})
        whole_sum = result.reshape(*side_by_side.shape[:2], -1)
        product = self._added(whole_sum if own is None else whole_sum - shift)
        step = self.flow.steps[index]
        steps = [
            merged[1],
            matrix[1],
            replace(step, operands=(merged[0], matrix[0]), results=(product,), attributes=axes),
        ]
        if own is not None:
            bias, product_alone, product = self._added(shift), product, self._added(whole_sum)
            steps += [
                replace(total, operation="summed over heads", kind=Kind.OTHER, operands=(own,), results=(bias,)),
                replace(total, kind=Kind.ADDITION, operands=(product_alone, bias), results=(product,)),
            ]
            self.instead[users[1]] = []
        self.instead[index] = []
        self.instead[last[1]] = [*steps, _moving(total, product, total.results[0])]

    def _over_heads(self, bias: int, heads: int, width: int) -> Array | None:
        """Return the sum of a bias over all heads, whether each has its own or all have the same."""
        array = self.flow.array(bias)
        if array.size == width:
            return heads * array.ravel()
        return array.reshape(heads, width).sum(axis=0) if array.size == heads * width else None

    def _rearranged(self, step: Step, value: int, array: Array) -> tuple[int, Step]:
        """Return a value that has some numbers of another one, and the step that makes it."""
        made = self._added(np.ascontiguousarray(array))
        return made, _moving(step, value, made)

    def _added(self, array: Array) -> int:
        self.values.append(Value(array, "step"))
        return len(self.values) - 1


def _with_last(array: Array, own: int, place: int) -> Array:
    """Return a product with the axes of its second factor, or of its first one, last."""
    return array if place == 1 else np.ascontiguousarray(np.moveaxis(array, range(own), range(-own, 0)))


def _with_factors_exchanged(step: Step, product: int) -> Step:
    """Return a contraction whose second factor is the first one, which changes the order of the product's axes."""
    first, second = step.attributes.get("factors", (0, 1))
    contracted, parallel = (tuple(step.attributes[name][::-1]) for name in ("contracted", "parallel"))
    exchanged = {**step.attributes, "factors": (second, first), "contracted": contracted, "parallel": parallel}
    return replace(step, results=(product,), attributes=MappingProxyType(exchanged))


def _moving(step: Step, value: int, result: int) -> Step:
    return replace(
        step,
        operation="rearranged by head",
        kind=Kind.REARRANGEMENT,
        operands=(value,),
        results=(result,),
        attributes=MappingProxyType({}),
    )
