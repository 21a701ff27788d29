"""The report on a whole model: its verdict, the tree of its parts, its departures, and the same as JSON."""

from __future__ import annotations

import json
import linecache
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.recognition.findings import Departure, Difference, Part, Recognition, Suspected
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.departures import quoted
from veriformer.conformance_tests.reports.json_report import report_as_json, write_json
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.demands import Demands
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_report import ModelReport, model_report
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.laws import LAWS

SCALE = Suspected("scale_missing", "logits q·k without 1/√D", 1.0)
HEADS = "grouped_query_attention, 6 heads on 2, causal, rotary half, base 10000"


def part(path: str, role: str, layer: int | None = None, summary: str = "", **more: Any) -> Part:
    fields: dict[str, Any] = {"conventions": {}, "status": "holds", "explained": 3, "steps": 3, "place": 0, **more}
    return Part(path, role, layer, summary or role, **fields)


def departure(*suspects: Suspected, path: str = "h.1.attn", layer: int | None = 1, **more: Any) -> Departure:
    fields: dict[str, Any] = {
        "step": "logits",
        "operation": "scaled_dot_product_attention",
        "file": "",
        "line": 0,
        "sentence": "The logits are not divided by √D",
        "place": 7,
        **more,
    }
    return Departure(path, layer, suspects=suspects, **fields)


def gpt(
    departures: Iterable[Departure] = (), unrecognised: Iterable[int] = (), understood: int = 412, **more: Any
) -> Recognition:
    """Return a GPT of 12 layers; `unrecognised` are those whose feed-forward part was not recognised."""
    departures, unrecognised = tuple(departures), set(unrecognised)
    wrong = {one.path for one in departures}
    parts = [part("wte", "token_embedding", summary="token_embedding, 65 × 32")]
    for number in range(12):
        departs = f"h.{number}.attn" in wrong
        status, explained = ("departs", 2) if departs else ("holds", 3)
        unknown = "unrecognised" if number in unrecognised else "holds"
        parts += [
            part(f"h.{number}.ln_1", "layer_norm", number, "layer_norm, eps 1e-05"),
            part(f"h.{number}.attn", "attention", number, HEADS, status=status, explained=explained),
            part(f"h.{number}.mlp", "feed_forward", number, "feed_forward, gelu", status=unknown),
        ]
    parts.append(part("lm_head", "unembedding", summary="tied to wte"))
    return Recognition(tuple(parts), departures, 420, understood, framework="torch", dtype="float64", **more)


def told(recognition: Recognition, width: int = 100, *, verbose: bool = False, **more: Any) -> str:
    return report_text(model_report("model.py:GPT", recognition, **more), Options(width=width, verbose=verbose))


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_model_that_holds_says_so_first() -> None:
    report = model_report("model.py:GPT", gpt(understood=420))
    said = told(gpt(understood=420)).splitlines()[0]
    assert said == "model.py:GPT holds: 114 of 114 intermediates of the specification found"
    assert (report.verdict, report.exit_status) == ("conforms", 0)


def test_how_much_was_judged_is_in_the_first_line_with_what_was_not() -> None:
    unread = {f"h.{number}.attn.table": 2 for number in range(4)}
    text = told(gpt(unread=unread))
    assert words(text).startswith(
        "model.py:GPT holds as far as it is judged, 98 % of its steps: 114 of 114 intermediates of the specification "
        "found; not judged: 8 steps in h.0.attn.table … h.3.attn.table (4 layers)"
    )
    assert "Not read 8 steps in h.0.attn.table … h.3.attn.table (4 layers): no known part" in words(text)
    assert model_report("m", gpt(unread=unread)).exit_status == 0


def test_more_can_be_asked_of_what_is_judged() -> None:
    asked = model_report("m", gpt(), demands=Demands(judged_at_least=0.99))
    assert (asked.verdict, asked.exit_status) == ("error", 2)
    assert asked.headline == "m: only 98 % of the model was recognised, and 99 % was asked for"
    assert model_report("m", gpt(), demands=Demands(judged_at_least=0.98)).exit_status == 0
    with pytest.raises(ValueError, match="a share between 0 and 1, and not 95"):
        Demands(judged_at_least=95)


