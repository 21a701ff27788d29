"""The exact values against an evaluation that shares nothing with them: plain loops over numbers with 50 digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
import sympy
from veriformer.spec.worked_examples import load_worked_example
from veriformer.spec.worked_examples.example import entries

SEEDS = Path(__file__).parents[2] / "docs" / "seeds"
DIGITS = 50
Row = list[Any]


def read(document: str, first: int, last: int) -> list[Row]:
    """Return the numbers of every bracketed row on some lines of a document, as fractions."""
    lines = (SEEDS / f"{document}.txt").read_text(encoding="utf-8").split("\n")[first - 1 : last]
    rows = re.findall(r"\[([-−\d., ]+)\]", "\n".join(lines))
    return [[Fraction(entry.replace("−", "-").strip()) for entry in row.split(",")] for row in rows]


def big(value: Any) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(value)


def softmax(row: Sequence[Any]) -> Row:
    powers = [mpmath.exp(big(entry)) for entry in row]
    return [power / mpmath.fsum(powers) for power in powers]


def attend(query: list[Row], key: list[Row], value: list[Row], *, causal: bool = False) -> tuple[list[Row], list[Row]]:
    weights, outputs = [], []
    for i, asked in enumerate(query):
        seen = key[: i + 1] if causal else key
        scores = [
            big(sum((a * b for a, b in zip(asked, offered, strict=True)), Fraction(0))) / mpmath.sqrt(len(asked))
            for offered in seen
        ]
        weights.append(softmax(scores) + [mpmath.mpf(0)] * (len(key) - len(seen)))
        outputs.append(mix(weights[-1], value))
    return weights, outputs


def mix(weights: Row, value: list[Row]) -> Row:
    outputs = []
    for column in range(len(value[0])):
        total = mpmath.mpf(0)
        for weight, row in zip(weights, value, strict=True):
            total += big(weight) * big(row[column])
        outputs.append(total)
    return outputs


def normalise(row: Row, eps: Fraction) -> Row:
    mean = sum(row) / len(row)
    variance = sum((entry - mean) ** 2 for entry in row) / len(row)
    return [big(entry - mean) / mpmath.sqrt(big(variance + eps)) for entry in row]


def sinusoids(positions: Sequence[int], width: int) -> list[Row]:
    return [
        [
            (mpmath.cos if column % 2 else mpmath.sin)(
                position / mpmath.power(10000, mpmath.mpf(column - column % 2) / width)
            )
            for column in range(width)
        ]
        for position in positions
    ]


def by_hand() -> tuple[list[Row], list[Row], list[Row]]:
    rows = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    text = "\n".join((SEEDS / "000.txt").read_text(encoding="utf-8").split("\n")[407:418])
    numbers = [Fraction(entry) for entry in re.findall(r"\d", text)]
    pairs = [numbers[i : i + 2] for i in range(0, 12, 2)]
    assert pairs[:2] == rows
    return pairs[:2], pairs[2:4], pairs[4:]


def practice() -> tuple[list[Row], list[Row], list[Row]]:
    rows = read("000", 598, 598)
    columns = [row for row in rows if len(row) == 1]
    return columns[:3], columns[3:6], columns[6:9]


def words() -> tuple[list[Row], list[Row], list[Row]]:
    rows = read("001", 79, 81)
    return rows[0::3], rows[1::3], rows[2::3]


def flat(nested: Any) -> Row:
    return [entry for part in nested for entry in flat(part)] if isinstance(nested, list) else [nested]


def cat_output_of_printed_weights() -> Row:
    return mix(read("001", 90, 90)[0], words()[2])


def car_weights() -> list[Row]:
    return [softmax(row) for row in read("002", 132, 135)]


def token(line: int) -> Row:
    return normalise(read("002", line, line)[0], Fraction(1, 100_000))


def masked_weights() -> list[Row]:
    rows = [[Fraction(10 * i + j) if j <= i else Fraction(0) for j in range(1, 5)] for i in range(1, 5)]
    return [[big(entry / sum(row)) for entry in row] for row in rows]


def distance_product(width: int) -> Any:
    first, third, fifth, eighth = sinusoids((0, 3, 5, 8), width)
    return mpmath.fdot(fifth, eighth) - mpmath.fdot(first, third)


def inverse_temperatures() -> Row:
    """Return what β must be for the quotients of the printed weights, by bisection."""
    scores, printed = [Fraction(n, 100) for n in (44, 83, 74)], read("001", 90, 90)[0]
    found = []
    for word in (0, 2):
        gap, quotient = big(scores[1] - scores[word]), big(printed[1] / printed[word])
        found.append(
            mpmath.findroot(lambda beta, gap=gap, q=quotient: mpmath.exp(beta * gap) - q, (0, 3), solver="ridder")
        )
    return found


def warm_weights(line: int) -> Row:
    return softmax([Fraction(7, 4) * score for score in read("002", line, line)[0]])


def gelu(x: int) -> Any:
    return x * mpmath.quad(mpmath.npdf, [-mpmath.inf, -1, 0, x])


def cat() -> tuple[list[Row], list[Row]]:
    query, key, value = words()
    return attend(query[1:2], key, value)


ORACLES: dict[str, Callable[[], Any]] = {
    "seed_000.scaled_scores": lambda: [[mpmath.sqrt(0.5)] * 2, [mpmath.mpf(0), mpmath.sqrt(0.5)]],
    "seed_000.exponential_of_scaled_score": lambda: mpmath.exp(mpmath.sqrt(0.5)),
    "seed_000.softmax_denominator": lambda: 1 + mpmath.exp(mpmath.sqrt(0.5)),
    "seed_000.second_row_weights": lambda: attend(*by_hand())[0][1],
    "seed_000.weights": lambda: attend(*by_hand())[0],
    "seed_000.first_output": lambda: attend(*by_hand())[1][0],
    "seed_000.second_output": lambda: attend(*by_hand())[1][1],
    "seed_000.output": lambda: attend(*by_hand())[1],
    "seed_000.projected_output": lambda: attend(*by_hand())[1],
    "seed_000.practice_first_row": lambda: attend(*practice())[0][0],
    "seed_000.practice_second_row": lambda: attend(*practice())[0][1],
    "seed_000.practice_third_row": lambda: attend(*practice())[0][2],
    "seed_000.practice_weights": lambda: attend(*practice())[0],
    "seed_000.practice_output": lambda: attend(*practice())[1],
    "seed_000.padding_exception": lambda: softmax([0, 0, 0, 0])[3],
    "seed_000.softmax_of_exponential": lambda: softmax([0, 1])[0],
    "seed_001.cat_scores": lambda: [big(Fraction(n, 100)) for n in (44, 83, 74)],
    "seed_001.cat_scaled_scores": lambda: [big(Fraction(n, 100)) / mpmath.sqrt(3) for n in (44, 83, 74)],
    "seed_001.root_of_three": lambda: mpmath.sqrt(3),
    "seed_001.cat_weights": lambda: cat()[0],
    "seed_001.cat_temperatures": inverse_temperatures,
    "seed_001.cat_output": lambda: cat()[1],
    "seed_001.cat_output_from_printed_weights": cat_output_of_printed_weights,
    "seed_001.cat_percentages": lambda: [cat()[0][0][word] for word in (1, 2, 0)],
    "seed_001.all_words_output": lambda: attend(*words())[1],
    "seed_001.all_words_causal_output": lambda: attend(*words(), causal=True)[1],
    "seed_001.sinusoids": lambda: sinusoids(range(5), 4),
    "seed_001.exchanged_words_causal": lambda: [mpmath.mpf(0), mpmath.e / (1 + mpmath.e)],
    "seed_001.position_parameters": lambda: 25_165_824,
    "seed_002.weights": car_weights,
    "seed_002.weights_from_queries": car_weights,
    "seed_002.output": lambda: [mix(row, read("002", 170, 173)) for row in car_weights()],
    "seed_002.output_from_printed_weights": lambda: [mix(row, read("002", 170, 173)) for row in read("002", 162, 165)],
    "seed_002.shares_of_the": lambda: [car_weights()[0][word] for word in (1, 3, 2)],
    "seed_002.attention_is_linear": lambda: 2 * softmax([0, 4])[1] / softmax([0, 1])[1],
    "seed_002.weights_at_another_temperature": lambda: [warm_weights(134)[3], warm_weights(135)[1]],
    "seed_002.feed_forward_is_linear": lambda: gelu(1) + gelu(-1),
    "seed_002.layer_norm_of_token_1": lambda: token(195),
    "seed_002.layer_norm_of_token_2": lambda: token(196),
    "seed_002.layer_norm_of_token_3": lambda: token(197),
    "seed_002.equal_distance": lambda: mpmath.cos(3) + mpmath.cos(mpmath.mpf(3) / 100),
    "seed_002.projection_sizes": lambda: [32_768, 262_144],
    "seed_003.masked_weights": masked_weights,
    "seed_004.embedding_scale": lambda: [2, 1024],
    "seed_004.dot_product_variance": lambda: big(Fraction(8, 9)),
    "seed_004.softmax_difference": lambda: mpmath.tanh(mpmath.mpf(1) / 2),
    "seed_004.standard_deviation": lambda: [-mpmath.sqrt(1.5), 0, mpmath.sqrt(1.5), -1, 0, 1],
}


def slope(loss: Callable[..., Any], point: Row, place: int) -> Any:
    """Return a partial derivative of a loss by a difference quotient of many digits."""

    def along(value: Any) -> Any:
        return loss([value if index == place else entry for index, entry in enumerate(point)])

    return mpmath.diff(along, point[place])


def gradient_of_softmax() -> Row:
    logits = [mpmath.mpf(0), mpmath.log(2), mpmath.log(3)]
    return [slope(lambda x: 6 * softmax(x)[0] + 3 * softmax(x)[1], logits, place) for place in range(3)]


def loss_after_layer_norm(x: Row, gain: Row, shift: Row) -> Any:
    mean = mpmath.fsum(x) / 3
    root = mpmath.sqrt(mpmath.fsum((entry - mean) ** 2 for entry in x) / 3 + mpmath.mpf(1) / 3)
    outputs = [(entry - mean) / root * g + b for entry, g, b in zip(x, gain, shift, strict=True)]
    return 3 * outputs[0] + 3 * outputs[1]


def gradients_of_layer_norm() -> list[Row]:
    point = [list(map(mpmath.mpf, numbers)) for numbers in ([1, 2, 3], [1, 2, 1], [0, 0, 0])]

    def of(which: int) -> Row:
        def loss(moved: Row) -> Any:
            return loss_after_layer_norm(*(moved if number == which else one for number, one in enumerate(point)))

        return [slope(loss, point[which], place) for place in range(3)]

    return [of(which) for which in range(3)]


# By definition: differences of the loss, not a formula for its gradient.
DIFFERENTIATED: dict[str, Callable[[], Any]] = {
    "gradients.softmax_of_three": gradient_of_softmax,
    "gradients.layer_norm_of_three": gradients_of_layer_norm,
}

# By hand: the corrected moments of the first step are the gradient and its square.
ORACLES["training.adamw_of_two"] = lambda: [
    [Fraction(19, 20) - Fraction(3, 40), Fraction(-19, 10) + Fraction(1, 30)],
    [Fraction(3, 10), Fraction(-1, 20)],
    [Fraction(9, 100), Fraction(1, 400)],
]

# By hand: the norm is 5; 1/5 + 4/5 · 3/4; half of 1/8 and of 1/4.
ORACLES["training.clipping_of_two_arrays"] = lambda: [[Fraction(3, 5)], [Fraction(4, 5)]]
ORACLES["training.warmup_of_four_steps"] = lambda: Fraction(1, 4)
ORACLES["training.cosine_of_six_steps"] = lambda: Fraction(4, 5)
ORACLES["training.inverse_root_rising"] = lambda: Fraction(1, 16)
ORACLES["training.inverse_root_falling"] = lambda: Fraction(1, 8)
# By hand: the mean is the entry, and the variance its square times p/(1 − p).
ORACLES["training.dropout_of_three"] = lambda: [[1, -2, 3], [Fraction(x * x, 3) for x in (1, -2, 3)]]

OTHERWISE: dict[str, Callable[[], Any]] = {
    "seed_000.large_negative_mask": lambda: softmax([0, -10])[1],
    "seed_001.mask_inside_scale": lambda: softmax([0, Fraction(-10, 8)])[1] - softmax([0, -10])[1],
    "seed_001.parameter_ratio": lambda: Fraction(1_048_576, 131_072),
    "seed_001.sinusoids": lambda: [row[:4] for row in sinusoids(range(5), 512)],
    "seed_004.dot_product_variance": lambda: big(Fraction(4, 9)),
    "seed_004.distance_alone": lambda: distance_product(3),
    "seed_004.residual_path": lambda: 1024,
    "seed_002.layer_that_learns_nothing": lambda: token(196),
    "seed_004.projected_distance": lambda: mpmath.sin(5) * mpmath.sin(8),
}


def assert_agree(exact: Any, oracle: Any) -> None:
    left, right = entries(exact), flat(oracle)
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        value = mpmath.mpf(str(sympy.N(one, DIGITS)))
        assert abs(value - big(other)) < mpmath.mpf(10) ** (10 - DIGITS) * (1 + abs(value))


@pytest.mark.parametrize("name", ORACLES)
def test_the_exact_value_agrees_with_plain_loops(name: str) -> None:
    with mpmath.workdps(DIGITS + 10):
        assert_agree(load_worked_example(name).exact, ORACLES[name]())


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_an_exact_gradient_agrees_with_differences_of_the_loss(name: str) -> None:
    with mpmath.workdps(3 * DIGITS):
        for exact, quotient in zip(entries(load_worked_example(name).exact), flat(DIFFERENTIATED[name]()), strict=True):
            assert abs(mpmath.mpf(str(sympy.N(exact, DIGITS))) - quotient) < mpmath.mpf(10) ** (10 - DIGITS)


@pytest.mark.parametrize("name", OTHERWISE)
def test_the_value_without_the_condition_agrees_too(name: str) -> None:
    with mpmath.workdps(DIGITS + 10):
        assert_agree(load_worked_example(name).otherwise, OTHERWISE[name]())


def test_every_executable_number_has_an_oracle() -> None:
    from veriformer.spec.worked_examples import executable_examples

    unchecked = {example.id for example in executable_examples()} - set(ORACLES) - set(DIFFERENTIATED)
    assert unchecked == {
        "seed_000.causal_mask",
        "seed_000.equal_scores",
        "seed_000.padding_mask",
        "seed_001.causal_mask",
        "seed_001.masked_weight",
    }


def test_no_temperature_gives_the_printed_weights() -> None:
    """A weight's slope in the inverse temperature has the sign of its score minus the row's mean, which only grows."""
    scores, weights = read("002", 134, 134)[0], warm_weights(134)
    mean = mpmath.fsum(weight * big(score) for weight, score in zip(weights, scores, strict=True))
    assert big(scores[3]) < mean
    assert weights[3] < 0.25
    assert read("002", 135, 135)[0][1] == max(read("002", 135, 135)[0])
    assert warm_weights(135)[1] < 0.55


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("seed_000.output", by_hand),
        ("seed_000.practice_output", practice),
        ("seed_001.all_words_output", words),
    ],
)
def test_arguments_are_the_documents_own_numbers(name: str, inputs: Callable[[], Any]) -> None:
    execution = load_worked_example(name).execution
    assert execution is not None
    for argument, rows in zip(("query", "key", "value"), inputs(), strict=True):
        assert [Fraction(int(entry.p), int(entry.q)) for entry in entries(execution.arguments[argument])] == flat(rows)
