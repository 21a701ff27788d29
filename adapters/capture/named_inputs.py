"""Arrays for several arguments, by what each is called: images with time steps and classes, states with actions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from veriformer.adapters.capture.weights import Array

Shape = tuple[int, ...]
_IMAGES = re.compile(r"^(x|z|pixel_values|images?|imgs?|pixels|pictures?|sample|latents?|noisy|hidden_states)$", re.I)
_ANYTHING = re.compile(r"^(x|z|hidden_states)$", re.I)
_STEPS = re.compile(r"^(t|ts|time|times|timesteps?|time_?steps?|diffusion_step|sigmas?|noise_level)$", re.I)
_CLASSES = re.compile(r"^(y|c|cls|labels?|class(es)?|class_?(labels?|ids?)|cond)$", re.I)
_TOKENS = re.compile(r"text|token|caption|input_ids|prompt|ids$|idx|src|tgt|source|target|words", re.I)
_CONTEXT = re.compile(r"^(context|ctx|cond|txt|encoder_hidden_states|text_(states|embeds?)|prompt_embeds?)$", re.I)
_POOLED = re.compile(r"^(pooled\w*|vec|vector|vectors|global_cond)$", re.I)
# What the first maps of contexts and of vectors of whole samples are called.
_OF_CONTEXT, _OF_POOLED = ("txt", "text", "context", "ctx", "caption", "cond"), ("vector", "vec", "pooled", "global")
_SOUND = re.compile(
    r"^(mels?|(log_?)?mel_?(spec(trogram)?s?)?|spectrograms?|spec|audio|input_features|fbanks?|filterbanks?|frames)$",
    re.I,
)
_ROTATIONS = re.compile(r"^(freqs?_?(cis|complex)|freqs|rope_?(cis|freqs)|rotary_?(freqs|emb))$", re.I)
_COSINES = re.compile(r"^(rope_?|rotary_?|freqs?_?)?(cos|cosine|sin|sine)(_cached|_cache|_table)?$", re.I)
_BASE = 10_000.0
_LENGTHS = re.compile(r"(^|_)(lens?|lengths?|seqlens?)$", re.I)
_FILLER = frozenset({"to", "of", "the", "in", "x", "input", "inputs"})
_MOST = 96
# Diffusion is mostly trained with so many time steps.
_MOST_STEPS = 1000


@dataclass(frozen=True)
class Known:
    """What is known of a model's inputs: batch, length, number of tokens, shapes of parameters and of images to try.

    `widths` are those that vectors may have whose argument no parameter is called like, `tables` the shapes of all
    arrays.
    """

    generator: np.random.Generator
    batch: int
    length: int
    rows: int
    shapes: Mapping[str, Shape]
    images: Sequence[Shape]
    widths: Sequence[int] = ()
    tables: Sequence[Shape] = ()


def arrays_by_name(names: Sequence[str], known: Known) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Yield arrays for arguments of these names, with a description, the likeliest first; up to a number of them."""
    if len(names) < 2:
        return
    turns = any(_ROTATIONS.match(name) or _COSINES.match(name) for name in names)
    has_images = bool(known.images) and any(_IMAGES.match(name) for name in names) and not turns
    kinds = [_kinds(name, known, has_images=has_images) for name in names]
    if not all(kinds):
        return
    for chosen in islice(product(*kinds), _MOST):
        words = (f"{name} {kind} {array.shape}" for name, (kind, array) in zip(names, chosen, strict=True))
        yield ", ".join(words), tuple(array for _, array in chosen)


