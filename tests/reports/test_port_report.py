"""What a reader sees of two models that were compared: places told together, names of A and B, what to change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from veriformer.conformance_tests.ports.findings import Cause, Difference, PartPair, PortComparison, WeightPair
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.reports.port_places import gathered, of_any_layer, place_of, weights_alike
from veriformer.conformance_tests.reports.ports import port_lines, verdict_sentence


def difference(
    path: str, layer: int | None, sentence: str = "A: 1; B: 2", line: int = 7, name: str = "eps"
) -> Difference:
    cause = Cause("convention", name, sentence, 1.0, f"{path}: 1, and not: 2")
    return Difference(f"model.{path}", path, layer, "norm", "self_attention", "", 0, "port.py", line, cause)


def comparison(*differences: Difference, **changed: object) -> PortComparison:
    found = PortComparison(
        "hf.py:build", "mine.py:build", ("torch", "flax"), ("float64", "float32"), "differ", 0.5, (), differences
    )
    return replace(found, **changed)  # type: ignore[arg-type]


def text_of(found: PortComparison, **options: object) -> str:
    return as_text(port_lines(found, Options(width=100, **options)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("paths", "place"),
    [
        ([("h.0.attn", 0)], "h.0.attn"),
        ([("h.0.attn", 0), ("h.1.attn", 1)], "h.[0, 1].attn"),
        ([("h.0.attn", 0), ("h.1.attn", 1), ("h.2.attn", 2)], "h.[0–2].attn"),
        ([(f"h.{number}.attn", number) for number in (0, 2, 4, 6, 8)], "h.[0, 2, 4, … 8].attn"),
        ([("h[0].attn", 0), ("h[1].attn", 1), ("h[2].attn", 2)], "h[0–2].attn"),
        # Layers that are stacked in one array, as scanned ones are in JAX, have no number in their name.
        ([("layers", 0), ("layers", 1), ("layers", 2)], "layers (layers 0–2)"),
        ([("layers", 1)], "layers (layer 1)"),
        ([("", 0), ("", 1)], "layers 0, 1"),
        ([("norm", None)], "norm"),
        ([("", None)], "the model itself"),
    ],
)
def test_places_are_told_together(paths: list[tuple[str, int | None]], place: str) -> None:
    differences = [replace(difference(path, layer), path_a=path) for path, layer in paths]
    assert len(gathered(differences)) == 1
    assert place_of(differences) == place


def test_parts_that_share_a_line_are_one_difference_and_others_are_not() -> None:
    of_attention = [difference(f"h.{number}.ln_1", number) for number in range(3)]
    of_network = [difference(f"h.{number}.ln_2", number) for number in range(3)]
    (group,) = gathered([*of_attention, *of_network])
    assert place_of(group) == "h.[0–2].ln_1 and h.[0–2].ln_2"
    elsewhere = [replace(one, line_b=8) for one in of_network]
    assert len(gathered([*of_attention, *elsewhere])) == 2
    another = [replace(one, cause=replace(one.cause, sentence="A: 1; B: 3")) for one in of_network]
    assert len(gathered([*of_attention, *another])) == 2
    without_file = [replace(one, file_b="", line_b=0) for one in (*of_attention, *of_network)]
    assert len(gathered(without_file)) == 2


def test_a_sentence_is_that_of_any_layer_only_where_names_have_its_number() -> None:
    assert of_any_layer("h.2.w is a.2.w times 0.2", ("h.2.w",)) == "h.#.w is a.#.w times 0.2"
    # The numbers of another layer are a thing to say.
    assert of_any_layer("h.2.w has the numbers of h.1.w", ("h.2.w",)) == "h.#.w has the numbers of h.1.w"


def test_weights_that_went_to_the_next_layer_are_told_one_by_one() -> None:
    def moved(number: int, to: int) -> WeightPair:
        return WeightPair((f"a.{number}.w",), (f"b.{number}.w",), "elsewhere", f"b.{number}.w has those of a.{to}.w")

    assert len(weights_alike([moved(0, 0), moved(1, 1)])) == 1
    assert len(weights_alike([moved(0, 1), moved(1, 2)])) == 2


def test_the_report_says_which_model_is_which_and_what_to_change() -> None:
    found = comparison(*(difference(f"h.{number}.ln_1", number) for number in range(3)), inputs="tokens (2, 5)")
    text = text_of(found)
    assert "A             hf.py:build, torch, float64\nB             mine.py:build, flax, float32\n" in text
    assert "inputs        tokens (2, 5)\n" in text
    assert text.endswith("h.[0–2].ln_1: 1, and not: 2\n\n" + text.splitlines()[-1] + "\n")
    assert "veriformer explain" not in text


def test_changes_that_name_a_weight_of_each_layer_say_that_there_are_others() -> None:
    def of_layer(number: int) -> Difference:
        path = f"b.{number}.w"
        cause = Cause("weight", "transposed", f"{path} is the transpose", 1.0, f"{path}: transpose a.{number}.w")
        return replace(difference(path, number), cause=cause)

    text = text_of(comparison(*map(of_layer, range(3))))
    assert "  - b.[0–2].w: transpose a.0.w (and 2 others alike)\n" in text
    assert "    b.0.w is the transpose (and 2 others alike).\n" in text


def test_a_cause_of_the_catalogue_is_one_that_can_be_looked_up() -> None:
    text = text_of(comparison(difference("norm", None, name="norm_eps_value_mismatch")))
    assert "how to look     veriformer explain norm_eps_value_mismatch\n" in text


def test_the_verdict_counts_the_other_differences() -> None:
    one, other = difference("h.0.ln_1", 0), difference("norm", None, line=9)
    assert verdict_sentence(comparison(one)) == "mine.py:build differs from hf.py:build in h.0.ln_1: A: 1; B: 2"
    assert verdict_sentence(comparison(one, other)).endswith("; 1 other difference below")
    agreeing = comparison(verdict="agree", apart=3e-7, pairs=(PartPair("embedding", None, "a", "b", "same"),))
    assert verdict_sentence(agreeing) == (
        "mine.py:build agrees with hf.py:build: their results differ by rounding only (3.0e-07 of the largest entry), "
        "and all parts are the same"
    )


def test_files_of_installed_packages_begin_with_the_package() -> None:
    assert shown_file("/opt/env/lib/python3.12/site-packages/transformers/llama.py") == "transformers/llama.py"
    assert shown_file(r"C:\env\Lib\site-packages\flax\nnx.py") == r"flax\nnx.py"
    assert shown_file("/elsewhere/mine.py") == "/elsewhere/mine.py"
