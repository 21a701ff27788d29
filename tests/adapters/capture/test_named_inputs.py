"""Several inputs that are guessed by what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from veriformer.adapters.capture.named_inputs import Known, arrays_by_name

Shape = tuple[int, ...]
TABLES: Mapping[str, Shape] = {"t_embed.0.weight": (24, 16), "y_embedder.table.weight": (10, 24), "x.proj": (24, 12)}
DECISIONS: Mapping[str, Shape] = {
    "embed_timestep.weight": (40, 24),
    "embed_state.weight": (24, 17),
    "embed_action.weight": (24, 3),
    "embed_return.weight": (24, 1),
}


def known(shapes: Mapping[str, Shape], images: Sequence[Shape] = (), rows: int = 50) -> Known:
    return Known(np.random.default_rng(0), batch=3, length=11, rows=rows, shapes=shapes, images=images)


def first(names: Sequence[str], told: Known) -> tuple[np.ndarray, ...]:
    return next(arrays_by_name(names, told))[1]


@pytest.mark.parametrize("names", (("x", "t", "y"), ("sample", "timesteps", "class_labels"), ("z", "time", "labels")))
def test_images_come_with_a_time_step_and_a_class_of_each_sample(names):
    images, steps, classes = first(names, known(TABLES, images=[(4, 8, 8)]))
    assert images.shape == (3, 4, 8, 8) and images.dtype.kind == "f"
    for numbers in (steps, classes):
        assert numbers.shape == (3,) and numbers.dtype.kind == "i"
        assert len(set(numbers.tolist())) == 3


def test_numbers_have_rows_in_their_tables():
    _, _, classes = first("xty", known({"y_embed.weight": (2, 24)}, images=[(4, 8, 8)]))
    assert set(classes.tolist()) == {0, 1}
    _, steps = first(("x", "timestep"), known({"timestep.table": (7, 24)}, images=[(4, 8, 8)]))
    assert steps.max() < 7


def test_every_likely_image_is_tried():
    tried = [arrays[0].shape for _, arrays in arrays_by_name("xty", known(TABLES, images=[(4, 8, 8), (8, 8, 4)]))]
    assert tried[0] == (3, 4, 8, 8)
    assert (3, 8, 8, 4) in tried


def test_states_actions_and_returns_have_the_widths_of_their_maps():
    names = ("timesteps", "states", "actions", "returns_to_go")
    steps, states, actions, returns = first(names, known(DECISIONS | {"embed_rtg.weight": (24, 1)}))
    assert steps.shape == (3, 11) and steps.dtype.kind == "i" and steps.max() < 40
    widths = [one.shape for _, (_, *arrays) in arrays_by_name(names, known(DECISIONS)) for one in arrays]
    assert {states.shape, actions.shape} <= {(3, 11, 17), (3, 11, 3)} | {(3, 11, 24)}
    assert {(3, 11, 17), (3, 11, 3), (3, 11, 1)} <= set(widths)
    assert states.shape == (3, 11, 17) and actions.shape == (3, 11, 3) and returns.shape == (3, 11, 1)


def test_the_initials_of_a_long_name_are_its_name_too():
    names = ("states", "returns_to_go")
    shapes = {"embed_state.weight": (24, 17), "embed_rtg.weight": (24, 1)}
    assert first(names, known(shapes))[1].shape == (3, 11, 1)


@pytest.mark.parametrize("names", (("image", "text"), ("images", "input_ids"), ("pixel_values", "captions")))
def test_images_come_with_tokens_of_texts(names):
    images, tokens = first(names, known({}, images=[(3, 32, 32)], rows=20))
    assert images.shape == (3, 3, 32, 32)
    assert tokens.shape == (3, 11) and tokens.dtype.kind == "i"
    assert tokens.min() >= 0 and tokens.max() < 20


def test_what_is_tried_is_said():
    words, _ = next(arrays_by_name("xty", known(TABLES, images=[(4, 8, 8)])))
    assert words == "x floats (3, 4, 8, 8), t steps (3,), y classes (3,)"


@pytest.mark.parametrize(
    ("names", "images"),
    (
        pytest.param(("x",), [(4, 8, 8)], id="one argument"),
        pytest.param(("x", "spokes"), [(4, 8, 8)], id="a name that nothing tells"),
        pytest.param(("spokes", "wheels"), [], id="no name that anything tells"),
    ),
)
def test_nothing_is_tried_for(names, images):
    assert list(arrays_by_name(names, known(TABLES, images=images))) == []


def test_few_are_tried():
    names = tuple(f"states_{place}" for place in range(9))
    assert 1 < len(list(arrays_by_name(names, known({"state.weight": (24, 17)})))) <= 96


WHISPER: Mapping[str, Shape] = {
    "encoder.conv1.weight": (48, 16, 3),
    "encoder.conv2.weight": (48, 48, 3),
    "decoder.token_embedding.weight": (60, 48),
}


def test_sound_has_the_channels_of_a_convolution_and_the_frames_of_a_table():
    told = Known(np.random.default_rng(0), 2, 11, 60, WHISPER, images=(), tables=[*WHISPER.values(), (20, 48)])
    tried = [arrays for _, arrays in arrays_by_name(("mel", "tokens"), told)]
    assert {(2, 16, 40), (2, 16, 20)} <= {sound.shape for sound, _ in tried}
    assert all(tokens.dtype.kind == "i" and tokens.shape == (2, 11) for _, tokens in tried)


def test_sound_of_jax_has_its_channels_last():
    told = Known(np.random.default_rng(0), 2, 11, 60, {"conv.kernel": (3, 16, 48)}, images=(), tables=[(20, 48)])
    sound, _ = first(("input_features", "decoder_input_ids"), told)
    assert sound.shape == (2, 40, 16)
