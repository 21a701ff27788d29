"""Inputs that are guessed, for models as people write them."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.adapters.capture.fitting_inputs import NoInputsFit, first_that_runs, inputs_example
from veriformer.adapters.capture.inputs import Candidate, candidates, vocabulary


def shapes_seen(shapes, called, first_input=0):
    """Return the shapes of the arrays of each candidate."""
    return [
        [np.shape(array) for array in (*one.arguments, *one.keywords.values()) if array is not None]
        for one in candidates(shapes, called, first_input)
    ]


LANGUAGE_MODEL = {"wte.weight": (53, 24), "wpe.weight": (16, 24), "h.0.attn.weight": (72, 24), "h.0.ln.weight": (24,)}


def test_tokens_come_first_and_have_rows():
    first = next(candidates(LANGUAGE_MODEL, lambda idx, targets=None: None))
    (tokens,) = first.arguments
    assert tokens.shape == (2, 11) and tokens.dtype == np.int64
    assert 16 < tokens.max() < 53 and tokens.min() >= 0
    assert first.keywords == {}


@pytest.mark.parametrize(
    ("shapes", "rows"),
    [
        (LANGUAGE_MODEL, 53),
        ({"embeddings.word_embeddings.weight": (71, 8), "embeddings.token_type_embeddings.weight": (2, 8)}, 71),
        ({"src_embed.weight": (50, 8), "tgt_embed.weight": (40, 8), "out.weight": (12, 8)}, 40),
        ({"a": (60, 24), "b": (24, 72), "heads.bias": (3, 8)}, 24),
        ({}, 2),
    ],
)
def test_tokens_are_within_every_table(shapes, rows):
    assert vocabulary(shapes) == rows


def test_two_required_sequences_are_of_two_lengths():
    assert shapes_seen(LANGUAGE_MODEL, lambda src, tgt: None)[0] == [(2, 11), (2, 7)]


def test_a_target_that_is_optional_by_name_is_given_in_a_later_attempt():
    def forward(input_ids=None, attention_mask=None, decoder_input_ids=None): ...

    tried = list(candidates(LANGUAGE_MODEL, forward))
    assert {"input_ids", "decoder_input_ids"} in [set(one.keywords) for one in tried[:3]]
    assert not any("attention_mask" in one.keywords for one in tried)


def test_arguments_that_are_no_inputs_are_known_by_name():
    def forward(tokens, start_pos, mask, *, key, deterministic, positions): ...

    first = next(candidates(LANGUAGE_MODEL, forward))
    assert first.arguments[1:] == (0, None)
    assert first.keywords["key"] is None and first.keywords["deterministic"] is True
    np.testing.assert_array_equal(first.keywords["positions"], np.arange(11))


def test_required_masks_are_given_in_a_later_attempt():
    def forward(src, tgt, src_mask, tgt_mask): ...

    tried = list(candidates(LANGUAGE_MODEL, forward))
    assert tried[0].arguments[2:] == (None, None)
    (masked,) = [one for one in tried if one.description.endswith("with masks")]
    source, target = masked.arguments[2:]
    assert source.shape == (2, 1, 11) and source.all()
    assert (target == np.tri(7, dtype=bool)).all()


def test_the_parameters_of_a_function_are_no_input():
    assert shapes_seen(LANGUAGE_MODEL, lambda parameters, tokens: None, first_input=1)[0] == [(2, 11)]


def test_an_image_comes_first_where_its_name_or_a_convolution_says_so():
    table = {"cls": (1, 1, 24), "patch.weight": (24, 3, 4, 4), "positions": (1, 13, 24)}
    assert shapes_seen(table, lambda x: None)[0] in ([(2, 3, 12, 16)], [(2, 3, 16, 12)])
    by_name = {"patch.weight": (24, 48), "positions": (1, 10, 24)}
    assert [(2, 3, 12, 12)] in shapes_seen(by_name, lambda images: None)[:6]
    channels_last = {"patch.kernel": (4, 4, 3, 24), "positions": (1, 10, 24)}
    assert [(2, 12, 12, 3)] in shapes_seen(channels_last, lambda x: None)[:6]


def test_floats_have_a_width_of_the_first_parameters():
    shapes = {"in_proj": (72, 24), "norm": (24,)}
    floats = [shape for shape in shapes_seen(shapes, lambda features: None) if len(shape[0]) == 3]
    assert floats[:2] == [[(2, 11, 24)], [(2, 11, 72)]]
    assert shapes_seen(shapes, lambda features: None)[0] == [(2, 11, 24)]


def test_the_first_that_runs_is_returned_with_its_result():
    def run(candidate):
        if candidate.arguments == (1,):
            raise ValueError("not one")
        return candidate.arguments[0] * 10

    chosen, result = first_that_runs([Candidate("one", (1,)), Candidate("two", (2,)), Candidate("three", (3,))], run)
    assert (chosen.description, result) == ("two", 20)


def test_the_error_has_every_attempt_and_what_to_do():
    def run(candidate):
        raise ValueError(f"no {candidate.arguments[0]}")

    with pytest.raises(NoInputsFit) as raised:
        first_that_runs([Candidate("tokens (2, 11)", (1,)), Candidate("images", (2,))], run)
    message = str(raised.value)
    assert "tokens (2, 11): ValueError: no 1" in message and "images: ValueError: no 2" in message
    assert "write a function `inputs()` in its file" in message


# --- with real models -------------------------------------------------------------------------------------------------


def runs_with_torch(model):
    """Return the description of the candidate that a model of torch runs on."""
    torch = pytest.importorskip("torch")

    def tensor(value):
        if not isinstance(value, np.ndarray):
            return value
        return torch.from_numpy(value).float() if value.dtype == np.float64 else torch.from_numpy(value)

    def run(candidate):
        keywords = {name: tensor(value) for name, value in candidate.keywords.items()}
        return model.eval()(*map(tensor, candidate.arguments), **keywords)

    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    return first_that_runs(candidates(shapes, model.forward), run)[0].description


def test_a_sequence_to_sequence_model_with_the_length_first():
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_source, self.embed_target = torch.nn.Embedding(51, 32), torch.nn.Embedding(47, 32)
            self.transformer = torch.nn.Transformer(32, 4, 1, 1, 64)

        def forward(self, src, tgt):
            return self.transformer(self.embed_source(src), self.embed_target(tgt))

    assert runs_with_torch(Model()) == "tokens (11, 2) and (7, 2) below 47"


def test_a_layer_that_wants_floats():
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(24, 4, 40, batch_first=True)
    assert runs_with_torch(layer) == "floats (2, 11, 24)"


@pytest.mark.parametrize(("channels_last", "shape"), [(False, "(2, 20, 11)"), (True, "(2, 11, 20)")])
def test_a_convolution_over_a_sequence(channels_last, shape):
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution, self.head = torch.nn.Conv1d(20, 24, 3, padding=1), torch.nn.Linear(24, 24)

        def forward(self, mel):
            mel = mel.transpose(1, 2) if channels_last else mel
            return self.head(self.convolution(mel).transpose(1, 2))

    assert runs_with_torch(Model()) == f"floats {shape}"


def test_a_vision_transformer():
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cls = torch.nn.Parameter(torch.zeros(1, 1, 24))
            self.position = torch.nn.Parameter(torch.zeros(1, 17, 24))
            self.patch = torch.nn.Conv2d(3, 24, 8, 8)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            return torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.position

    assert runs_with_torch(Model()) == "images (2, 3, 32, 32)"


def test_an_equinox_model_of_one_sequence():
    equinox, jax = pytest.importorskip("equinox"), pytest.importorskip("jax")
    from veriformer.adapters.capture.jax import capture

    class Model(equinox.Module):
        embed: equinox.nn.Embedding
        mix: equinox.nn.Linear

        def __init__(self):
            first, second = jax.random.split(jax.random.key(0))
            self.embed = equinox.nn.Embedding(19, 6, key=first)
            self.mix = equinox.nn.Linear(6, 6, key=second)

        def __call__(self, tokens, key=None):
            return jax.vmap(self.mix)(jax.vmap(self.embed)(tokens))

    model = Model()
    shapes = {"embed.weight": (19, 6), "mix.weight": (6, 6), "mix.bias": (6,)}
    chosen, trace = first_that_runs(
        candidates(shapes, model), lambda candidate: capture(model, candidate.arguments, candidate.keywords)
    )
    assert chosen.description == "tokens (11,) below 19"
    assert trace.values[trace.outputs[0]].array.shape == (11, 6)


def test_queries_keys_and_values_are_three_arrays_in_whichever_order():
    first = next(candidates({"w": (24, 24)}, lambda values, keys, query, mask: None))
    values, keys, query, mask = first.arguments
    assert (query.shape, keys.shape, values.shape, mask) == ((2, 11, 24), (2, 7, 24), (2, 7, 24), None)
    assert not np.array_equal(keys, values)


def test_a_key_without_a_query_is_a_source_of_random_numbers():
    first = next(candidates({"w": (24, 24)}, lambda x, key: None))
    assert first.arguments[1] is None


def test_a_mask_of_the_keys_is_tried_as_numbers_and_as_truth_values():
    def forward(tokens, attention_mask):
        assert attention_mask.shape == tokens.shape
        return wanted(attention_mask)

    for kind in (np.int64, np.bool_):

        def wanted(mask, kind=kind):
            assert mask.dtype == kind

        shapes = {"embed.weight": (50, 24)}
        chosen, _ = first_that_runs(candidates(shapes, forward), lambda one: forward(*one.arguments, **one.keywords))
        assert chosen.description.endswith("with a mask of that shape")


def test_an_example_names_the_arguments_of_the_model():
    def forward(self, tokens, flavour, *more, scale=1.0, **others):
        return tokens

    text = inputs_example(forward, 1)
    assert text.splitlines()[-2:] == ["  def inputs():", '      return {"tokens": ..., "flavour": ...}']
    assert inputs_example(None) == ""


def test_an_image_may_come_without_an_axis_of_samples():
    shapes = {"patch_proj.weight": (40, 48), "pos": (17, 40), "head.weight": (11, 40)}
    seen = [one[0] for one in shapes_seen(shapes, lambda image: None)]
    alone = [one for one in seen if len(one) == 3 and one[0] == 3]
    assert (3, 16, 16) in alone
    # Images of several samples are tried before.
    assert max(number for number, one in enumerate(seen) if len(one) == 4) < seen.index(alone[0])


def test_the_last_sequence_ends_with_the_token_that_is_padding():
    first = next(candidates(LANGUAGE_MODEL, lambda src, tgt: None, padding=3))
    source, target = first.arguments
    assert (source[-1, -2:] == 3).all() and (target[-1, -2:] == 3).all() and (source != 3).sum() >= source.size - 3
    assert first.description == ("tokens (2, 11) and (2, 7) below 53, the last sample ending with 2 of padding (3)")


def test_padding_is_not_drawn_where_an_argument_says_what_is_padding():
    first = next(candidates(LANGUAGE_MODEL, lambda idx, attention_mask=None: None, padding=3))
    assert "padding" not in first.description and not (first.arguments[0][-1, -2:] == 3).all()
    beyond = next(candidates(LANGUAGE_MODEL, lambda idx: None, padding=53))
    assert "padding" not in beyond.description
