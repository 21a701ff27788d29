"""Arrays as pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from veriformer.pictures.from_arrays import compared, inner_products, mask, masks, turned, values, weights
from veriformer.pictures.model import Cell, Grid
from veriformer.pictures.numbers import exact, number


def texts(grid: Grid) -> list[list[str]]:
    return [[cell.text for cell in row] for row in grid.cells]


def marks(grid: Grid) -> list[list[str]]:
    return [[cell.mark for cell in row] for row in grid.cells]


@pytest.mark.parametrize(
    ("value", "text"),
    (
        (0.5, "1/2"),
        (-1 / 3, "-1/3"),
        (2.0, "2"),
        (0.0, "0"),
        (-0.0, "0"),
        (1 / 3 + 1e-6, "0.3333"),
        (1 / 13, "0.07692"),
        (1e-12, "1e-12"),
        (123456.0, "1.235e5"),
        (float("nan"), "NaN"),
        (float("inf"), "infinity"),
        (float("-inf"), "-infinity"),
    ),
)
def test_small_fractions_are_exact_and_other_numbers_are_rounded(value: float, text: str) -> None:
    assert exact(value) == text


def test_a_number_has_as_many_digits_as_are_asked_for() -> None:
    assert (number(1.23456, 2), number(-0.0), number(3e-8)) == ("1.2", "0", "3e-8")


def test_a_mask_says_who_sees_whom() -> None:
    grid = mask("m", np.array([[True, False], [True, True]]), np.array([[False, True], [False, False]]))
    assert marks(grid) == [["visible", "wrong"], ["visible", "visible"]]
    assert texts(grid) == [["●", "·"], ["●", "●"]]
    assert (grid.row_axis, grid.column_axis) == ("query", "key")


def test_expected_and_got_masks_differ_where_cells_are_marked() -> None:
    expected, got = masks("m", np.array([[True, False]]), np.array([[False, False]])).pictures
    assert marks(expected) == [["visible", "hidden"]]
    assert marks(got) == [["wrong", "hidden"]]
    assert texts(got) == [["·", "·"]]


def test_values_are_compared_entry_by_entry() -> None:
    row = compared("c", np.array([0.5, np.nan, 1.0, 2.0]), np.array([0.25, np.nan, np.inf, 2.0]))
    expected, got, difference = row.pictures
    assert texts(expected) == [["1/2", "NaN", "1", "2"]]
    assert texts(got) == [["1/4", "NaN", "infinity", "2"]]
    assert texts(difference) == [["-1/4", "0", "infinity", "0"]]
    assert marks(expected) == [["plain"] * 4]
    assert marks(got) == marks(difference) == [["wrong", "plain", "wrong", "plain"]]


def test_only_what_rounding_does_not_explain_is_marked() -> None:
    row = compared("c", np.array([1.0, 1.0]), np.array([1.001, 2.0]), np.array([False, True]))
    assert marks(row.pictures[1]) == [["plain", "wrong"]]


def test_as_many_digits_are_shown_as_tell_wrong_from_expected() -> None:
    expected, got, difference = compared("c", np.array([1.0]), np.array([1.0000001])).pictures
    assert (texts(expected), texts(got)) == ([["1"]], [["1.0000001"]])
    assert texts(difference) == [["1e-7"]]


def test_weights_are_shaded_by_their_size() -> None:
    assert [cell.share for cell in weights("w", np.array([[0.25, 0.75]])).cells[0]] == [0.25, 0.75]
    assert [cell.share for cell in weights("w", np.array([[-1.0, np.nan, 2.0]])).cells[0]] == [0.0, 0.0, 1.0]


def test_positions_are_angles_and_inner_products() -> None:
    assert turned("t", [0, 2], [1.0, 0.5]).angles == ((0.0, 0.0), (2.0, 1.0))
    grid = inner_products("i", np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert texts(grid) == [["1", "1"], ["1", "2"]]
    assert [cell.share for cell in grid.cells[1]] == [0.5, 1.0]


def test_a_large_array_is_cut_and_says_what_was_left_out() -> None:
    array = np.arange(40 * 30).reshape(40, 30)
    wrong = np.zeros((40, 30), bool)
    wrong[25, 17] = True
    grid = values("v", array, wrong)
    assert grid.note == "28 rows and 18 columns of 40 × 30 left out"
    assert sum(cell.mark == "wrong" for row in grid.cells for cell in row) == 1
    assert {"0", "24", "25", "26", "39"} <= set(grid.row_labels)
    assert {"0", "16", "17", "18", "29"} <= set(grid.column_labels)
    assert Cell("…", "omitted") in grid.cells[0]
    row = grid.row_labels.index("25")
    assert grid.cells[row][grid.column_labels.index("17")].text == "767"


def test_of_several_matrices_the_first_wrong_one_is_shown() -> None:
    array = np.arange(24.0).reshape(2, 3, 2, 2)
    wrong = np.zeros(array.shape, bool)
    wrong[1, 2, 0, 1] = wrong[1, 1, 1, 1] = True
    grid = values("v", array, wrong)
    assert grid.title == "v, [1, 1]"
    assert texts(grid) == [["16", "17"], ["18", "19"]]
    assert grid.note == "5 more matrices not shown; 1 more wrong"


@pytest.mark.parametrize("shape", ((), (0,), (0, 3), (3, 0), (1,), (0, 2, 2), (2, 2, 0), (1, 1, 1, 1)))
def test_every_shape_has_a_picture(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape)
    assert values("v", array, np.ones(shape, bool)).title.startswith("v")
    assert len(compared("c", array, array + 1).pictures) == 3


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.data())
def test_a_cut_grid_is_small_and_keeps_a_wrong_cell(rows: int, columns: int, data: st.DataObject) -> None:
    wrong = np.zeros((rows, columns), bool)
    if wrong.size:
        wrong[data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))] = True
    grid = values("v", np.zeros((rows, columns)), wrong)
    shown = [cell for row in grid.cells for cell in row]
    # Between twelve there are at most eleven gaps.
    assert len(grid.cells) <= 23
    assert all(len(row) == len(grid.cells[0]) <= 23 for row in grid.cells)
    assert sum(cell.mark == "wrong" for cell in shown) == int(wrong.sum())
