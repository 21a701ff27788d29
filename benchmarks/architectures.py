"""Whether a model of any architecture that transformers has is accused, and how much of it is understood.

    python benchmarks/architectures.py [MODEL TYPE GLOB ...] [--classes base causal seq2seq]
        [--limit-seconds 60] [--json FILE]

Takes every model type of the installed transformers, or those that the globs choose, in their order, with random
weights and a tiny configuration that `models/tiny_configurations.py` makes from the default one. Each is run with eager
attention, on inputs that are guessed or, where none of these fits, on those that its class names; the pass is
recognised as `veriformer check` does it, without the laws. All these models are right by definition. Prints a table;
below it the departures, which are false accusations, and the totals. Exit status 1 where anything departs, or the
recognition itself fails.
"""

from __future__ import annotations

import argparse
import gc
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
_CUT = 200
_BINS = ("num_mel_bins", "input_dim", "feature_size")


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
    """Record a model on inputs that are guessed or, where none fits, on those that its class names."""
    with ExitStack() as stack:
        try:
            session = stack.enter_context(opened(model, seed=_SEED))
        except CaptureError:
            inputs = named_inputs(model)
            if not inputs:
                raise
            session = stack.enter_context(opened(model, inputs, seed=_SEED))
        yield session


def named_inputs(model: Any) -> dict[str, Any]:
    """Return the inputs that the class of a model names as its main ones; none for a name that says nothing."""
    generator = np.random.default_rng(_SEED)
    config = model.config
    tokens = generator.integers(5, VOCABULARY // 2, (_BATCH, _LENGTH))
    size = next((one for name in ("image_size", "img_size") if (one := getattr(config, name, None))), SMALL.image)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    channels = getattr(config, "num_channels", 3)
    bins = next((getattr(config, name) for name in _BINS if getattr(config, name, None)), 16)
    given: dict[str, Any] = {
        "input_ids": tokens,
        "pixel_values": generator.normal(size=(_BATCH, channels, height, width)).astype(np.float32),
        "input_features": generator.normal(size=(_BATCH, bins, _FRAMES)).astype(np.float32),
        "input_values": generator.normal(size=(_BATCH, 2000)).astype(np.float32),
    }
    main = getattr(model, "main_input_name", "")
    inputs = {main: given[main]} if main in given else {}
    if inputs and getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = tokens
    return inputs


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
