"""What the interface document says of whole models is what the code has."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters import numpy as built_in
from veriformer.adapters.model_declarations import ARCHITECTURES, PROPERTIES, BlackBox
from veriformer.conformance_tests import check
from veriformer.reference import TransformerConfiguration, configure
from veriformer.reference.model_weights import EncoderDecoderWeights, TransformerWeights, weight_tree

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### Whole models: configuration and weights\n")[2].partition("\n## ")[0]
SIZES = {"num_layers": 1, "d_model": 4, "num_heads": 2, "d_ff": 6, "vocabulary_size": 5, "max_length": 3}
# What the page says in words, as choices of a configuration.
WORDS: dict[str, dict[str, Any]] = {
    "learned positions": {"positions": "learned"},
    "sinusoids": {"positions": "sinusoidal"},
    "rotary positions": {"positions": "rotary"},
    "a norm after the embedding": {"embedding_norm": True},
    "after each sum": {"norm_first": False, "final_norm": False},
    "norms after the sums": {"norm_first": False, "final_norm": False},
    "before the sublayers and at the end": {"norm_first": True, "final_norm": True},
    "RMS norms": {"norm": "rms_norm"},
    "ReLU": {"activation": "relu"},
    "GELU": {"activation": "gelu"},
    "gated SiLU": {"activation": "silu", "gated": True},
    "one scaled table for source, target and logits": {"scale_embedding": True, "tied_embedding": True},
    "tied logits": {"tied_embedding": True},
    "an unembedding of its own": {"tied_embedding": False},
    "no biases": {"biases": False},
}


def cells(first: str) -> list[str]:
    """Return the cells of the section's row whose first cell has the text."""
    line = next(line for line in SECTION.splitlines() if line.startswith("| ") and first in line.split(" | ")[0])
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def table(header: str) -> list[str]:
    """Return the first cells of the section's table that has the header."""
    lines = SECTION.partition(header)[2].splitlines()[2:]
    end = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [line.split(" | ")[0] for line in lines[:end]]


def names(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def made(architecture: Any) -> Any:
    return weight_tree(configure(architecture, **SIZES), lambda name, shape: np.zeros(shape))


def test_the_configuration_has_the_attributes_of_the_page() -> None:
    shown = [name for cell in table("| attribute | meaning |") for name in names(cell)]
    assert sorted(shown) == sorted(item.name for item in fields(TransformerConfiguration))


def test_architectures_of_the_page_are_those_of_the_code() -> None:
    shown = {names(cell)[0]: names(cells(cell)[1]) for cell in table("| architecture | operation | what it is |")}
    # Where an architecture has an operation, it has its gradients.
    forward = {name: kinds for name, kinds in ARCHITECTURES.items() if not name.endswith("_backward")}
    assert shown == {
        kind: [operation for operation, kinds in forward.items() if kind in kinds]
        for kind in dict.fromkeys(kind for kinds in forward.values() for kind in kinds)
    }


@pytest.mark.parametrize("architecture", ["bert", "vaswani", "gpt", "llama"])
def test_an_architecture_has_the_choices_that_the_page_names(architecture: Any) -> None:
    config, described = configure(architecture, **SIZES), cells(f"| `{architecture}`")[2]
    said = {key: value for words, choices in WORDS.items() if words in described for key, value in choices.items()}
    assert {"positions", "norm_first", "final_norm", "activation"} <= set(said)
    assert said == {name: getattr(config, name) for name in said}


def test_bart_has_the_choices_of_bert() -> None:
    bart, bert = (vars(configure(name, **SIZES)) for name in ("bart", "bert"))
    assert cells("| `bart`")[2].startswith("as `bert`; a position table for each")
    assert {name for name in bart if bart[name] != bert[name]} <= {"architecture", "eps"}


def test_trees_of_weights_have_the_attributes_of_the_page() -> None:
    assert set(names(cells("weights of `encoder`")[1])) == {item.name for item in fields(TransformerWeights)}
    shown = names(cells("weights of `encoder_decoder`")[1])
    first = [name for name in shown if name.startswith("encoder_")]
    both = {*shown, *(name.replace("encoder_", "decoder_") for name in first)}
    assert len(first) == 4
    assert both == {item.name for item in fields(EncoderDecoderWeights)}


def test_layers_and_norms_have_the_attributes_of_the_page() -> None:
    own, of_decoder = cells("| a layer")[1].split("; ")
    first = made("bart")
    assert set(names(own)) - {"multi_head_attention"} == set(vars(first.encoder_layers[0]))
    assert set(names(of_decoder)) == set(vars(first.decoder_layers[0]))
    assert names(cells("| a norm")[1])[:2] == list(vars(first.encoder_layers[0].norm_1))
    assert made("llama").layers[0].norm_1.beta is None


def test_feed_forward_networks_have_the_attributes_of_the_page() -> None:
    plain, gated = cells("| `feed_forward`")[1].split("; gated: ")
    assert set(names(plain)) == set(vars(made("gpt").layers[0].feed_forward))
    assert set(names(gated)) == set(vars(made("llama").layers[0].feed_forward))


def test_what_a_model_takes_and_promises_is_on_the_page() -> None:
    assert names(cells("`model_inputs`")[1]) == [
        item.name for item in fields(BlackBox) if item.name not in ("properties", "parameters")
    ]
    assert re.findall(r'`"(\w+)"`', cells("`model_properties`")[1]) == list(PROPERTIES)


@pytest.mark.parametrize(("architecture", "status"), [("gpt", "passed"), ("llama", "not_declared")])
def test_laws_about_architectures_that_are_not_declared_are_not_tried(architecture: str, status: str) -> None:
    found = SimpleNamespace(language_model=built_in.language_model, architectures={"language_model": ("gpt",)})
    laws = ("language_model.architecture.gpt", "language_model.architecture.llama")
    report = check(found, laws=laws, tier="quick")
    result = next(result for result in report.results if result.law.id == f"language_model.architecture.{architecture}")
    assert result.status == status


def test_a_model_is_called_only_where_its_inputs_are_declared() -> None:
    silent = SimpleNamespace(model=lambda inputs: inputs, softmax=built_in.softmax)
    report = check(silent, laws=("model.shape", "softmax.shape"), tier="quick")
    assert {result.law.id: result.status for result in report.results} == {
        "softmax.shape": "passed",
        "model.shape": "not_declared",
    }
