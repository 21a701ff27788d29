"""The mistakes in the projections of one attention: columns that are read wrongly, or twice, and groups of heads."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.operands import Operand
from veriformer.conformance_tests.recognition.paths import step_by_name
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

_ROLES: tuple[StepName, ...] = ("query", "key", "value")


def projection_mistakes(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield the mistakes in which columns the heads are made of, and in which heads read which."""
    yield from _of_splits(flow, reading)
    yield from _of_shared_columns(flow, reading)
    yield from _of_groups(flow, reading)


def _of_splits(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    operands: tuple[tuple[StepName, Operand], ...] = (
        ("query", reading.query),
        ("key", reading.key),
        ("value", reading.value),
    )
    layouts = {operand.split.layout for _, operand in operands if operand.split is not None}
    for role, operand in operands:
        if operand.split is None:
            continue
        place = flow.maker(operand.split.value) or reading.sublayer.first_step
        if operand.split.columns is None and reading.setting is not None:
            # Where nothing attends to these heads as it should, they are perhaps none.
            sentence = f"the {role} is cut into heads so that a head holds numbers of several positions"
            yield Suspicion(role, place, sentence, (suspected("split=without_transpose", sentence=sentence),))
            return
        if operand.split.layout == "component_major" and len(layouts) > 1:
            # Where all three are cut so, it is the model's own order.
            sentence = f"the columns of the {role} are read by components first, and by heads then"
            yield Suspicion(role, place, sentence, (suspected("fused_qkv_layout"),))
            return


def _of_shared_columns(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield that two roles are read from the same columns of one projection, or that one projects the outputs too."""
    columns = {role: _columns(flow, reading, role) for role in _ROLES}
    if any(one is None for one in columns.values()):
        return
    if columns["value"] == columns["key"]:
        sentence = "keys and values are the same columns of one projection"
        yield Suspicion(
            "value", place_of_operand(flow, reading, "value"), sentence, (suspected("value_uses_key_projection"),)
        )
    elif columns["query"] in (columns["key"], columns["value"]) and not _are_shared_on_purpose(reading, columns):
        other: StepName = "key" if columns["query"] == columns["key"] else "value"
        # The projection is called after one of the two: it is the other that should have its own.
        own = step_by_name(getattr(reading.sublayer, other)[0].label) == other
        step: StepName = "query" if own else other
        whose = other if own else "query"
        sentence = f"the {step} is made of the columns of the {whose}"
        suspects = (suspected("projections=one_for_all", sentence=sentence),)
        yield Suspicion(step, place_of_operand(flow, reading, step), sentence, suspects)
    exit_map = reading.sublayer.exit
    matrix = flow.array(exit_map.weight)
    maps = {role: getattr(reading.sublayer, role)[0] for role in _ROLES}
    again = [role for role, one in maps.items() if one.names == exit_map.names]
    again = [role for role in again if np.array_equal(flow.array(maps[role].weight), matrix)]
    if again:
        sentence = f"the heads' outputs are projected by the matrix of the {again[-1]} again"
        yield Suspicion("attention_output", exit_map.step, sentence, ())


def _are_shared_on_purpose(reading: AttentionReading, columns: Mapping[StepName, tuple[Hashable, ...] | None]) -> bool:
    """Return whether keys are the queries brought to one length, as in Reformer (Kitaev et al. 2020), section 2.

    Who writes a norm for the keys alone does not confuse them with the queries.
    """
    norms = reading.query.norm, reading.key.norm
    return columns["query"] == columns["key"] and norms[0] is None and norms[1] is not None and norms[1].gain is None


def _columns(flow: Flow, reading: AttentionReading, role: StepName) -> tuple[Hashable, ...] | None:
    """Return the columns of parameters that a role is made of; None where they are not known.

    One parameter may hold several matrices: these are the same where their numbers are.
    """
    split, maps = getattr(reading, role).split, getattr(reading.sublayer, role)
    if split is None or split.columns is None:
        return None
    matrices = [flow.array(one.weight) for one in maps]
    of_maps = tuple((one.names, matrix.shape, float(matrix.sum())) for one, matrix in zip(maps, matrices, strict=True))
    return (*of_maps, tuple(split.columns.ravel()))


def _of_groups(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    if reading.query.split is None or reading.query.split.columns is None:
        # Which query heads belong together is only known of those that are columns of a projection in turn: the ones
        # that experts make may come in any order.
        return
    for role in ("key", "value"):
        operand: Operand = getattr(reading, role)
        groups = operand.groups.group_of_head
        if len(groups) == reading.head_count and not operand.groups.repeated_in_order(reading.head_count):
            end = getattr(reading.sublayer.sites[0], f"{role}_value")
            read, right = (", ".join(map(str, one)) for one in (groups, _in_turn(groups)))
            sentence = f"the query heads read the {role} heads {read}; each should serve as many in turn: {right}"
            yield Suspicion(
                "key" if role == "key" else "value",
                flow.maker(end) or 0,
                sentence,
                (suspected("gqa_head_index_wrong"),),
            )
            return


def _in_turn(groups: Sequence[int]) -> list[int]:
    """Return which key or value head each query head reads where each of those that are read serves as many."""
    count = len(set(groups))
    return [head * count // len(groups) for head in range(len(groups))]


def place_of_operand(flow: Flow, reading: AttentionReading, role: StepName) -> int:
    """Return the step that made the heads of a role as they enter the attention."""
    site = reading.sublayer.sites[0]
    ends = {"query": site.query_value, "key": site.key_value, "value": site.value_value}
    return flow.maker(ends[role]) or site.first_step
