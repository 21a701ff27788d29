"""Diagnosis of gradients of whole models: mistakes that no planted program has, in another's words."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from veriformer.conformance_tests import check, mistakes

pytest.importorskip("torch")
pytestmark = pytest.mark.long

SOURCE = (Path(mistakes.__file__).parent / "sources" / "models_torch.py").read_text("utf-8")
ENCODER, TRANSLATOR, LANGUAGE = "encoder_backward", "encoder_decoder_backward", "language_model_backward"

LOOKUP = """

class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(context, table, tokens):
        context.save_for_backward(tokens)
        context.shape = table.shape
        return table[tokens]

    @staticmethod
    def backward(context, gradient):
        (tokens,) = context.saved_tensors
        result = gradient.new_zeros(context.shape)
        for place, token in enumerate(tokens.flatten()):
            result[token] = gradient.flatten(0, 1)[place]
        return result, None
"""
NORM = """

class Norm(torch.autograd.Function):
    @staticmethod
    def forward(context, x, gamma, beta, eps):
        inverse = (x.var(-1, keepdim=True, unbiased=False) + eps).rsqrt()
        normed = (x - x.mean(-1, keepdim=True)) * inverse
        context.save_for_backward(normed, inverse, gamma)
        return normed * gamma + beta

    @staticmethod
    def backward(context, gradient):
        normed, inverse, gamma = context.saved_tensors
        return inverse * gamma * gradient, (gradient * normed).sum((0, 1)), gradient.sum((0, 1)), None
"""


# A norm that is asked for by another name, and gives the stream the gradient of a product alone.
LAST = """

def last(x, weights, config):
    normed = norm(x, weights, config).detach() if weights is not None else x
    if weights is None:
        return x
    gain, shift = weights.gamma, getattr(weights, "beta", None)
    root = root_of(x.detach(), config)
    unit = (normed - (0 if shift is None else shift.detach())) / gain.detach()
    moved = unit + (x - x.detach()) / root
    return moved * gain if shift is None else moved * gain + shift


def root_of(x, config):
    if config.norm == "rms_norm":
        return (x.square().mean(-1, keepdim=True) + config.eps).sqrt()
    return (x.var(-1, keepdim=True, unbiased=False) + config.eps).sqrt()
"""


class Program(NamedTuple):
    """A mistake in a source: the operation whose gradients it makes wrong, a line, another, and what is added below."""

    operation: str
    right: str
    wrong: str
    name: str
    below: str = ""


RETURNED = "return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)"
PROGRAMS = {
    "repeated tokens overwrite": Program(
        LANGUAGE,
        "x = table[tokens]",
        "x = Lookup.apply(table, tokens)",
        "embedding_backward_repeated_tokens_overwrite",
        LOOKUP,
    ),
    "norms without projections": Program(
        ENCODER,
        "functional.layer_norm(x, x.shape[-1:], ",
        "Norm.apply(x, ",
        "norm_backward_projections_forgotten",
        NORM,
    ),
    "positions of the last sample": Program(
        ENCODER,
        "x = x + positions[start:end]",
        "rows = positions[start:end].expand_as(x)\n        x = x + torch.cat([rows[:-1].detach(), rows[-1:]])",
        "positions=of_last_sample",
    ),
    "a source that the table does not hear of": Program(
        TRANSLATOR,
        "memory = embed(source, weights.embedding",
        "memory = embed(source, weights.embedding.detach()",
        "table=not_of_source",
    ),
    "memory of the last layer": Program(
        TRANSLATOR,
        "x = decoder_layer_forward(x, memory,",
        "x = decoder_layer_forward(x, memory if layer is weights.decoder_layers[-1] else memory.detach(),",
        "memory_sum=of_last_layer",
    ),
    "an output matrix that is frozen": Program(
        LANGUAGE,
        "else weights.unembedding)",
        "else weights.unembedding.detach())",
        "network_weights_without_gradient",
    ),
    "the last norm's projections": Program(
        LANGUAGE,
        "unembed(norm(x, weights.final_norm, config), weights), tuple(new_cache)",
        "unembed(last(x, weights.final_norm, config), weights), tuple(new_cache)",
        "norm_backward_projections_forgotten",
        LAST,
    ),
    "a stream that is cut between layers": Program(
        ENCODER,
        "x, _ = layer_forward(x, layer",
        "x, _ = layer_forward(x if layer is weights.layers[0] else x.detach(), layer",
        "gradient_cut_off",
    ),
    "a network whose residual path is cut": Program(
        LANGUAGE,
        "return x + network(norm(x, layer.norm_2",
        "return x.detach() + network(norm(x, layer.norm_2",
        "residual_gradient_forgotten",
    ),
    "keys that give the stream no gradient": Program(
        ENCODER,
        "key = heads(x, weights.w_k",
        "key = heads(x.detach(), weights.w_k",
        "projection_backward_one_path_lost",
    ),
    "a rotation that is not turned back": Program(
        LANGUAGE,
        RETURNED,
        RETURNED.replace("return", "turned =") + "\n    return x + (turned - x).detach()",
        "rotary_gradient_not_turned",
    ),
    "a gate without gradient": Program(
        ENCODER,
        '"gelu": functional.gelu',
        '"gelu": lambda z: z * (0.5 + 0.5 * torch.erf(z / 2**0.5)).detach()',
        "activation_gate_detached",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mistake_in_the_gradients_of_a_model_is_named(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    assert SOURCE.count(program.right) == 1
    path = tmp_path / "mine.py"
    path.write_text(SOURCE.replace(program.right, program.wrong) + program.below)
    (found,) = check(str(path), operations=(program.operation,), tier="quick", shrink=False, seed=1).diagnoses
    assert found.how == "reproduced"
    assert found.suspects[0].mistakes == (program.name,)
