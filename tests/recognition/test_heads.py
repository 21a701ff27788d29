"""How heads are cut out of a projection and put side by side again, read off the numbers of a pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.heads import Merge, grouped, merge_of

torch = pytest.importorskip("torch")

B, L, H, D = 2, 7, 3, 4
E = H * D
Reading = Callable[..., AttentionReading]


class Attention(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """An attention whose heads are cut and merged by functions of the test."""

    def __init__(self, columns: int, split: Callable[[Any], tuple[Any, Any, Any]], merge: Any = None) -> None:
        super().__init__()
        self.projections = torch.nn.Linear(E, columns)
        self.out = torch.nn.Linear(E, E)
        self.split = split
        self.merge = merge or (lambda heads: heads.transpose(1, 2).reshape(heads.shape[0], heads.shape[2], -1))

    def forward(self, x: Any) -> Any:
        query, key, value = self.split(self.projections(x))
        weights = (query @ key.transpose(-1, -2) / D**0.5).softmax(-1)
        return self.out(self.merge(weights @ value))


def blocks(projected: Any) -> tuple[Any, Any, Any]:
    return tuple(one.view(B, L, H, D).transpose(1, 2) for one in projected.chunk(3, dim=-1))  # type: ignore[return-value]


def head_by_head(projected: Any) -> tuple[Any, Any, Any]:
    return projected.view(B, L, H, 3 * D).transpose(1, 2).chunk(3, dim=-1)  # type: ignore[no-any-return]


def component_major(projected: Any) -> tuple[Any, Any, Any]:
    return tuple(one.view(B, L, D, H).permute(0, 3, 1, 2) for one in projected.chunk(3, dim=-1))  # type: ignore[return-value]


def reversed_heads(projected: Any) -> tuple[Any, Any, Any]:
    return tuple(one.flip(1) for one in blocks(projected))  # type: ignore[return-value]


def mixed(projected: Any) -> tuple[Any, Any, Any]:
    return tuple(one.reshape(B, H, L, D) for one in projected.chunk(3, dim=-1))  # type: ignore[return-value]


HEAD, COMPONENT = np.indices((H, D))


@pytest.mark.parametrize(
    ("split", "layout", "columns"),
    (
        (blocks, "blocks", lambda role: role * E + HEAD * D + COMPONENT),
        (head_by_head, "blocks_with_gaps", lambda role: HEAD * 3 * D + role * D + COMPONENT),
        (component_major, "component_major", lambda role: role * E + COMPONENT * H + HEAD),
        (reversed_heads, "blocks_reversed", lambda role: role * E + (H - 1 - HEAD) * D + COMPONENT),
    ),
)
def test_columns_of_the_heads(
    attention_in: Reading,
    split: Callable[[Any], tuple[Any, Any, Any]],
    layout: str,
    columns: Callable[[int], np.ndarray],
) -> None:
    found = attention_in(Attention(3 * E, split), B, L, E)
    for role, operand in enumerate((found.query, found.key, found.value)):
        assert operand.split is not None
        assert operand.split.columns is not None
        assert operand.split.layout == layout
        assert np.array_equal(operand.split.columns, columns(role))
        assert operand.split.offset == columns(role).min()
    assert found.setting is not None
    assert found.merge == Merge(rows_kept=True, in_order=True)


def test_heads_that_mix_positions_have_no_columns(attention_in: Reading) -> None:
    found = attention_in(Attention(3 * E, mixed), B, L, E)
    assert found.query.split is not None
    assert found.query.split.columns is None
    assert found.query.split.layout == "mixed"


@pytest.mark.parametrize("in_order", (True, False))
def test_groups(attention_in: Reading, in_order: bool) -> None:
    heads, groups = 4, 2
    width = E // heads

    def split(projected: Any) -> tuple[Any, Any, Any]:
        query, key, value = projected.split((E, groups * width, groups * width), dim=-1)
        query = query.view(B, L, heads, width).transpose(1, 2)
        key, value = (one.view(B, L, groups, width).transpose(1, 2) for one in (key, value))
        if in_order:
            return query, key.repeat_interleave(2, dim=1), value.repeat_interleave(2, dim=1)
        return query, key.repeat(1, 2, 1, 1), value.repeat(1, 2, 1, 1)

    found = attention_in(Attention(E + 2 * groups * width, split), B, L, E)
    assert (found.head_count, found.group_count) == (heads, groups)
    assert found.key.groups.group_of_head == ((0, 0, 1, 1) if in_order else (0, 1, 0, 1))
    assert found.value.groups.repeated_in_order(heads) is in_order


def test_repeated_heads_are_found_by_equality() -> None:
    one = np.random.default_rng(0).normal(size=(2, 3, 5, 4))
    assert grouped(one).group_of_head == (0, 1, 2)
    assert grouped(one).repeated_in_order(6)
    assert not grouped(one).repeated_in_order(4)
    repeated = one[:, [0, 0, 1, 1, 2, 2]]
    assert grouped(repeated).group_of_head == (0, 0, 1, 1, 2, 2)
    assert np.array_equal(grouped(repeated).array, one)


@pytest.mark.parametrize(
    ("merge", "expected"),
    (
        (lambda o: o.swapaxes(1, 2).reshape(B, L, E), Merge(rows_kept=True, in_order=True)),
        (lambda o: o[:, ::-1].swapaxes(1, 2).reshape(B, L, E), Merge(rows_kept=True, in_order=False)),
        (lambda o: o.transpose(0, 2, 3, 1).reshape(B, L, E), Merge(rows_kept=True, in_order=False, by_component=True)),
        (lambda o: o.reshape(B, L, E), Merge(rows_kept=False, in_order=False)),
        (lambda o: o.transpose(2, 0, 1, 3).reshape(L, B, E), Merge(rows_kept=True, in_order=True)),
        (lambda o: o[:, :2].swapaxes(1, 2), None),
        (lambda o: 2.0 * o.swapaxes(1, 2).reshape(B, L, E), None),
    ),
    ids=("in order", "reversed", "component first", "no transpose", "positions first", "part", "other numbers"),
)
def test_merging(merge: Callable[[np.ndarray], np.ndarray], expected: Merge | None) -> None:
    output = np.random.default_rng(1).normal(size=(B, H, L, D))
    assert merge_of(output, merge(output)) == expected
