"""Products of what two towers give, as CLIP returns them for each pair of an image and a text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.expressions import Expression, Norm, Scaled, Unknown
from veriformer.conformance_tests.recognition.findings import Part, Status
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.other_maps import source_in_words
from veriformer.conformance_tests.recognition.streams import leaves

_NEAR = 1e-5
# The exponential of more overflows.
_LARGEST = 700.0


@dataclass(frozen=True)
class Similarity:
    """A result (n, m) that is the product of the vectors (n, D) and (m, D); `step` multiplies them."""

    step: int
    first: Expression
    second: Expression

    @property
    def is_understood(self) -> bool:
        """Whether both vectors were read, up to their sizes."""
        return not any(_is_unknown(one) for one in (self.first, self.second))


def _is_unknown(read: Expression) -> bool:
    while isinstance(read, Scaled):
        read = read.of
    return isinstance(read, Unknown) or (isinstance(read, Norm) and read.kind == "norm")


def similarities_of(model: ModelReading) -> Iterator[Similarity]:
    """Yield the results of a model that are products of two values that were read."""
    seen: set[int] = set()
    for output in model.trace.outputs:
        value = model.flow.source(output)
        step = model.flow.making(value)
        index = model.flow.maker(value)
        if step is None or index is None or index in seen or step.kind != Kind.CONTRACTION:
            continue
        moving = [one for one in step.operands if model.flow.depends_on_input(one)]
        if len(moving) != 2 or any(model.flow.array(one).ndim != 2 for one in moving):
            continue
        seen.add(index)
        vectors = [model.flow.source(one) for one in moving]
        first, second = (model.flow.array(one) for one in vectors)
        product = model.flow.array(value)
        unit = model.flow.unit(value)
        if first.shape[-1] == second.shape[-1] and agree(product, first @ second.T, unit):
            yield Similarity(index, *(model.reader.read(one) for one in vectors))


def parts_of_similarities(model: ModelReading) -> Iterator[Part]:
    """Yield the products of two towers as parts."""
    for one in similarities_of(model):
        first, second = (_vector(model, each) for each in (one.first, one.second))
        factor = first[1] * second[1]
        words = f"similarity, the products of {first[0]} and {second[0]}{_times(model, factor)}"
        status: Status = "holds" if one.is_understood else "unrecognised"
        role = "similarity" if one.is_understood else status
        yield Part("", role, None, words, {"factor": factor}, status, int(one.is_understood), 1, one.step)


def _times(model: ModelReading, factor: float) -> str:
    """Return a factor in words, with the parameter that it is made of; "" where it is 1."""
    if math.isclose(factor, 1.0, rel_tol=_NEAR):
        return ""
    for name, index in model.trace.parameters.items():
        array = model.flow.array(index)
        if array.size == 1:
            number = float(array.ravel()[0])
            if math.isclose(factor, math.exp(min(number, _LARGEST)), rel_tol=_NEAR):
                return f", times exp({name}), {factor:.4g}"
            if math.isclose(factor, number, rel_tol=_NEAR):
                return f", times {name} itself, {factor:.4g}"
    return f", times {factor:.4g}"


def _vector(model: ModelReading, read: Expression) -> tuple[str, float]:
    """Return what a vector is, in words, and the number that it is multiplied by."""
    factor = 1.0
    while isinstance(read, Scaled):
        factor *= read.factor
        read = read.of
    ends = [one for one in leaves(read) if one.value >= 0]
    name = source_in_words(model, ends[0]) if len(ends) == 1 else source_in_words(model, read)
    if isinstance(read, Norm) and read.gain is None and _has_length_one(model, read):
        return f"{name} divided by its length", factor
    return source_in_words(model, read), factor


def _has_length_one(model: ModelReading, norm: Norm) -> bool:
    lengths = np.linalg.norm(model.flow.array(norm.value), axis=-1)
    return agree(lengths, np.ones_like(lengths), model.flow.unit(norm.value))