def test_layers_that_differ_stand_below_the_verdict_and_are_not_accused() -> None:
    others = tuple((f"h.{number}.mlp", number) for number in (0, 1, 4))
    differing = [replace(departure(step="activation"), path=f"h.{number}.mlp", layer=number) for number in (2, 3)]
    differences = tuple(Difference(one, others, "silu", "gelu") for one in differing)
    report = model_report("m", gpt(differences=differences))
    lines = report_text(report).splitlines()
    assert "Layers" in lines[4], lines
    said = "h.2.mlp, h.3.mlp (2 layers) differ from h.0.mlp, h.1.mlp, h.4.mlp (3 layers) in the activation of"
    assert said in words(report_text(report))
    assert "silu; there: gelu" in words(report_text(report))
    assert report.exit_status == 0
    written = report_as_json(report)["differences"]
    assert [(one["path"], one["own"], one["usual"]) for one in written] == [
        ("h.2.mlp", "silu", "gelu"),
        ("h.3.mlp", "silu", "gelu"),
    ]
    assert written[0]["others"][2] == {"path": "h.4.mlp", "layer": 4}


def test_a_departure_is_in_the_first_line_with_its_place_and_its_name() -> None:
    report = model_report("model.py:GPT", gpt([departure(SCALE)]))
    assert report_text(report).splitlines()[0] == (
        "model.py:GPT departs in h.1.attn: the logits are not divided by √D (scale_missing)"
    )
    assert (report.verdict, report.exit_status) == ("violates", 1)


def test_a_formula_at_the_beginning_of_a_sentence_keeps_its_letters() -> None:
    found = departure(sentence="GELU stands where the other layers have ReLU.")
    assert told(gpt([found])).startswith("model.py:GPT departs in h.1.attn: GELU stands where")


def test_too_little_recognised_is_neither_a_violation_nor_a_pass() -> None:
    report = model_report("model.py:GPT", gpt(understood=252))
    assert report_text(report).splitlines()[0] == "model.py:GPT: only 60 % of the model was recognised"
    assert (report.verdict, report.exit_status) == ("error", 2)


def test_a_departure_is_told_although_little_was_recognised() -> None:
    report = model_report("model.py:GPT", gpt([departure(SCALE)], understood=314))
    first = "model.py:GPT: only 74 % of the model was recognised; it departs in h.1.attn: the logits"
    assert words(report_text(report)).startswith(first)
    assert report.exit_status == 1


def test_three_quarters_are_enough() -> None:
    assert model_report("m", gpt(understood=315)).verdict == "conforms"


def test_nothing_captured_is_nothing_recognised() -> None:
    assert model_report("m", Recognition((), (), 0, 0)).exit_status == 2


def test_layers_that_are_alike_are_one() -> None:
    text = told(gpt())
    assert "  h.0 … h.11 (12 layers)\n" in text
    assert text.count("layer_norm") == 1
    assert text.index("wte") < text.index("h.0") < text.index("lm_head")


def test_a_layer_that_differs_stands_alone() -> None:
    text = told(gpt([departure(SCALE)]))
    assert "  h.0, h.2 … h.11 (11 layers)\n" in text
    assert "  h.1\n" in text
    assert "✗ attn" in text
    assert words(text).count("base 10000: departs") == 1


def test_layers_in_turns_are_told_as_such() -> None:
    text = told(gpt(unrecognised=range(0, 12, 2)))
    assert "  every second layer from h.0 to h.10 (6 layers)\n" in text
    assert "  every second layer from h.1 to h.11 (6 layers)\n" in text
    assert "? mlp" in text
    assert "not recognised: feed_forward, gelu" in text
    assert "not judged: 6 parts that were not recognised" in words(text).split("torch, float64")[0]


