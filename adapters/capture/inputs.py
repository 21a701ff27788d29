"""Inputs for a model when none are handed over: guessed from its parameters and its signature, tried until one runs."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from veriformer.adapters.capture.image_shapes import begins_with_convolution, image_shapes
from veriformer.adapters.capture.named_inputs import Known, arrays_by_name
from veriformer.adapters.capture.padding import compared_token
from veriformer.adapters.capture.roles import have_roles, role_of
from veriformer.adapters.capture.vocabulary import vocabulary
from veriformer.adapters.capture.weights import Array, is_floating

Shape = tuple[int, ...]

# Small primes: rarely the size of a part of a model.
_BATCHES, _LENGTHS, _SHORT_LENGTHS = (2, 3, 5, 7), (11, 13, 17, 19), (7, 5, 3, 2)
# Buckets of T5 for both directions differ from those for one from a distance of 9 on, with their usual number.
_OTHER_LENGTHS = (13, 17, 11, *_SHORT_LENGTHS)
# So many tokens at the end of the last sample are padding, where a model says which token that is.
_PADDED = 2
# Of so few optional inputs each is named where it is left out.
_FEW_OPTIONAL = 3

_POSITION_TABLE = re.compile(r"pos|wpe", re.IGNORECASE)
_IMAGES = re.compile(r"^(pixel_values|images?|imgs?|pixels|pictures?)$")
_FLOATS = re.compile(r"^(hidden_states|features|embeds|embeddings|inputs_embeds|signal|audio|waveform|frames)$")

_TARGET = re.compile(r"tgt|trg|target|^y$|decoder_input|^dec", re.IGNORECASE)

# What an argument without a default is handed, by its name.
_ABSENT = re.compile(
    r"mask|bias|cache|past|state(?!s$)|key|rng|label|^targets$|dropout|hidden|aux|^valid_len", re.IGNORECASE
)
# What hides something, and hides nothing where it is left out.
_HIDING = re.compile(r"mask|pad|(len|lens|lengths)$", re.IGNORECASE)
# Which says to what segment or document each token belongs.
SEGMENTS = re.compile(
    r"^(token_type_ids|(segment|seg|doc|document|sequence|type)_?ids?|segs?|segments?|documents?)$", re.I
)
_TRUE = re.compile(r"^(deterministic|inference|eval|is_causal|causal)$")
_FALSE = re.compile(r"^(train|training|is_training|is_train|return_\w+|output_\w+|use_cache)$")
_ZERO = re.compile(r"^(start_pos|start|offset|pos_offset|position_offset|cache_index|cache_pos|step|input_pos)$")
_POSITIONS = re.compile(r"^(pos|positions|position_ids|pos_ids)$")


@dataclass(frozen=True)
class Candidate:
    """Arguments to try, as NumPy arrays: tokens are int64, everything else is float64.

    `left_out` names the arguments that got None, or kept it, since nothing is known of them but the name.
    """

    description: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The description, with what was left out."""
        if not self.left_out:
            return self.description
        return f"{self.description}, and {' and '.join(self.left_out)} left out (None)"


@dataclass(frozen=True)
class Sizes:
    """The sizes of guessed inputs: of the batch, of the first sequence, and of a second one."""

    batch: int = 2
    length: int = 11
    other_length: int = 7


def sizes_for(shapes: Mapping[str, Shape]) -> Sizes:
    """Return sizes by which the axes of an input can be told from those of a model's arrays, as far as possible.

    A length that is the size of an array, or divides it, costs most; then tokens that must be repeated, since the
    vocabulary has fewer; then a batch that divides a size. No length is beyond a table of positions or a mask.
    """
    sizes = {size for shape in shapes.values() for size in shape if size > 1}
    rows = vocabulary(shapes)

    def collision(number: int) -> int:
        return 4 * (number in sizes) + any(size % number == 0 for size in sizes)

    def cost(batch: int, length: int) -> int:
        return 8 * collision(length) + 2 * (batch * length > rows) + collision(batch)

    lengths = _lengths_within(shapes)
    pairs = [(batch, length) for length in lengths for batch in _BATCHES if batch != length]
    batch, length = min(pairs, key=lambda pair: cost(*pair))
    others = [other for other in _OTHER_LENGTHS if other not in (batch, length) and other <= max(lengths)]
    return Sizes(batch, length, min(others, key=collision, default=length))


