"""What a reader sees of two models that were compared: places told together, names of A and B, what to change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from veriformer.conformance_tests.ports.findings import Cause, Difference, PartPair, PortComparison, WeightPair
from veriformer.conformance_tests.reports.layers import placed
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.reports.port_places import (
    changes,
    gathered,
    of_any_layer,
    place_of,
    sentences,
    weights_alike,
)
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
        # Names of Keras have the number right behind the word.
        ([(f"block{number}_up", number) for number in range(3)], "block[0–2]_up"),
        ([("fc1", 0), ("fc1", 1)], "fc1 (layers 0, 1)"),
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
    another = [replace(one, cause=replace(one.cause, name="scale")) for one in of_network]
    assert len(gathered([*of_attention, *another])) == 2
    without_file = [replace(one, file_b="", line_b=0) for one in (*of_attention, *of_network)]
    assert len(gathered(without_file)) == 2


def test_each_thing_that_a_line_does_wrongly_is_said_with_its_places() -> None:
    norms = [difference(f"h.{number}.ln", number, "norm before: A: 1; B: 2") for number in range(3)]
    final = replace(difference("norm", None, "final norm: A: 1; B: 2"), step="final_norm", operation="unembedding")
    final = replace(final, cause=replace(final.cause, change="norm: the last one: 1, and not: 2"))
    (group,) = gathered([*norms, final])
    assert sentences(group) == ["norm before: A: 1; B: 2", "final norm: A: 1; B: 2"]
    assert changes(group) == ["h.[0–2].ln: 1, and not: 2", "norm: the last one: 1, and not: 2"]
    text = text_of(comparison(*norms, final))
    assert "  ✗ h.[0–2].ln and norm\n    Norm before: A: 1; B: 2.\n    Final norm: A: 1; B: 2.\n" in text
    assert "step            norm and final norm, of self attention and unembedding\n" in text


def test_weights_of_one_kernel_are_one_difference_and_those_of_several_are_not() -> None:
    def of(kernel: str, role: str) -> Difference:
        one = replace(difference(kernel, 0, f"{role}: elsewhere"), path_a=f"a.0.{role}")
        return replace(one, step=role, cause=replace(one.cause, kind="weight"))  # type: ignore[arg-type]

    fused = [of("h.0.qkv", role) for role in ("query", "key", "value")]
    assert [len(group) for group in gathered(fused)] == [3]
    # One line applies every kernel, and each may be wrong by itself.
    assert [len(group) for group in gathered([of("h.0.q", "query"), of("h.0.k", "key")])] == [1, 1]


def test_what_is_not_known_is_never_told_together() -> None:
    first, second = difference("h.0.attn", 0), difference("h.0.mlp", 0)
    assert len(gathered([first, second])) == 1
    unknown = [replace(one, cause=Cause("unknown", "none that is known", "B differs")) for one in (first, second)]
    assert len(gathered(unknown)) == 2


def test_parts_without_a_module_are_not_shown_as_missing() -> None:
    without = PartPair("feed_forward", 0, "h.0.mlp", "", "same")
    assert "(no module)  feed forward\n" in text_of(comparison(pairs=(without,), verdict="agree", apart=0.0))
    missing = replace(without, status="unmatched")
    assert "–  feed forward\n" in text_of(comparison(pairs=(missing,), verdict="agree", apart=0.0))


def test_a_sentence_is_that_of_any_layer_only_where_names_have_its_number() -> None:
    places = placed("h.2.w", 2), placed("a.2.w", 2)
    assert of_any_layer("h.2.w is a.2.w times 0.2, h.20.2", places) == "h.#.w is a.#.w times 0.2, h.20.2"
    # The numbers of another layer are a thing to say.
    assert of_any_layer("h.2.w has the numbers of h.1.w", places) == "h.#.w has the numbers of h.1.w"
    assert of_any_layer("block2_up is a[2]", [placed("block2_up", 2), placed("a[2]", 2)]) == "block#_up is a[#]"


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
    assert "h.[0–2].ln_1: 1, and not: 2\n\nWhat matters most: h.[0–2].ln_1 of mine.py:build\n" in text
    assert text.endswith("    where           port.py:7\n\n" + text.splitlines()[-1] + "\n")
    assert "veriformer explain" not in text


def test_changes_that_name_a_weight_of_each_layer_say_that_there_are_others() -> None:
    def of_layer(number: int) -> Difference:
        path = f"b.{number}.w"
        cause = Cause("weight", "transposed", f"{path} is the transpose", 1.0, f"{path}: transpose a.{number}.w")
        return replace(difference(path, number), path_a=f"a.{number}.w", cause=cause)

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