def test_every_layer_is_shown_when_asked_for() -> None:
    text = told(gpt(), verbose=True)
    assert text.count("layer_norm") == 12
    assert "feed_forward, gelu, 3 of 3 found" in text


def test_the_stacks_of_an_encoder_and_a_decoder_are_told_apart() -> None:
    parts = [part(f"{side}.layers.{n}.norm", "layer_norm", n) for side in ("encoder", "decoder") for n in range(3)]
    text = told(Recognition(tuple(parts), (), 6, 6))
    assert "encoder.layers.0 … encoder.layers.2 (3 layers)" in text
    assert "decoder.layers.0 … decoder.layers.2 (3 layers)" in text


@pytest.mark.parametrize(
    ("path", "layer", "shown"),
    [
        ("layers[3].attn", 3, "layers[3].attn"),
        ("h_3.attn", 3, "h_3.attn"),
        ("stages.1.blocks.3.attn", 3, "stages.1.blocks.3.attn"),
        ("attention", 3, "layer 3, attention"),
        ("", 3, "layer 3"),
        ("", None, "the model itself"),
        ("h.3", 3, "h.3"),
        ("gpt2.attn", 2, "layer 2, gpt2.attn"),
        ("blocks.0.ln_1", 1, "blocks.0.ln_1"),
        ("blocks_1.0.mlp", 1, "blocks_1.0.mlp"),
    ],
)
def test_a_departure_is_called_by_its_path(path: str, layer: int | None, shown: str) -> None:
    assert f"  ✗ {shown}: " in told(gpt([departure(path=path, layer=layer)]))


def test_the_number_of_a_norm_is_not_that_of_a_layer() -> None:
    parts = [part(f"h.{number}.ln_1", "layer_norm", number) for number in (0, 1, 2)]
    shared = part("h.0.ln_2", "layer_norm", 2)
    text = told(Recognition((*parts, shared), (), 6, 6))
    assert "ln_2" in text
    assert "  h.0.ln" not in text


def test_a_departure_in_every_layer_is_told_once() -> None:
    text = told(gpt([departure(SCALE, path=f"h.{number}.attn", layer=number) for number in range(12)]))
    assert text.count("Diagnosis") == 1
    assert "  ✗ h.0.attn … h.11.attn (12 layers): " in text
    assert "12 departures" in text


def test_departures_of_different_lines_are_told_apart() -> None:
    found = [departure(SCALE, path=f"h.{number}.attn", layer=number, file="x.py", line=number) for number in range(2)]
    text = words(told(gpt(found)))
    assert text.count("Diagnosis") == 2
    assert "(scale_missing), and in 1 other place" in text


def test_a_departure_quotes_the_line_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "model.py"
    code.write_text("class GPT:\n    weights = query @ key.transpose(-2, -1)\n")
    monkeypatch.chdir(tmp_path)
    text = told(gpt([departure(SCALE, file=str(code), line=2)]))
    assert "    where           model.py:2\n                    weights = query @ key.transpose(-2, -1)\n" in text


def test_a_line_is_quoted_as_it_is_now(tmp_path: Path) -> None:
    code = tmp_path / "model.py"
    code.write_text("first = 1\n")
    assert quoted(str(code), 1) == "first = 1"
    code.write_text("second_line = 22\n")
    assert quoted(str(code), 1) == "second_line = 22"


@pytest.mark.parametrize("file", ["", "/dev/zero", "/no/such/file.py", "<string>", "a\0b"])
def test_what_is_no_file_is_not_read(file: str) -> None:
    assert quoted(file, 1) == ""


def test_a_cell_of_a_notebook_is_quoted() -> None:
    name = "<ipython-input-1>"
    linecache.cache[name] = (9, None, ["x = 1\n"], name)
    try:
        assert quoted(name, 1) == "x = 1"
    finally:
        del linecache.cache[name]