def _lengths_within(shapes: Mapping[str, Shape]) -> list[int]:
    """Return the lengths that no array of the model is too short for; an index beyond a table need not raise."""
    rows = {name: shape[-2] for name, shape in shapes.items() if len(shape) >= 2}
    named = min((count for name, count in rows.items() if _POSITION_TABLE.search(name) and count > 1), default=math.inf)
    # Any array may be a table of positions or a mask; one with fewer rows is more often something of the heads.
    limit = min(named, *(count for count in rows.values() if count >= _LENGTHS[0]), math.inf)
    return [length for length in _LENGTHS if length <= limit] or [
        next((length for length in _SHORT_LENGTHS if length <= limit), _SHORT_LENGTHS[-1])
    ]


def candidates(
    shapes: Mapping[str, Shape],
    called: Callable[..., Any] | None = None,
    first_input: int = 0,
    seed: int = 0,
    sizes: Sizes | None = None,
    others: Mapping[str, Shape] | None = None,
    padding: int | None = None,
) -> Iterator[Candidate]:
    """Yield inputs to try, the most likely first.

    `shapes` are those of the parameters, by path and in order, and `others` those of other arrays of the model.
    `called` has the signature, whose inputs begin with the argument at `first_input`. Tried are tokens, two sequences
    of tokens, floats of the model's width, images, and what each argument is called; what the first argument is called,
    or a convolution in front, puts floats or images first. Where no argument says what is padding, the last sequence of
    tokens ends with the token `padding`, which the model may hide by itself. Where an argument says it, this is
    so only with a token that the code compares its tokens with.
    """
    signature = arguments_of(called)[first_input:]
    rows = vocabulary(shapes)
    is_told = any(_HIDING.search(one.name) for one in signature)
    looked_for = compared_token(called, padding)
    hidden = looked_for if is_told or padding is None else padding
    hidden = None if hidden is None or hidden >= rows else hidden
    filled = Filled(signature, np.random.default_rng(seed), sizes or Sizes(), hidden)
    # Made one by one, since each may be large.
    tokens = _token_candidates(filled, rows)
    # A model without parameters may have a table that tells its width.
    floats = _float_candidates(filled, list((shapes or others or {}).values()), rows)
    arrays = [*shapes.values(), *(others or {}).values()]
    images = _image_candidates(filled, arrays)
    named = _named_candidates(filled, rows, shapes, arrays)
    if any(_POSITIONS.search(one.name) and one.default is one.empty for one in signature):
        tokens, floats, named = (_with_positions_of_samples(each) for each in (tokens, floats, named))
    first = signature[0].name if signature else ""
    if _IMAGES.match(first) or begins_with_convolution(shapes):
        return chain(images, named, tokens, floats)
    if _FLOATS.match(first):
        return chain(floats, tokens, images, named)
    return chain(tokens, floats, images, named)


