"""Pictures in a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from any_picture import pictures
from hypothesis import given, settings
from hypothesis import strategies as st
from veriformer.pictures.from_arrays import compared, masks, turned
from veriformer.pictures.model import (
    Cell,
    Chart,
    ErrorBar,
    Formula,
    Grid,
    Line,
    Node,
    Picture,
    Region,
    Row,
    Tree,
    Visits,
)
from veriformer.pictures.terminal import lines


def drawn(picture: Picture, width: int = 80) -> list[str]:
    return [line.plain for line in lines(picture, width)]


@settings(max_examples=150, deadline=None)
@given(pictures, st.integers(1, 90))
def test_no_line_is_too_wide_and_none_controls_the_terminal(picture: Any, width: int) -> None:
    for line in lines(picture, width):
        assert line.cell_len <= width
        assert line.plain.isprintable()


def test_masks_stand_side_by_side_with_their_wrong_cells_marked() -> None:
    picture = masks("who sees whom", [[1, 0], [1, 1]], [[1, 1], [1, 1]])
    assert drawn(picture) == [
        "who sees whom",
        "expected          got",
        "query↓ key→ 0 1   query↓ key→ 0  1",
        "          0 ● ·             0 ● ●✗",
        "          1 ● ●             1 ● ●",
        "● sees   · does not see   ✗ wrong",
    ]


def test_what_does_not_fit_side_by_side_stands_below() -> None:
    picture = compared("", [[0.5, 1.0]], [[0.25, 1.0]])
    assert drawn(picture, 20) == ["expected   got", "1/2 1      1/4✗ 1", "difference", "-1/4✗ 0"]


def test_a_grid_is_cut_into_bands_where_it_is_too_wide() -> None:
    grid = Grid("", (tuple(Cell(str(10 * k)) for k in range(1, 7)),), row_axis="row", column_axis="column")
    assert drawn(grid, 24) == [
        "row↓ column→  0  1  2  3",
        "           0 10 20 30 40",
        "row↓ column→  4  5",
        "           0 50 60",
    ]


def test_columns_line_up_under_wide_characters() -> None:
    grid = Grid("", ((Cell("長"), Cell("1")), (Cell("a"), Cell("2"))))
    assert drawn(grid) == ["長 1", " a 2"]


@pytest.mark.parametrize(
    ("error", "explained", "bar"),
    (
        (1e-3, 1e-6, "1e-7 ░░░░░|··············✗····· 0.01"),
        (1e-9, 1e-6, "1e-10 ░░░░░●░░░░░░░░░░░░░|····· 1e-5"),
        (float("inf"), 1e-6, "1e-7 ░░░░░░░░░░░░|············✗ 1e-5"),
        (0.0, 1e-6, "1e-7 ●░░░░░░░░░░░|············· 1e-5"),
    ),
)
def test_an_error_is_one_line_on_a_logarithmic_scale(error: float, explained: float, bar: str) -> None:
    assert drawn(ErrorBar("", error, explained), 36)[0] == bar


def test_an_error_beyond_the_limit_is_never_drawn_inside_it() -> None:
    bar = drawn(ErrorBar("", 1.0001e-6, 1e-6), 36)[0]
    assert bar.index("|") < bar.index("✗")


def test_a_tree_has_a_sign_for_each_status() -> None:
    tree = Tree(
        "model",
        (
            Node("wte", "embedding", "holds"),
            Node(
                "h.0", "", children=(Node("attn", "attention", "departs", "gpt.py:17"), Node("x", "?", "unrecognised"))
            ),
        ),
    )
    assert drawn(tree) == ["model", "✓ wte  embedding", "· h.0", "  ✗ attn  attention  gpt.py:17", "  ? x  ?"]


def test_clocks_turn_clockwise_from_the_top() -> None:
    quarter = 3.141592653589793 / 2
    picture = turned("", range(4), [quarter, quarter / 2])
    assert drawn(picture) == [
        "           pair 0 pair 1",
        "position 0      ↑      ↑",
        "position 1      →      ↗",
        "position 2      ↓      →",
        "position 3      ←      ↘",
    ]


def test_the_lines_of_a_chart_have_signs_of_their_own() -> None:
    chart = Chart("", (Line("up", ((0.0, 0.0), (1.0, 1.0))), Line("down", ((0.0, 1.0), (1.0, 0.0)))), "x", "y")
    picture = drawn(chart, 40)
    assert picture[-2:] == ["● up", "▲ down"]
    field = [line.partition("│")[2] or line.partition("┤")[2] for line in picture if "│" in line or "┤" in line]
    assert field[0].index("▲") < field[0].index("●")
    assert field[-1].index("●") < field[-1].index("▲")


def test_regions_without_a_case_are_marked() -> None:
    visits = Visits("space", (("lengths", (Region("L = S", 1200), Region("L > S", 0))),))
    assert drawn(visits) == ["space", "lengths", "  ● L = S 1,200  ○ L > S none"]


def test_a_formula_is_one_line_where_it_fits() -> None:
    formula = Formula(r"\frac{a + b}{c} = \sqrt{x}")
    assert drawn(formula) == ["(a + b)/c = √x"]
    assert drawn(formula, 10) == ["(a + b)/c", "= √x"]


def test_a_row_of_nothing_is_nothing() -> None:
    assert drawn(Row("", ())) == []