def test_a_suspect_is_explained_as_for_operations() -> None:
    text = words(told(gpt([departure(SCALE)])))
    assert "step logits, of scaled_dot_product_attention" in text
    assert "`scale_missing` (certain): Logits q·k without 1/√D; hidden when " in text
    assert "how to look veriformer explain scale_missing" in text
    assert "met in" not in text
    verbose = words(told(gpt([departure(SCALE)]), verbose=True))
    assert "step logits, of scaled_dot_product_attention layer 1" in verbose
    assert "hidden when" in verbose
    assert "met in" in verbose


def test_one_cause_is_told_once_and_last(tmp_path: Path) -> None:
    dropout = Suspected("dropout_active_in_eval", "dropout is active in evaluation too", 1.0)
    ids = ("model.batch.independence", "model.batch.permutation", "model.history_independence")
    results = tuple(LawResult(LAWS[law], "failed", 9) for law in ids)
    named = Diagnosis("model", "named_by_laws", (Suspect(("dropout_active_in_eval",), 0.5),), ids)
    laws = (Judged("", Report("model.py:GPT", "torch", 0, "standard", results, diagnoses=(named,))),)
    found = model_report("model.py:GPT", gpt([departure(dropout)]), laws=laws)
    text = report_text(found)
    assert "(dropout_active_in_eval); 3 laws break with it" in words(text.partition("\n\n")[0])
    assert text.count("`dropout_active_in_eval`") == 1
    last = text.splitlines()[-24:]
    order = ["3 laws break with the departure below", "h.1.attn", "veriformer explain dropout_active_in_eval", "found,"]
    places = [next(number for number, line in enumerate(last) if word in line) for word in order]
    assert places == sorted(places)
    # Another cause is told by itself.
    other = replace(named, suspects=(Suspect(("bias_cache_shape_stale",), 0.5),))
    apart = (replace(laws[0], report=replace(laws[0].report, diagnoses=(other,))),)
    told_apart = report_text(model_report("model.py:GPT", gpt([departure(SCALE)]), laws=apart))
    assert "and breaks model." in words(told_apart.partition("\n\n")[0])
    assert "`bias_cache_shape_stale`" in told_apart
    # A mere guess from the laws that break is worth nothing beside a mistake that was computed.
    guess = replace(named, suspects=(Suspect(("bias_cache_shape_stale",), 0.1),))
    guessed = (replace(laws[0], report=replace(laws[0].report, diagnoses=(guess,))),)
    beside = report_text(model_report("model.py:GPT", gpt([departure(SCALE)]), laws=guessed))
    assert "and breaks model.batch.independence, and 2 other laws" in words(beside.partition("\n\n")[0])
    assert "3 laws break too, perhaps by the departure below" in words(beside)
    assert "`bias_cache_shape_stale`" not in beside
    # Numbers that are drawn anew spoil every comparison of two calls.
    assert "`bias_cache_shape_stale`" not in report_text(
        model_report("model.py:GPT", gpt([departure(dropout)]), laws=apart)
    )


@pytest.mark.parametrize(
    ("confidence", "word"), [(1.0, "certain"), (0.9, "likely"), (0.25, "likely"), (0.2, "perhaps")]
)
def test_how_sure_a_suspect_is(confidence: float, word: str) -> None:
    assert f"`x=y` ({word}): What x=y does." in told(gpt([departure(Suspected("x=y", "what x=y does", confidence))]))


def test_several_suspects_are_listed_and_unknown_ones_have_nothing_to_explain() -> None:
    suspects = [Suspected(f"choice=other_{number}", "something else", 0.5) for number in range(6)]
    text = told(gpt([departure(*suspects)]))
    assert "the likeliest first:" in words(text)
    assert "… and 2 more" in text
    assert "veriformer explain" not in text


def test_no_suspect_is_said_too() -> None:
    assert "No known mistake gives what the model computes there." in told(gpt([departure()]))


