"""Whether a model of any architecture that transformers has is accused, and how much of it is understood.

    python benchmarks/architectures.py [MODEL TYPE GLOB ...] [--classes base causal seq2seq]
        [--limit-seconds 60] [--json FILE]

Takes every model type of the installed transformers, or those that the globs choose, in their order, with random
weights and a tiny configuration that `models/tiny_configurations.py` makes from the default one. Each is run with eager
attention, on inputs that are guessed or, where none of these fits or it takes several at once, on those that its class
names; the pass is recognised as `veriformer check` does it, without the laws. All these models are right by definition.
Prints a table; below it the departures, which are false accusations, and the totals. Exit status 1 where anything
departs, or the recognition itself fails.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

sys.path.insert(0, str(Path(__file__).parent / "models"))

from tiny_configurations import ROOMY, SMALL, VOCABULARY, Sizes, tiny
from veriformer.adapters.errors import CaptureError, NotAModel
from veriformer.adapters.whole_models.session import Session, opened
from veriformer.conformance_tests.recognition.findings import Departure, Recognition
from veriformer.conformance_tests.run.checking_models import recognised_in
from veriformer.conformance_tests.run.model_report import model_report

CLASSES: dict[str, Mapping[str, Any]] = {
    "base": modeling_auto.MODEL_MAPPING_NAMES,
    "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "seq2seq": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
}
_SEED = 0
# A model above is not tiny: a rule is missing.
_MOST_PARAMETERS = 20_000_000
_BATCH, _LENGTH, _FRAMES = 2, 11, 64
# Images are also handed over as so many patches by so many, and have so many places in a text.
_SIDE, _PLACES = 4, 8
_LAYOUTS = 7
_CUT = 200
# These stand for another input, and are handed over where they are asked for.
_ALONE = frozenset({"inputs_embeds", "hidden_states"})
_CHANNELS = ("num_channels", "in_channels", "in_chans")
_BINS = ("feature_projection_input_dim", "num_mel_bins", "input_dim", "feature_size")


class OutOfTime(BaseException):
    """The time for one model is over. No `except Exception` of a model, or of the trial of inputs, may catch it."""


class TooLarge(Exception):
    """The configuration is not tiny."""


@dataclass(frozen=True)
class Accusation:
    """A departure of a model that is right."""

    path: str
    step: str
    operation: str
    mistake: str
    sentence: str
    file: str
    line: int


@dataclass(frozen=True)
class Outcome:
    """What was said of one class: `reason` why it was not built, run or read; `internal` an error of ours."""

    model_type: str
    name: str
    built: bool = False
    run: bool = False
    read: bool = False
    understood: float = 0.0
    found: float = 0.0
    reason: str = ""
    internal: str = ""
    departures: tuple[Accusation, ...] = ()
    doubts: tuple[str, ...] = ()
    seconds: float = 0.0


def chosen(globs: Sequence[str], kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Return the model types that the globs choose, in the order of the globs, each with the names of its classes."""
    types = [one for glob in globs for one in CONFIG_MAPPING.keys() if fnmatchcase(one, glob)]  # noqa: SIM118 - lazy
    return [(one, name) for one in dict.fromkeys(types) for name in class_names(one, kinds)]


def class_names(model_type: str, kinds: Sequence[str]) -> list[str]:
    """Return the names of the classes of a model type, of the kinds asked for."""
    named = (CLASSES[kind].get(model_type, ()) for kind in kinds)
    return list(dict.fromkeys(one for names in named for one in ([names] if isinstance(names, str) else names[:1])))


def outcome(model_type: str, name: str, seconds: float) -> Outcome:
    """Return what is said of a class, of its small configuration or, where that does not run, of the roomy one."""
    started = time.monotonic()
    try:
        with limited(seconds):
            said = _tried(model_type, name, SMALL)
            said = said if said.run or said.internal else _better(said, _tried(model_type, name, ROOMY))
    except OutOfTime:
        said = Outcome(model_type, name, reason=f"takes more than {seconds:g} s")
    gc.collect()
    return Outcome(**{**vars(said), "seconds": time.monotonic() - started})