def _kinds(name: str, known: Known, *, has_images: bool) -> Sequence[tuple[str, Array]]:
    """Return the arrays that an argument of a name may want."""
    batch, length, generator = known.batch, known.length, known.generator
    if _SOUND.match(name) and (sounds := list(_sounds(known))):
        return [("floats", generator.normal(size=(batch, *shape))) for shape in sounds]
    if _LENGTHS.search(name):
        # The first sequence fills its row, and the others have padding behind them.
        return [("lengths", np.maximum(length - np.arange(batch), 1))]
    if _ROTATIONS.match(name):
        return [("rotations", np.exp(1j * angles)) for angles in _angles(known)]
    if _COSINES.match(name):
        function = np.sin if "sin" in name.lower() else np.cos
        alike = [np.concatenate([one, one], axis=1) for one in _angles(known)]
        return [("rotations", function(angles)) for angles in (*alike, *_angles(known))]
    if _STEPS.match(name):
        rows = _rows_called(name, known) or _MOST_STEPS
        single = generator.permutation(rows)[:batch] if rows >= batch else np.zeros(batch, np.int64)
        along = np.broadcast_to(np.arange(length) % rows, (batch, length)).copy()
        return [("steps", single)] if has_images else [("steps", along), ("steps", single)]
    if has_images and _IMAGES.match(name):
        images = [("floats", generator.normal(size=(batch, *shape))) for shape in _few_of_each(known.images)]
        # What is called x may be vectors of a sequence as well.
        return [*images, *(_vectors(name, known) if _ANYTHING.match(name) else [])]
    if _CLASSES.match(name) and has_images:
        tables = (rows for rows, _ in _matrices(known, lambda path: "emb" in path))
        rows = _rows_called(name, known) or min(tables, default=2)
        return [("classes", np.arange(batch) % rows)]
    if _POOLED.match(name):
        return [
            ("floats", generator.normal(size=(batch, width))) for width in _widths_where(known, _has_one_of(_OF_POOLED))
        ]
    if _CONTEXT.match(name) and (widths := _widths_where(known, _has_one_of(_OF_CONTEXT))):
        return [("floats", generator.normal(size=(batch, length, width))) for width in widths]
    if _TOKENS.search(name) or _CONTEXT.match(name):
        return [("tokens", generator.integers(0, known.rows, (batch, length)))]
    return _vectors(name, known)


def _vectors(name: str, known: Known) -> list[tuple[str, Array]]:
    """Return vectors of sequences, of the widths that a parameter called like the argument has, else of any."""
    widths = _widths_where(known, lambda path: _share_a_word(name, path)) or list(known.widths)
    return [("floats", known.generator.normal(size=(known.batch, known.length, width))) for width in widths]


def _angles(known: Known) -> list[Array]:
    """Return the angles of rotary embeddings, (length, half of a head), for each width of heads that there may be."""
    widths = [width for one in known.widths for width in range(one, 3, -2) if one % width == 0 and width % 2 == 0]
    # Heads of a few numbers are guessed first, and a model has several.
    halves = [width // 2 for width in dict.fromkeys(sorted(widths))]
    return [np.outer(np.arange(known.length), _BASE ** (-np.arange(half) / half)) for half in halves]


def _sounds(known: Known) -> Iterator[Shape]:
    """Yield shapes of channels over time, as the first convolution over one axis takes them, for each table behind it.

    A convolution of stride two halves the frames. PyTorch has channels first, and its kernels (out, in, size).
    """
    kernel = next((shape for shape in known.shapes.values() if len(shape) == len(("out", "in", "size"))), None)
    if kernel is None:
        return
    is_first = kernel[-1] <= kernel[0]
    channels, width = kernel[1], kernel[0] if is_first else kernel[-1]
    rows = [shape[-2] for shape in known.tables if len(shape) > 1 and shape[-1] == width]
    for frames in dict.fromkeys((*(count * one for one in rows for count in (2, 1)), 2 * known.length, known.length)):
        yield (channels, frames) if is_first else (frames, channels)


def _few_of_each(images: Sequence[Shape]) -> list[Shape]:
    """Return a few shapes of images for each number of channels, in turns, the likeliest first."""
    found: dict[int, list[Shape]] = {}
    for shape in images:
        found.setdefault(min(shape), []).append(shape)
    return [shape for place in range(6) for shapes in found.values() for shape in shapes[place : place + 1]][:20]


def _rows_called(name: str, known: Known) -> int | None:
    """Return the rows of the smallest table whose name has a word of an argument's; None where there is none."""
    return min((rows for rows, _ in _matrices(known, lambda path: _share_a_word(name, path))), default=None)


def _widths_where(known: Known, fits: Callable[[str], bool]) -> list[int]:
    """Return the widths of the first matrix whose path fits, the smaller one first."""
    return next((list(dict.fromkeys(sorted(shape))) for shape in _matrices(known, fits)), [])


def _matrices(known: Known, fits: Callable[[str], bool]) -> Iterator[Shape]:
    return (shape for path, shape in known.shapes.items() if len(shape) == 2 and fits(path.lower()))


def _has_one_of(words: Sequence[str]) -> Callable[[str], bool]:
    return lambda path: not set(words).isdisjoint(re.split(r"[._\d]+", path))


def _share_a_word(name: str, path: str) -> bool:
    words = [word.rstrip("s") for word in name.lower().split("_") if word]
    initials = "".join(word[0] for word in words)
    in_path = {word.rstrip("s") for word in re.split(r"[._\d]+", path)}
    return bool(in_path & (set(words) - _FILLER)) or (len(words) > 2 and initials in in_path)