def test_what_no_output_depends_on_and_what_was_not_seen_is_listed() -> None:
    unused = tuple(f"h.{number}.unused" for number in range(7))
    text = words(told(gpt(unused=unused, opaque={"enc": "it is scripted"}), notes=("The inputs were guessed.",)))
    assert "Unused h.0.unused, h.1.unused, h.2.unused, h.3.unused, h.4.unused and 2 more: no output" in text
    assert "Not seen enc: it is scripted" in text
    assert "Notices The inputs were guessed." in text


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_page(width: int, verbose: bool) -> None:
    found = departure(SCALE, Suspected("a_b", "something else " * 9, 0.5), file=__file__, line=32)
    recognition = gpt([found], [4], unused=("a.very.long.path.of.a.parameter.that.is.not.used.weight",))
    recognition = Recognition(
        (*recognition.parts, part("transformer.a.path.that.is.rather.long.head", "unembedding")),
        recognition.departures,
        420,
        412,
    )
    text = told(recognition, width, verbose=verbose, notes=("A notice " * 20,))
    assert max(map(len, text.splitlines())) <= width


def test_names_of_others_cannot_write_escape_sequences() -> None:
    bad = "h\x1b[31m"
    found = departure(Suspected(bad, bad, 1.0), path=bad, layer=None, sentence=bad, file=bad)
    recognition = Recognition(
        (part(bad, bad, summary=bad), part(f"{bad}.1.x", "x", 1)), (found,), 9, 9, (bad,), bad, bad
    )
    report = ModelReport(bad, bad, 0, "standard", (), recognition=recognition, notices=(bad,))
    assert "\x1b" not in report_text(report)


def test_json_has_the_keys_of_every_report_and_those_of_a_model(tmp_path: Path) -> None:
    found = departure(SCALE, Suspected("x=y", "what it does", 0.5), file="model.py", line=3)
    report = model_report("model.py:GPT", gpt([found], unused=("a",), opaque={"b": "c"}), seed=5, notes=("n",))
    write_json(tmp_path / "report.json", [report_as_json(report)])
    written = json.loads((tmp_path / "report.json").read_text())
    empty = report_as_json(Report("x", "torch", 0, "standard", ()))
    assert set(empty) <= set(written)
    assert set(empty["counts"]) <= set(written["counts"])
    assert (written["schema"], written["seed"], written["verdict"]) == (1, 5, "violates")
    assert written["notices"] == ["n"]
    assert written["unused"] == ["a"]
    assert written["opaque"] == {"b": "c"}
    assert written["share"] == {"found": 113 / 114, "understood": 412 / 420}
    assert written["parts"][2] == {
        "path": "h.0.attn",
        "role": "attention",
        "layer": 0,
        "summary": HEADS,
        "conventions": {},
        "status": "holds",
        "steps": {"explained": 3, "all": 3},
    }
    (only,) = written["departures"]
    assert {name: only[name] for name in only if name != "diagnosis"} == {
        "path": "h.1.attn",
        "layer": 1,
        "step": "logits",
        "operation": "scaled_dot_product_attention",
        "file": "model.py",
        "line": 3,
        "sentence": "The logits are not divided by √D",
    }
    first, second = only["diagnosis"]
    assert (first["mistake"], first["confidence"], first["recorded"]) == ("scale_missing", 1.0, True)
    assert (second["mistake"], second["recorded"], second["citations"]) == ("x=y", False, [])
    assert [entry["mistake"] for entry in written["diagnosis"]] == ["scale_missing", "x=y"]


def test_a_diagnosis_of_a_model_has_the_keys_of_one_of_operations() -> None:
    from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect

    law = "attention.scale"
    diagnosis = Diagnosis("scaled_dot_product_attention", "reproduced", (Suspect(("scale_missing",), 1.0),), (law,))
    operations = report_as_json(Report("x", "torch", 0, "standard", (), diagnoses=(diagnosis,)))
    models = report_as_json(model_report("m", gpt([departure(SCALE)])))
    assert models["diagnosis"][0].keys() == operations["diagnosis"][0].keys()


def test_json_says_why_a_model_could_not_be_judged() -> None:
    assert report_as_json(model_report("m", gpt(understood=0)))["reason"] == "only 0 % of the model was recognised"
    assert "reason" not in report_as_json(model_report("m", gpt()))
