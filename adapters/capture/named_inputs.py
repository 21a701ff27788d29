"""Arrays for several arguments, by what each is called: images with time steps and classes, states with actions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from veriformer.adapters.capture.weights import Array

Shape = tuple[int, ...]
_IMAGES = re.compile(r"^(x|z|pixel_values|images?|imgs?|pixels|pictures?|sample|latents?|noisy|hidden_states)$", re.I)
_STEPS = re.compile(r"^(t|ts|time|times|timesteps?|time_?steps?|diffusion_step|sigmas?|noise_level)$", re.I)
_CLASSES = re.compile(r"^(y|c|cls|labels?|class(es)?|class_?(labels?|ids?)|cond)$", re.I)
_TOKENS = re.compile(r"text|token|caption|input_ids|prompt|ids$|idx|src|tgt|source|target|words", re.I)
_CONTEXT = re.compile(r"^(context|ctx|cond|txt|encoder_hidden_states|text_(states|embeds?)|prompt_embeds?)$", re.I)
_POOLED = re.compile(r"^(pooled\w*|vec|vector|vectors|global_cond)$", re.I)
# What the first maps of contexts and of vectors of whole samples are called.
_OF_CONTEXT, _OF_POOLED = ("txt", "text", "context", "ctx", "caption", "cond"), ("vector", "vec", "pooled", "global")
_FILLER = frozenset({"to", "of", "the", "in", "x", "input", "inputs"})
_MOST = 96


@dataclass(frozen=True)
class Known:
    """What is known of a model's inputs: batch, length, number of tokens, shapes of parameters and of images to try.

    `widths` are those that vectors may have whose argument no parameter is called like.
    """

    generator: np.random.Generator
    batch: int
    length: int
    rows: int
    shapes: Mapping[str, Shape]
    images: Sequence[Shape]
    widths: Sequence[int] = ()


def arrays_by_name(names: Sequence[str], known: Known) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Yield arrays for arguments of these names, with a description, the likeliest first; up to a number of them."""
    if len(names) < 2:
        return
    has_images = bool(known.images) and any(_IMAGES.match(name) for name in names)
    kinds = [_kinds(name, known, has_images=has_images) for name in names]
    if not all(kinds):
        return
    for chosen in islice(product(*kinds), _MOST):
        words = (f"{name} {kind} {array.shape}" for name, (kind, array) in zip(names, chosen, strict=True))
        yield ", ".join(words), tuple(array for _, array in chosen)


def _kinds(name: str, known: Known, *, has_images: bool) -> Sequence[tuple[str, Array]]:
    """Return the arrays that an argument of a name may want."""
    batch, length, generator = known.batch, known.length, known.generator
    if _STEPS.match(name):
        rows = _rows_called(name, known, 1000)
        single = generator.permutation(rows)[:batch] if rows >= batch else np.zeros(batch, np.int64)
        along = np.broadcast_to(np.arange(length) % rows, (batch, length)).copy()
        return [("steps", single)] if has_images else [("steps", along), ("steps", single)]
    if has_images and _IMAGES.match(name):
        return [("floats", generator.normal(size=(batch, *shape))) for shape in _few_of_each(known.images)]
    if _CLASSES.match(name) and has_images:
        rows = _rows_called(name, known, 2)
        return [("classes", np.arange(batch) % rows)]
    if _POOLED.match(name):
        return [("floats", generator.normal(size=(batch, width))) for width in _widths_of_words(_OF_POOLED, known)]
    if _CONTEXT.match(name) and (widths := _widths_of_words(_OF_CONTEXT, known)):
        return [("floats", generator.normal(size=(batch, length, width))) for width in widths]
    if _TOKENS.search(name) or _CONTEXT.match(name):
        return [("tokens", generator.integers(0, known.rows, (batch, length)))]
    widths = _widths_called(name, known) or list(known.widths)
    return [("floats", generator.normal(size=(batch, length, width))) for width in widths]


def _few_of_each(images: Sequence[Shape]) -> list[Shape]:
    """Return a few shapes of images for each number of channels, in turns, the likeliest first."""
    found: dict[int, list[Shape]] = {}
    for shape in images:
        found.setdefault(min(shape), []).append(shape)
    return [shape for place in range(6) for shapes in found.values() for shape in shapes[place : place + 1]][:20]


def _rows_called(name: str, known: Known, otherwise: int) -> int:
    """Return the rows of the table whose name has a word of an argument's; some number where there is none."""
    rows = [shape[0] for path, shape in known.shapes.items() if len(shape) == 2 and _share_a_word(name, path)]
    tables = [shape[0] for shape in rows_of_tables(known.shapes)]
    return min(rows, default=otherwise if otherwise > 2 else min(tables, default=otherwise))


def rows_of_tables(shapes: Mapping[str, Shape]) -> list[Shape]:
    """Return the shapes of what is called a table of embeddings."""
    return [shape for path, shape in shapes.items() if len(shape) == 2 and "emb" in path.lower()]


def _widths_called(name: str, known: Known) -> list[int]:
    """Return the widths of what a matrix reads whose name has a word of an argument's, or its first letters."""
    for path, shape in known.shapes.items():
        if len(shape) == 2 and _share_a_word(name, path):
            return list(dict.fromkeys((min(shape), max(shape))))
    return []


def _widths_of_words(words: Sequence[str], known: Known) -> list[int]:
    """Return the widths of the first matrix in whose path one of the words stands, the smaller one first."""
    for path, shape in known.shapes.items():
        if len(shape) == 2 and set(words) & set(re.split(r"[._\d]+", path.lower())):
            return list(dict.fromkeys((min(shape), max(shape))))
    return []


def _share_a_word(name: str, path: str) -> bool:
    words = [word.rstrip("s") for word in name.lower().split("_") if word]
    initials = "".join(word[0] for word in words)
    in_path = {word.rstrip("s") for word in re.split(r"[._\d]+", path.lower())}
    return bool(in_path & (set(words) - _FILLER)) or (len(words) > 2 and initials in in_path)