def _better(one: Outcome, other: Outcome) -> Outcome:
    return other if (other.run, other.built) >= (one.run, one.built) else one


def _tried(model_type: str, name: str, sizes: Sizes) -> Outcome:
    try:
        model = built(model_type, name, sizes)
    except Exception as error:  # whatever the class raises is the reason
        return Outcome(model_type, name, reason=f"not built: {_told(error)}")
    try:
        return _of_model(model_type, name, model)
    except (CaptureError, NotAModel) as error:
        return Outcome(model_type, name, built=True, reason=f"not run: {_told(error)}")
    except Exception as error:  # the recognition may raise nothing
        return Outcome(model_type, name, built=True, internal=_where(error))


def built(model_type: str, name: str, sizes: Sizes = SMALL) -> Any:
    """Return a tiny model of a class of transformers."""
    builder = getattr(transformers, name)
    config = _for_class(builder, tiny(CONFIG_MAPPING[model_type](), sizes))
    _require_tiny(builder, config)
    torch.manual_seed(_SEED)
    return builder._from_config(config, attn_implementation="eager").eval()


def _for_class(builder: Any, config: Any) -> Any:
    # Some model types of text and images name the class of the text alone.
    wanted = builder.config_class
    inner = (getattr(config, name, None) for name in config.sub_configs)
    return config if isinstance(config, wanted) else next((one for one in inner if isinstance(one, wanted)), config)


def _require_tiny(builder: Any, config: Any) -> None:
    # Some models compute while they are built, which they cannot on this device; they are small or fail below.
    count = 0
    with suppress(Exception), torch.device("meta"):
        count = sum(one.numel() for one in builder(config).parameters())
    if count > _MOST_PARAMETERS:
        raise TooLarge(f"{count / 1e6:.0f} million parameters")


def _of_model(model_type: str, name: str, model: Any) -> Outcome:
    with session_of(model) as session:
        recognition, doubts = recognised_in(session, _SEED)
    report = model_report(name, recognition)
    return Outcome(
        model_type,
        name,
        built=True,
        run=True,
        read=report.is_recognised,
        understood=recognition.share_understood,
        found=recognition.share_found,
        reason=report.reason or "; ".join(_unread(recognition)),
        departures=tuple(map(_accusation, recognition.departures)),
        doubts=doubts,
    )


@contextmanager
def session_of(model: Any) -> Iterator[Session]:
    """Record a model on inputs that are guessed or, where none fits, on those that its class names.

    What takes several inputs at once is not guessed at: the guesses are many, and none of them may fit.
    """
    main, *others = named_inputs(model)
    named = main if _runs(model, main) else next((one for one in others if _runs(model, one)), main)
    with ExitStack() as stack:
        if named.keys() != main.keys():
            yield stack.enter_context(opened(model, named, seed=_SEED))
            return
        try:
            session = stack.enter_context(opened(model, seed=_SEED))
        except CaptureError:
            if not named:
                raise
            session = stack.enter_context(opened(model, named, seed=_SEED))
        yield session


def _runs(model: Any, inputs: Mapping[str, Any]) -> bool:
    with suppress(Exception), torch.no_grad():
        model(**{name: torch.as_tensor(one) for name, one in inputs.items()})
        return bool(inputs)
    return False


