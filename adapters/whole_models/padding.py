"""Whether an argument of a model says which tokens are padding, and how: found by what it does, not by its name.

Tokens in the middle are hidden, since even in a causal model they have an influence on those behind them. Under the
right reading of the argument, other content there changes less behind it than without the argument, and much less than
under the opposite reading, where nothing else is visible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer.adapters.matching.texts import says_hidden
from veriformer.adapters.whole_models.arguments import Place, is_of_flags, parameters_of
from veriformer.adapters.whole_models.sequence import Array, Sequences

_CANDIDATE = re.compile(r"mask|pad|valid", re.IGNORECASE)
_OF_TOKENS = re.compile(r"pad|valid|^attention_mask$", re.IGNORECASE)
# They are about something else: a target's later tokens, single heads, tokens to be predicted, another sequence.
_OTHER = re.compile(r"causal|head_mask|masked|mlm|loss|label|memory|cross|encoder_att|id$|idx$", re.IGNORECASE)
# Under these names an argument has one meaning in the libraries, even if a model makes nothing of it.
_STANDARD = re.compile(r"^(attention_mask|(\w+_)?(key_)?padding_mask|pad_mask)$")
# With two axes it is of the source's tokens.
_OF_SOURCE = re.compile(r"^(src|source|enc|encoder)_mask$")
# Hugging Face's models and others mean this by it.
_OF_REAL = re.compile(r"^attention_mask$")
# With an axis for heads and one for queries, what is called so is applied to the logits of an attention.
_OF_ATTENTION = re.compile(r"^((attn|src|tgt|self_attn)_)?mask$")
_TRUE_IS_PADDING = re.compile(r"key_padding_mask$")
# No number of heads equals both.
_BATCHES = (2, 3)
_LENGTH = 6
# The axes of a mask of logits: samples, heads, queries and keys.
_OF_LOGITS = 4
_HIDDEN = slice(1, 3)
_BEHIND = slice(3, None)
# The influence that is left under the right reading, of that under the opposite one and of that without the argument.
_MUCH_LESS, _LESS, _NOTHING = 0.5, 0.95, 1e-9
_SAME = 1e-3
LENGTHS = "lengths"
_LENGTHS = re.compile(r"(^|_)(len|lens|length|lengths|sizes?|count|counts|n|num)(_|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Padding:
    """An argument of a model that says which tokens are padding, of shape (B, L), (B, 1, L) or (B, 1, 1, L).

    Of the kind LENGTHS it has shape (B,), the number of tokens in front that are none. `notice` says where the model
    takes it otherwise than its documentation does.
    """

    name: str
    kind: str
    rank: int
    true_is_real: bool
    notice: str = ""

    def as_documented(self, *, hides: bool) -> Padding:
        """Return the argument as documentation says that it is, with a notice where the model took it otherwise."""
        if self.true_is_real is not hides:
            return self
        true = "padding" if hides else "no padding"
        said = (
            f"{self.name} is handed over as its documentation says, so that True is {true}; the model hides the others"
        )
        return replace(self, true_is_real=not hides, notice=said)

    def against_its_name(self) -> Padding:
        """Return the argument, with a notice where it means the opposite of what other models mean by its name."""
        if self.kind == "additive" or not _OF_REAL.match(self.name) or self.true_is_real:
            return self
        said = (
            f"{self.name} hides the tokens where it is 1, and shows those where it is 0; elsewhere 1 marks real tokens"
        )
        return replace(self, notice=said)

    def argument(self, sequences: Sequences, real: Array) -> Any:
        """Return the argument for tokens of which `real` (B, L) are no padding."""
        if self.kind == LENGTHS:
            return sequences.as_framework(real.sum(axis=1).astype(np.int64))
        mask = real if self.true_is_real else ~real
        shaped = mask.reshape(mask.shape[0], *[1] * (self.rank - 2), mask.shape[1])
        if self.kind == "additive":
            return sequences.as_framework(np.where(shaped, 0.0, np.finfo(np.float32).min))
        return sequences.as_framework(shaped.astype({"bool": bool, "int": np.int64, "float": np.float64}[self.kind]))


@dataclass(frozen=True)
class PaddingToken:
    """A token that a model takes for padding by itself; `other` stands in its place among the real ones."""

    token: int
    other: int

    def sequence(self, sequences: Sequences, inputs: Any, real: Array | None) -> Any:
        """Return tokens with this one wherever `real` (B, L) says that there is padding, and nowhere else."""
        tokens = sequences.as_numpy(inputs)
        tokens = np.where(tokens == self.token, self.other, tokens)
        return sequences.as_framework(tokens if real is None else np.where(real, tokens, self.token))


def padding_of(sequences: Sequences, draw: Any, longest: int) -> Padding | None:
    """Return the argument that says which tokens are padding; None where there is none, or it cannot be known.

    `draw(batch, length)` returns random sequences.
    """
    length = min(_LENGTH, longest)
    if sequences.axes[0] is None or sequences.axes[1] is None or length <= _BEHIND.start:
        return None
    names = [one.name for one in parameters_of(sequences.stage)]
    # A mask of pairs can hide single keys too, and is tried after these.
    for name in sorted(names, key=lambda one: not _OF_TOKENS.search(one)):
        place = sequences.place_of(name)
        if _is_of_lengths(name, sequences, place):
            of_lengths = Padding(name, LENGTHS, 1, true_is_real=True)
            if _has_effect(of_lengths, sequences, draw(_BATCHES[0], length)):
                return of_lengths
        if _is_of_pairs(sequences, place):
            # A table of which position sees which is the caller's, and another one than that of padding.
            continue
        proposed = _CANDIDATE.search(name) or _is_of_flags(sequences, place)
        if proposed and not _OTHER.search(name) and place != sequences.place:
            found = _reading_of(name, sequences, [draw(batch, length) for batch in _BATCHES])
            if found is not None:
                return found
    return None


def _is_of_pairs(sequences: Sequences, place: Place) -> bool:
    """Return whether the recorded pass had a table of positions by positions there."""
    array, length = sequences.others.get(place), sequences.shape[1]
    return array is not None and tuple(array.shape[-2:]) == (length, length) != sequences.shape


def _is_of_flags(sequences: Sequences, place: Place) -> bool:
    """Return whether the recorded pass had truth values for each token there."""
    array = sequences.others.get(place)
    return array is not None and tuple(array.shape) == sequences.shape and is_of_flags(sequences.as_numpy(array))


def _is_of_lengths(name: str, sequences: Sequences, place: Place) -> bool:
    """Return whether an argument is called so, and the recorded pass had the length of each sample there.

    The longest sample of a batch is as long as the sequences.
    """
    array, (samples, length) = sequences.others.get(place), sequences.shape
    if array is None or tuple(array.shape) != (samples,) or not _LENGTHS.search(name):
        return False
    numbers = sequences.as_numpy(array)
    return numbers.dtype.kind in "iu" and bool((numbers > 0).all()) and int(numbers.max()) == length


def _has_effect(padding: Padding, sequences: Sequences, inputs: Array) -> bool:
    """Return whether a model makes something of the argument."""
    real = np.ones(inputs.shape[:2], dtype=bool)
    fewer = real.copy()
    fewer[:, _BEHIND] = False
    framed = sequences.as_framework(inputs)
    one, other = (
        sequences.as_numpy(sequences.outputs(framed, {padding.name: padding.argument(sequences, shown)}))
        for shown in (real, fewer)
    )
    return not np.array_equal(one, other, equal_nan=True)


def _reading_of(name: str, sequences: Sequences, drawn: list[Array]) -> Padding | None:
    """Return how an argument is to be read; None where no reading decides."""
    usual, hidden = None, says_hidden(sequences.stage.called, name)
    for rank in (2, 3, 4):
        decided: list[Padding] = []
        for kind in ("bool", "int", "float", "additive"):
            readings = [Padding(name, kind, rank, true_is_real) for true_is_real in (True, False)]
            judged = [_decided(readings, sequences, inputs) for inputs in drawn]
            known = {one for one in judged if isinstance(one, Padding)}
            if None not in judged and len(known) == 1 and len({*judged}) > 1:
                # It hides less than a mask does, and more than nothing: what hides least in both is how it is meant.
                usual = usual or known.pop()
            elif judged[0] is not None and judged[0] == judged[1]:
                if judged[0] in readings:
                    decided.append(readings[readings.index(judged[0])])
                else:
                    usual = usual or readings[bool(_TRUE_IS_PADDING.search(name))]
        if decided:
            # What is added to logits has an effect as truth values too: the kind that hides most is the one that is.
            found = min(decided, key=lambda one: _influence(one, sequences, drawn[0]))
            # What its documentation says is what its users hand over, and a law shows where that hides nothing.
            if hidden is None or found.kind == "additive":
                return found.against_its_name() if hidden is None else found
            return found.as_documented(hides=hidden)
    if usual is None and hidden is None and _STANDARD.search(name):
        hidden = bool(_TRUE_IS_PADDING.search(name))
    if hidden is not None and (usual is None or not _STANDARD.search(name)):
        said = _as_said(name, hidden, sequences, drawn[0])
        if said is not None:
            return said
    if _OF_SOURCE.search(name) and hidden is None:
        # Of each token of a source a mask can only say whether it is padding; what hides nothing says by which number.
        if usual is not None and usual.rank == len(("samples", "positions")):
            return usual
        ways = (_as_said(name, hides, sequences, drawn[0]) for hides in (True, False))
        neutral = [way for way in ways if way is not None]
        return neutral[0] if len(neutral) == 1 else None
    if usual is None or _STANDARD.search(name):
        return usual
    return usual if usual.rank == _OF_LOGITS and _OF_ATTENTION.search(name) else None


def _as_said(name: str, hides: bool, sequences: Sequences, inputs: Array) -> Padding | None:
    """Return the reading of an argument of each token by its documentation or name, though what is hidden is unclear.

    It has an effect where something is hidden, and none where nothing is.
    """
    for kind in ("bool", "int", "float"):
        reading = Padding(name, kind, 2, true_is_real=not hides)
        try:
            if _may_hide_nothing([reading], sequences, inputs) and _has_effect(reading, sequences, inputs):
                return reading
        except Exception:
            # Whatever the model raises on what it does not take.
            continue
    return None


def _decided(readings: list[Padding], sequences: Sequences, inputs: Array) -> Padding | str | None:
    """Return the reading under which hidden tokens have least influence, "none" if no reading hides them.

    Positions that are counted by the argument are an effect, and hide nothing. None where the model does not take the
    argument, or where the readings do not differ enough.
    """
    try:
        if not _STANDARD.search(readings[0].name) and not _may_hide_nothing(readings, sequences, inputs):
            return None
        plain = _influence(None, sequences, inputs)
        found = [_influence(reading, sequences, inputs) for reading in readings]
    except Exception:
        return None
    if all(abs(one - plain) <= _NOTHING * plain for one in found):
        return "none"
    order = np.argsort(found)
    least, other = found[order[0]], found[order[1]]
    if least < _MUCH_LESS * other and least < _LESS * plain:
        return readings[int(order[0])]
    counts = readings[0].rank in (2, _OF_LOGITS) and np.isfinite(found).all()
    return "none" if counts and _may_hide_nothing(readings, sequences, inputs) else None


def _may_hide_nothing(readings: list[Padding], sequences: Sequences, inputs: Array) -> bool:
    """Return whether under one of the readings an argument that hides nothing changes nothing.

    What takes the place of a mask that a model would make itself, such as a causal one, says more than what is padding.
    """
    framed, every = sequences.as_framework(inputs), np.ones(inputs.shape[:2], dtype=bool)
    plain = sequences.as_numpy(sequences.outputs(framed))
    extras = ({reading.name: reading.argument(sequences, every)} for reading in readings)
    results = (sequences.as_numpy(sequences.outputs(framed, extra)) for extra in extras)
    alike = (result for result in results if result.shape == plain.shape)
    return any(np.abs(result - plain).max() <= _SAME * np.abs(plain).max() for result in alike)


def _influence(reading: Padding | None, sequences: Sequences, inputs: Array) -> float:
    """Return how much other content of the hidden tokens changes behind them; infinite where that is no number."""
    changed = inputs.copy()
    changed[:, _HIDDEN] = np.roll(inputs, 1, axis=0)[:, _HIDDEN]
    real = np.ones(inputs.shape[:2], dtype=bool)
    real[:, _HIDDEN] = False
    extra = {} if reading is None else {reading.name: reading.argument(sequences, real)}
    one, other = (
        sequences.as_numpy(sequences.outputs(sequences.as_framework(array), extra)) for array in (inputs, changed)
    )
    change = np.abs(one - other)[:, _BEHIND].max()
    return float(change) if np.isfinite(change) else float("inf")
