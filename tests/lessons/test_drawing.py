"""Expected and received numbers look different where one is wrong, and are short elsewhere."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.lessons.drawing import side_by_side
from veriformer.spec.operations import OPERATIONS


def test_a_wrong_number_shows_the_digits_that_tell_it_from_the_expected_one():
    expected, got = np.array([[0.123456789, 0.25]]), np.array([[0.123456999, 0.25]])
    verdict = Verdict(holds=False, expected=expected, actual=got, wrong=expected != got, excess=9.0)
    row = side_by_side(verdict, OPERATIONS["softmax"])
    texts = [[cell.text for cell in grid.cells[0]] for grid in row.pictures]
    assert texts == [["0.1234568", "1/4"], ["0.123457", "1/4"]]
    assert [cell.mark for cell in row.pictures[1].cells[0]] == ["wrong", "plain"]


def test_other_numbers_stay_short():
    expected = np.array([[1.0, 0.123456789]])
    got = np.array([[1.0000001, 0.123456789]])
    verdict = Verdict(holds=False, expected=expected, actual=got, wrong=expected != got, excess=9.0)
    row = side_by_side(verdict, OPERATIONS["softmax"])
    assert [cell.text for cell in row.pictures[1].cells[0]] == ["1.0000001", "0.1235"]