def named_inputs(model: Any) -> list[dict[str, Any]]:
    """Return what a model may take: the main input of its class, and this with those that it asks for, or knows.

    A model without a configuration of transformers, as the benchmark of promises has too, takes what is guessed.
    """
    if not hasattr(model, "config"):
        return [{}]
    parameters = inspect.signature(model.forward).parameters
    main = getattr(model, "main_input_name", "")
    first = [main] if isinstance(main, str) else list(main)
    arrays = Arrays(model.config).by_name()
    decoded = ["decoder_input_ids"] if getattr(model.config, "is_encoder_decoder", False) else []
    asked = [*first, *decoded, *(name for name, one in parameters.items() if one.default is one.empty)]
    known = [*asked, *(name for name in parameters if name not in _ALONE)]
    chosen_names = ([*first, *decoded] if first[0] in arrays else [], asked, known)
    return [
        {
            name: array
            for name in dict.fromkeys(names)
            if name in parameters and (array := _in_layout(arrays.get(name, ()), layout)) is not None
        }
        for layout in range(_LAYOUTS)
        for names in chosen_names
    ]


def _in_layout(layouts: Sequence[Any], layout: int) -> Any:
    return layouts[min(layout, len(layouts) - 1)] if layouts else None


class Arrays:
    """Arrays for the inputs that the classes of a configuration name."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self._generator = np.random.default_rng(_SEED)
        self._words = self._tokens(_BATCH, _LENGTH)
        self._hidden = self._number("hidden_size", default=SMALL.hidden)

    def by_name(self) -> dict[str, list[Any]]:
        """Return arrays by the name of the input, in the layouts that there are, the likeliest first."""
        return {**self._texts(), **self._images(), **self._patches(), **self._sounds(), **self._series()}

    def _texts(self) -> dict[str, list[Any]]:
        books = self._number("num_codebooks", default=0)
        codes = ((_BATCH * books, _LENGTH), (_BATCH, _LENGTH, books), (_BATCH, _LENGTH, books + 1)) if books else ()
        # The places of an image in the text have the last token.
        is_image = np.arange(_LENGTH) < _PLACES
        held = np.where(is_image, VOCABULARY - 1, self._words)
        streams = self._tokens(_BATCH, _LENGTH, self._number("num_channels", default=1))
        return {
            "input_ids": [self._words, held, *(self._tokens(*shape) for shape in codes)],
            "decoder_input_ids": [self._words, self._words, self._words, streams],
            "qformer_input_ids": [self._words],
            "task_inputs": [self._tokens(_BATCH, self._number("task_seq_len", default=_LENGTH))],
            "bbox": [np.sort(self._generator.integers(0, 100, (_BATCH, _LENGTH, 4)))],
            "image_embeds_position_mask": [np.tile(is_image, (_BATCH, 1)).astype(np.int64)],
            "inputs_embeds": [self._vectors(self._hidden)],
            "query_embeds": [self._floats(_BATCH, self._number("num_query_tokens", default=8), self._hidden)],
            "encoder_hidden_states": [self._vectors(self._number("encoder_hidden_size", default=self._hidden))],
        }

    def _images(self) -> dict[str, list[Any]]:
        size = _found_in(self._config, "image_size") or _found_in(self._config, "img_size") or SMALL.image
        height, width = size if isinstance(size, list | tuple) else (size, size)
        frames = self._number("num_frames", default=2)
        film = self._floats(_BATCH, frames, self._channels, height, width)
        image = self._floats(_BATCH, self._channels, height, width)
        large = self._floats(_BATCH, self._channels, 4 * height, 4 * width)
        half = image[:, :, : height // 2]
        patch, tile = self._patch, self._floats(_SIDE**2, self._channels, self._patch, self._patch)
        patches = [self._floats(_SIDE**2, self._pixels), self._floats(_BATCH, _SIDE**2, self._channels * patch**2)]
        return {
            "pixel_values": [image, *patches, film, tile, large, half],
            "prompt_pixel_values": [half],
            "prompt_masks": [half],
            "pixel_values_videos": [film],
            "image_attention_mask": [None, None, None, _ones(_BATCH, _LENGTH, frames)],
            "visual_feats": [self._vectors(self._number("visual_feat_dim", default=self._hidden))],
            "visual_pos": [self._vectors(4)],
        }

    def _patches(self) -> dict[str, list[Any]]:
        grid = np.array([[1, _SIDE, _SIDE]])
        return {
            "hidden_states": [
                self._floats(_SIDE**2, self._pixels),
                self._long,
                self._floats(_BATCH, self._hidden, _LENGTH),
            ],
            "grid_thw": [grid],
            "image_grid_thw": [grid],
            "target_sizes": [grid[:, 1:]],
            "merge_sizes": [np.array([1])],
            "spatial_shapes": [np.full((_BATCH, 2), _SIDE)],
            "pixel_attention_mask": [_ones(_BATCH, _SIDE**2)],
            "pixel_position_ids": [np.tile(np.indices((_SIDE, _SIDE)).reshape(2, -1).T, (_BATCH, 1, 1))],
        }

    def _sounds(self) -> dict[str, list[Any]]:
        bins = next((one for name in _BINS if (one := self._number(name, default=0))), 16)
        positions = self._number("max_source_positions", default=4 * _LENGTH)
        # Two frames become one position.
        lengths = (_FRAMES, _FRAMES, 2 * positions)
        channels_first = [self._floats(_BATCH, bins, frames) for frames in lengths]
        frames_first = self._floats(_BATCH, _FRAMES, bins)
        longest = self._floats(_BATCH, self._number("max_length", default=_FRAMES), bins)
        masks = [_ones(_BATCH, frames) for frames in lengths]
        wave = self._floats(_BATCH, 2000)
        return {
            "input_features": [channels_first[0], frames_first, channels_first[2], frames_first[:, None]],
            "input_features_mask": masks,
            "feature_attention_mask": masks,
            "input_values": [wave, self._long, frames_first, longest, self._vectors(self._hidden), wave[:, :1920]],
            "decoder_input_values": [self._vectors(self._hidden)],
            "audio_mel": [self._floats(_BATCH, _FRAMES, self._number("input_feat_size", default=bins))],
            "audio_mel_mask": [np.zeros((_BATCH, _FRAMES), bool)],
            "latents": [self._floats(_BATCH, self._hidden, _LENGTH)],
        }

    def _series(self) -> dict[str, list[Any]]:
        context = self._number("context_length", default=4 * SMALL.patch)
        past = context + max(_found_in(self._config, "lags_sequence") or [0])
        values = self._floats(_BATCH, past, self._number("num_input_channels", default=1))
        times = self._floats(_BATCH, past, self._number("num_time_features", default=1))
        return {
            "inputs": [self._vectors(self._number("d_model", default=self._hidden))],
            "past_values": [values, values[..., 0]],
            "past_values_padding": [np.zeros((_BATCH, context), np.int64)],
            "past_time_features": [times],
            "past_observed_mask": [np.ones((_BATCH, past), np.float32)],
            "freq": [np.zeros((_BATCH, 1), np.int64)],
            "states": [self._vectors(self._number("state_dim", default=self._hidden))],
            "actions": [self._vectors(self._number("act_dim", default=self._hidden))],
            "rewards": [self._vectors(1)],
            "returns_to_go": [self._vectors(1)],
            "timesteps": [np.tile(np.arange(_LENGTH), (_BATCH, 1))],
        }

    @property
    def _channels(self) -> int:
        return next((one for name in _CHANNELS if (one := self._number(name, default=0))), 3)

    @property
    def _patch(self) -> int:
        return self._number("patch_size", default=SMALL.patch)

    @property
    def _pixels(self) -> int:
        """The numbers of a patch, of all its frames and channels."""
        frames = self._number("temporal_patch_size", default=0) or self._number("patch_temporal", default=1)
        return self._channels * frames * self._patch**2

    @cached_property
    def _long(self) -> Any:
        return self._floats(_BATCH, 1, 6400)

    def _vectors(self, width: int) -> Any:
        return self._floats(_BATCH, _LENGTH, width)

    def _floats(self, *shape: int) -> Any:
        return self._generator.normal(size=shape).astype(np.float32)

    def _tokens(self, *shape: int) -> Any:
        return self._generator.integers(5, VOCABULARY // 2, shape)

    def _number(self, name: str, *, default: int) -> int:
        found = _found_in(self._config, name)
        number: int = (found[0] if isinstance(found, list | tuple) else found) or default
        return number


def _ones(*shape: int) -> Any:
    return np.ones(shape, np.int64)


def _found_in(config: Any, name: str) -> Any:
    """Return what a configuration, or the first one in it that does, says of a name."""
    found = None
    with suppress(RuntimeError):  # a number of each layer, which is no attribute of the whole
        found = getattr(config, name, None)
    inner = (getattr(config, one, None) for one in getattr(config, "sub_configs", ()))
    return found or next((value for one in inner if one is not None and (value := _found_in(one, name))), None)


def _accusation(one: Departure) -> Accusation:
    mistake = one.suspects[0].name if one.suspects else ""
    return Accusation(one.path, one.step, one.operation, mistake, one.sentence, one.file, one.line)


def _unread(recognition: Recognition) -> list[str]:
    if recognition.share_understood >= 0.9:
        return []
    most = sorted(recognition.unread.items(), key=lambda one: -one[1])[:3]
    return [f"{count} steps of `{path}`" for path, count in most]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in what runs for longer."""

    def end(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    # Again and again: a destructor or a callback may have swallowed the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_CUT]}"


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{_told(error)} ({Path(last.filename).name}:{last.lineno}, in {last.name})"


def row(one: Outcome) -> str:
    """Return one row of the table."""
    reason = (one.internal or one.reason).replace("|", "/")
    read = "yes" if one.read else f"no: {reason}"
    shares = f"{100 * one.understood:.0f} | {100 * one.found:.0f}" if one.run else "– | –"
    return f"| {one.model_type} | {one.name} | {read} | {shares} | {len(one.departures)} | {one.seconds:.1f} |"


def print_accusations(outcomes: Sequence[Outcome]) -> None:
    """Print each departure with its sentence, and each error of the recognition."""
    for one in outcomes:
        for each in one.departures:
            named = f" ({each.mistake})" if each.mistake else ""
            print(f"- {one.model_type}, {one.name}: `{each.path}`, {each.step}{named}: {each.sentence}")
        if one.internal:
            print(f"- {one.model_type}, {one.name}: {one.internal}")


def totals(outcomes: Sequence[Outcome]) -> str:
    """Return how many classes were built, run, read and accused."""
    departures = sum(len(one.departures) for one in outcomes)
    accused = sum(bool(one.departures) for one in outcomes)
    return (
        f"{len(outcomes)} classes of {len({one.model_type for one in outcomes})} model types: "
        f"{sum(one.built for one in outcomes)} built, {sum(one.run for one in outcomes)} run, "
        f"{sum(one.read for one in outcomes)} read, "
        f"{sum(one.understood >= 0.9 for one in outcomes)} understood to at least 90 %; "
        f"{departures} departures in {accused} classes; {sum(bool(one.internal) for one in outcomes)} internal errors"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Print the table, what departs, and the totals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("types", nargs="*", default=["*"], help="globs of model types, such as llama or 'qwen*'")
    parser.add_argument("--classes", nargs="+", choices=tuple(CLASSES), default=tuple(CLASSES))
    parser.add_argument("--limit-seconds", type=float, default=60.0, help="the time for one class")
    parser.add_argument("--json", type=Path, help="a file for the outcomes, written after each class")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    todo = chosen(options.types, options.classes)
    if not todo:
        parser.error(f"no model type is called {' or '.join(options.types)}")
    print("| model type | class | read | understood, % | intermediates found, % | departures | seconds |")
    print("|" + " --- |" * 7)
    outcomes = []
    for model_type, name in todo:
        outcomes.append(outcome(model_type, name, options.limit_seconds))
        print(row(outcomes[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1), encoding="utf-8")
    print()
    print_accusations(outcomes)
    print(f"\n{totals(outcomes)}")
    return 1 if any(one.departures or one.internal for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