def _with_positions_of_samples(made: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield candidates, each also with the positions (L,) that it is handed as those (B, L) of its samples."""
    for candidate in made:
        yield candidate
        given = (*candidate.arguments, *candidate.keywords.values())
        batch = next((len(one) for one in given if isinstance(one, np.ndarray) and one.ndim > 1), 0)
        if not batch:
            continue

        def of_samples(value: Any, batch: int = batch) -> Any:
            is_one = isinstance(value, np.ndarray) and value.ndim == 1 and np.array_equal(value, np.arange(len(value)))
            return np.tile(value, (batch, 1)) if is_one else value

        arguments = tuple(map(of_samples, candidate.arguments))
        keywords = {name: of_samples(value) for name, value in candidate.keywords.items()}
        words = f"{candidate.description} with positions of each sample"
        yield replace(candidate, description=words, arguments=arguments, keywords=keywords)


def random_tokens(generator: np.random.Generator, rows: int, shape: Shape) -> Array:
    """Return random tokens below `rows`, each at one place only if there are enough of them."""
    if math.prod(shape) <= rows:
        return generator.permutation(rows)[: math.prod(shape)].reshape(shape)
    return generator.integers(0, rows, shape)


def filled_by_name(name: str, shape: Shape, dtype: np.dtype[Any], rows: int, generator: np.random.Generator) -> Array:
    """Return an array for an input whose name, shape and dtype are declared; tokens are below `rows`."""
    if "mask" in name or dtype.kind == "b":
        return np.ones(shape, dtype)
    if is_floating(dtype):
        return generator.normal(size=shape).astype(dtype)
    if "position" in name:
        return np.broadcast_to(np.arange(shape[-1] if shape else 0, dtype=dtype), shape).copy()
    if "type" in name or "segment" in name:
        return np.zeros(shape, dtype)
    return random_tokens(generator, rows, shape).astype(dtype)


@dataclass(frozen=True)
class Filled:
    """A signature whose arguments other than the first ones are known by their names.

    The last sequence of tokens ends with the token `padding`, if there is one.
    """

    arguments: Sequence[inspect.Parameter]
    generator: np.random.Generator
    sizes: Sizes
    padding: int | None = None

    def with_arrays(self, description: str, *arrays: Array, masks: bool | Array = False) -> Candidate | None:
        """Return a candidate with the arrays as inputs; None where the signature has another number of them.

        With `masks` a required argument of that name gets one, which may be given.

        An optional argument keeps its default, but for the first one and for a target sequence.
        """
        given, positional = list(arrays), list[Any]()
        keywords: dict[str, Any] = {}
        left_out: list[str] = []
        for place, argument in enumerate(self.arguments):
            required = argument.default is argument.empty
            is_target = _TARGET.search(argument.name) is not None
            takes_array = place == 0 or ((required or is_target) and not self._is_known(argument))
            if argument.kind is argument.VAR_POSITIONAL:
                positional += [given.pop(0) for _ in arrays if given]
            elif argument.kind is argument.VAR_KEYWORD or not (required or (takes_array and given)):
                if argument.default is None and (self._is_plain or _changes_what_is_read(argument.name)):
                    left_out.append(argument.name)
                continue
            elif takes_array:
                if not given:
                    return None
                _place(argument, given.pop(0), place == len(positional), positional, keywords)
            else:
                mask = None if masks is False else _mask(argument, arrays, masks)
                value = self._by_name(argument) if mask is None else mask
                if value is None:
                    left_out.append(argument.name)
                _place(argument, value, place == len(positional), positional, keywords)
        if given and self.arguments:
            return None
        taken = tuple(positional) if self.arguments else arrays
        return Candidate(description, taken, keywords, tuple(left_out))

    @property
    def _is_plain(self) -> bool:
        """Whether so few inputs are optional that each is one of the model's author, and none of a library's many."""
        return sum(one.default is None for one in self.arguments) <= _FEW_OPTIONAL

    def names_of_inputs(self) -> list[str]:
        """Return the names of the arguments that arrays are handed to, in their order."""
        return [
            one.name
            for place, one in enumerate(self.arguments)
            if place == 0 or (one.default is one.empty and not self._is_known(one))
        ]

    def normal(self, *shape: int) -> Array:
        """Return normal numbers."""
        return self.generator.normal(size=shape)

    def tokens(self, rows: int, *shape: int) -> Array:
        """Return random tokens below `rows`."""
        tokens = random_tokens(self.generator, rows, shape)
        if self.padding is not None and shape[-1] > _PADDED:
            tokens[-1, -_PADDED:] = self.padding
        return tokens

    def _is_known(self, argument: inspect.Parameter) -> bool:
        """Return whether an argument is known by its name and no input."""
        if role_of(argument.name) == "key" and any(role_of(one.name) == "query" for one in self.arguments):
            # The key of an attention, and no source of random numbers.
            return False
        return not _FLOATS.match(argument.name) and any(
            names.search(argument.name) for names in (*(names for names, _ in _KNOWN), _POSITIONS)
        )

    def _by_name(self, argument: inspect.Parameter) -> Any:
        """Return what an argument is handed that is no input."""
        known = (*_KNOWN, (_POSITIONS, np.arange(self.sizes.length)))
        return next(value for names, value in known if names.search(argument.name))


def _changes_what_is_read(name: str) -> bool:
    """Return whether an argument is called as what hides tokens, or says where each belongs, is called."""
    return bool(_HIDING.search(name) or SEGMENTS.match(name))


def arguments_of(called: Callable[..., Any] | None) -> list[inspect.Parameter]:
    """Return the parameters of a function; none where it is not known or has no signature."""
    if called is None:
        return []
    try:
        return list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return []


def _place(
    argument: inspect.Parameter, value: Any, follows: bool, positional: list[Any], keywords: dict[str, Any]
) -> None:
    """Hand a value over by position as long as none was left out before, otherwise by keyword."""
    if argument.kind is argument.KEYWORD_ONLY or not follows:
        keywords[argument.name] = value
    else:
        positional.append(value)


_KNOWN = ((_TRUE, True), (_FALSE, False), (_ZERO, 0), (_ABSENT, None))


def _mask(argument: inspect.Parameter, arrays: Sequence[Array], given: bool | Array) -> Array | None:
    """Return a mask for an argument that wants one: of the source all positions, of the target those before."""
    if "mask" not in argument.name.lower() or arrays[0].ndim < 2:
        return None
    if not isinstance(given, bool):
        return given
    if len(arrays) > 1 and not _TARGET.search(argument.name):
        return np.ones((arrays[0].shape[0], 1, arrays[0].shape[1]), dtype=bool)
    length = arrays[-1].shape[1]
    return np.tril(np.ones((length, length), dtype=bool))


def _token_candidates(filled: Filled, rows: int) -> Iterator[Candidate]:
    batch, length, other_length = astuple(filled.sizes)
    one = filled.tokens(rows, batch, length)
    other = filled.tokens(rows, batch, other_length)
    names = [argument.name for argument in filled.arguments]
    shapes = f"({batch}, {length}) and ({batch}, {other_length})"
    padded = f", the last sample ending with {_PADDED} of padding ({filled.padding})"
    below = f"below {rows}{'' if filled.padding is None else padded}"
    described = f"tokens ({batch}, {length}) {below}"
    possible = [
        filled.with_arrays(described, one),
        filled.with_arrays(f"tokens {shapes} {below}", one, other),
        # Sequences first, as torch.nn.Transformer has it.
        filled.with_arrays(f"tokens ({length}, {batch}) and ({other_length}, {batch}) {below}", one.T, other.T),
        # A second input may be the number of a segment, a style, or a sample.
        filled.with_arrays(f"tokens ({batch}, {length}) {below} and zeros of that shape", one, np.zeros_like(one)),
        filled.with_arrays(f"tokens ({batch}, {length}) {below} and zeros ({batch},)", one, np.zeros_like(one[:, 0])),
        filled.with_arrays(f"tokens ({length},) below {rows}", one[0]),
        filled.with_arrays(f"tokens ({length},) below {rows} and zeros of that shape", one[0], np.zeros_like(one[0])),
    ]
    if any("mask" in argument.name and argument.default is argument.empty for argument in filled.arguments):
        possible += [
            filled.with_arrays(f"tokens ({batch}, {length}) {below} with masks", one, masks=True),
            filled.with_arrays(f"tokens {shapes} {below} with masks", one, other, masks=True),
            # Of the keys, as tokenisers give them: numbers, or truth values.
            *(
                filled.with_arrays(f"{described} with a mask of that shape", one, masks=mask)
                for mask in (np.ones_like(one), np.ones(one.shape, dtype=bool))
            ),
        ]
    if "decoder_input_ids" in names and "input_ids" in names:
        keywords = {"input_ids": one, "decoder_input_ids": other}
        possible.insert(1, Candidate(f"input_ids and decoder_input_ids {shapes} {below}", (), keywords))
    yield from (candidate for candidate in possible if candidate is not None)


def _float_candidates(filled: Filled, shapes: Sequence[Shape], rows: int) -> Iterator[Candidate]:
    batch, length, other_length = astuple(filled.sizes)
    tokens = filled.tokens(rows, batch, other_length)
    names = [argument.name for argument in filled.arguments]
    for width in _widths(shapes):
        one, other = filled.normal(batch, length, width), filled.normal(batch, other_length, width)
        possible = [
            filled.with_arrays(f"floats ({batch}, {length}, {width})", one),
            filled.with_arrays(
                f"floats ({batch}, {length}, {width}) and ({batch}, {other_length}, {width})", one, other
            ),
            filled.with_arrays(f"floats ({length}, {width})", one[0]),
            filled.with_arrays(
                f"floats ({batch}, {length}, {width}) and tokens ({batch}, {other_length})", one, tokens
            ),
        ]
        if width in _channels(shapes):
            # As convolutions of torch take a sequence.
            possible.append(filled.with_arrays(f"floats ({batch}, {width}, {length})", np.swapaxes(one, 1, 2)))
        roles = [role for name in names if (role := role_of(name)) is not None]
        if have_roles(names):
            possible += _in_roles(filled, roles, one, other)
        yield from (candidate for candidate in possible if candidate is not None)


def _in_roles(filled: Filled, roles: Sequence[str], one: Array, other: Array) -> list[Candidate | None]:
    """Return queries, keys and values for arguments of these roles.

    They come as three arrays first: keys and values that are the same hide that one is taken for the other.
    """
    first, second = one.shape, other.shape
    ways = (
        (f"floats {first} and two {second}", one, other, filled.normal(*second)),
        (f"three floats {first}", one, filled.normal(*first), filled.normal(*first)),
        # Keys and values come from one source, as in attention across.
        (f"floats {first} and twice {second}", one, other, other),
    )
    found = []
    for described, query, key, value in ways:
        by_role = {"query": query, "key": key, "value": value}
        found.append(filled.with_arrays(described, *(by_role[role] for role in roles)))
    return found


def _widths(shapes: Sequence[Shape]) -> list[int]:
    """Return widths that the first input may have: both axes of the first matrix, and the first vector's.

    A convolution over a sequence takes the middle axis of its kernel.
    """
    matrix = next((shape for shape in shapes if len(shape) >= 2), ())
    vector = next((shape for shape in shapes if len(shape) == 1), ())
    # The last axis of torch.nn.Linear is the input's, the first axis of most others.
    found = [*_channels(shapes), matrix[-1], matrix[0], *vector] if matrix else [*vector]
    return [width for width in dict.fromkeys(found) if width > 1]


def _channels(shapes: Sequence[Shape]) -> Shape:
    """Return how many channels a convolution over a sequence takes, if the first matrix is its kernel."""
    matrix = next((shape for shape in shapes if len(shape) >= 2), ())
    return matrix[1:2] if len(matrix) == len(("out", "in", "places")) else ()


def _named_candidates(
    filled: Filled, rows: int, shapes: Mapping[str, Shape], arrays: Sequence[Shape]
) -> Iterator[Candidate]:
    """Yield arrays for each argument by what it is called, where several must be given."""
    names = filled.names_of_inputs()
    images = [shape[1:] for shape in image_shapes(filled.sizes.batch, arrays)]
    widths = _widths(list(shapes.values()))
    known = Known(filled.generator, filled.sizes.batch, filled.sizes.length, rows, shapes, images, widths, arrays)
    for described, found in arrays_by_name(names, known):
        candidate = filled.with_arrays(described, *found)
        if candidate is not None:
            yield candidate


def _image_candidates(filled: Filled, shapes: Sequence[Shape]) -> Iterator[Candidate]:
    found = list(image_shapes(filled.sizes.batch, shapes))
    # A model of Equinox usually takes one image, which is mapped over a batch outside of it.
    for shape in (*found, *(one[1:] for one in found)):
        words = "images" if len(shape) == len(found[0]) else "an image"
        candidate = filled.with_arrays(f"{words} {shape}", filled.normal(*shape))
        if candidate is not None:
            yield candidate
