"""What other ways to check a port see and locate, on the faults of `port_faults.py`.

    python benchmarks/port_rivals.py [PORT GLOB ...] [--seed 0] [--with-compare]

On every port, from the logits in float64: `allclose` (rtol 1e-3, atol 1e-4); the least cosine of a position above 0.99;
the largest KL divergence of a position below 0.1, as MaxText's checker of forward passes has it.

Where both models are PyTorch's, two ways to look inside, both with help that no user has: which module or operation
belongs to which is learned from the correct port.

- Modules in order, one step at a time (after PaDiff): the output of each module of the port that belongs to one of the
  source is compared, and then replaced by the source's, so that errors do not add up. The first that differs by more
  than 1e-5 is what is located.
- Hashes of torch's DebugMode: by position, as torch compares them; and by value, the first operation of the source
  whose hash the correct port had and the changed one has not; and the same without that help.

A fault counts as located where the path of the module contains the part of `models/ports/faults.toml`. Prints a table;
`--with-compare` adds what `compare` says, which takes longer.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "models"))

import port_faults
import port_planting
from port_planting import Array

RTOL, ATOL, COSINE, KL = 1e-3, 1e-4, 0.99, 0.1
STEP, HASH = 1e-5, 1e-6
# What is 0 in the source and rounded in the port is no difference.
_TINY = 1e-9
# How DebugMode marks the entry of a module in its log.
_MODULE = "[nn.Mod] "


@dataclass(frozen=True)
class Verdict:
    """What a rival says of a port: whether it differs, and in which modules first; None where it cannot tell."""

    seen: bool
    paths: tuple[str, ...] | None = None


Rival = Callable[[str, str | None, int], Verdict]


# --- from the logits --------------------------------------------------------------------------------------------------


@cache
def logits(pair: str, text: str | None, seed: int) -> Array:
    """Return the logits of a port, perhaps changed, in float64."""
    with port_planting.planted(pair, text) as (_, port):
        return port_planting.output(port_planting.trace_of(port, seed))


def by_allclose(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare all logits with `allclose`."""
    return Verdict(not np.allclose(logits(pair, text, seed), port_planting.source_output(pair, seed), RTOL, ATOL))


def by_cosine(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare the directions of the logits of each position."""
    one, other = port_planting.source_output(pair, seed), logits(pair, text, seed)
    sizes = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return Verdict(bool(((one * other).sum(axis=-1) / sizes).min() <= COSINE))


def by_divergence(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare the probabilities of each position: the largest KL divergence from the source's."""
    one = _log_softmax(port_planting.source_output(pair, seed))
    other = _log_softmax(logits(pair, text, seed))
    return Verdict(bool((np.exp(one) * (one - other)).sum(axis=-1).max() >= KL))


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


# --- modules in order -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Torch:
    """A model of PyTorch in float64, and the tensors that it is run on."""

    model: Any
    arguments: tuple[Any, ...]

    def run(self) -> None:
        """Run it once."""
        import torch  # slow, and of no use where only help is asked for

        with torch.no_grad():
            self.model(*self.arguments)


@dataclass(frozen=True)
class Call:
    """What a module returned: its first tensor."""

    path: str
    output: Any


def loaded(path: Path, seed: int) -> Torch:
    """Return the model of a file, and its inputs."""
    import torch
    from veriformer.adapters.capture.models import load_model

    with port_planting.seeded(seed):
        found = load_model(f"{path}:build")
    given = found.inputs()
    arrays = given if isinstance(given, tuple) else (given,)
    return Torch(found.found.eval().double(), tuple(map(torch.as_tensor, arrays)))


@contextmanager
def hooked(model: Any, hook: Callable[[str, Any], Any]) -> Iterator[None]:
    """Call `hook` with each module's path and first tensor; what it returns, unless None, takes the tensor's place."""

    def hook_of(path: str) -> Callable[[Any, Any, Any], Any]:
        def after(_module: Any, _arguments: Any, output: Any) -> Any:
            first = output[0] if isinstance(output, tuple) else output
            # Dictionaries of results are those of whole models, whose parts were seen before.
            changed = hook(path, first) if hasattr(first, "shape") else None
            if changed is None:
                return None
            return (changed, *output[1:]) if isinstance(output, tuple) else changed

        return after

    handles = [module.register_forward_hook(hook_of(path)) for path, module in model.named_modules() if path]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def calls(torch_model: Torch) -> list[Call]:
    """Return what each module returned, in order."""
    found: list[Call] = []

    def keep(path: str, output: Any) -> None:
        found.append(Call(path, output.detach().clone()))

    with hooked(torch_model.model, keep):
        torch_model.run()
    return found


def far(one: Any, other: Any) -> float:
    """Return the largest difference of two tensors relative to their size; infinity where shapes differ."""
    if one.numel() != other.numel():
        return float("inf")
    return float((one.reshape(other.shape) - other).abs().max() / (one.abs().max() + _TINY))


@cache
def matched(pair: str, seed: int) -> dict[int, Call]:
    """Return the source's call that belongs to each call of the correct port, by its place, as far as there is one."""
    with port_planting.planted(pair) as (source, port):
        ours, theirs = calls(loaded(source, seed)), calls(loaded(port, seed))
    found, start = {}, 0
    for place, call in enumerate(theirs):
        same = next((i for i in range(start, len(ours)) if far(ours[i].output, call.output) <= STEP), None)
        if same is not None:
            found[place], start = ours[same], same + 1
    return found


def by_modules(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare the outputs of modules in order, each on the values of the source."""
    belongs = matched(pair, seed)
    place = -1
    differing: list[tuple[str, str]] = []

    def replace(path: str, output: Any) -> Any:
        nonlocal place
        place += 1
        if place not in belongs:
            return None
        right = belongs[place]
        if not far(right.output, output) <= STEP:
            differing.append((right.path, path))
        if right.output.numel() != output.numel():
            return None
        return right.output.reshape(output.shape)

    with port_planting.planted(pair, text) as (_, port):
        changed = loaded(port, seed)
        with hooked(changed.model, replace):
            changed.run()
    return Verdict(bool(differing), differing[0] if differing else ())


# --- hashes -----------------------------------------------------------------------------------------------------------


def logged(torch_model: Torch) -> list[Any]:
    """Return torch's log of all operations with the L1 norms of their results."""
    from torch.utils._debug_mode import DebugMode

    with DebugMode(record_nn_module=True) as mode, DebugMode.log_tensor_hashes():
        torch_model.run()
    return list(mode.logs)


def hashes(logs: Sequence[Any]) -> list[tuple[str, float]]:
    """Return the norms in a log, each with the innermost module that was running."""
    found: list[tuple[str, float]] = []
    modules: list[tuple[int, str]] = []
    for call in logs:
        # A module ends without an entry of its own; what follows is less deep.
        modules = [module for module in modules if module[0] < call.call_depth]
        if str(call).startswith(_MODULE):
            # It begins with the class of the whole model.
            modules.append((call.call_depth, str(call).removeprefix(_MODULE).partition(".")[2]))
        value = (getattr(call, "log", None) or {}).get("hash")
        if isinstance(value, float):
            found.append((modules[-1][1] if modules else "", value))
    return found


@cache
def source_log(pair: str, seed: int) -> list[Any]:
    """Return the log of the source."""
    with port_planting.planted(pair) as (source, _):
        return logged(loaded(source, seed))


@cache
def port_log(pair: str, text: str | None, seed: int) -> list[Any]:
    """Return the log of a port."""
    with port_planting.planted(pair, text) as (_, port):
        return logged(loaded(port, seed))


def by_hashes_in_order(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare hashes by position, as torch does: it refuses logs of different lengths or operations."""
    from torch.utils._debug_mode import DebugMode

    try:
        found = DebugMode.check_hash_mismatches(source_log(pair, seed), port_log(pair, text, seed))
    except ValueError:
        # It says so of the correct port too, and of what else it is no telling.
        return Verdict(True, ())
    return Verdict(bool(found), ())


def by_hashes(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare hashes by value, with those that the correct port has in common with the source."""
    ours = hashes(source_log(pair, seed))
    right = np.sort([value for _, value in hashes(port_log(pair, None, seed))])
    changed = np.sort([value for _, value in hashes(port_log(pair, text, seed))])
    lost = [path for path, value in ours if _has(right, value) and not _has(changed, value)]
    return Verdict(bool(lost), tuple(lost[:1]))


def by_hashes_alone(pair: str, text: str | None, seed: int) -> Verdict:
    """Compare hashes by value, as one must who has no correct port: the first of the source that the port has not."""
    changed = np.sort([value for _, value in hashes(port_log(pair, text, seed))])
    lost = [path for path, value in hashes(source_log(pair, seed)) if not _has(changed, value)]
    return Verdict(bool(lost), tuple(lost[:1]))


def _has(values: Array, value: float) -> bool:
    at = int(np.searchsorted(values, value))
    near = values[max(at - 1, 0) : at + 1]
    return bool((np.abs(near - value) <= HASH * abs(value)).any())


def by_compare(pair: str, text: str | None, seed: int) -> Verdict:
    """Say what `compare` says."""
    found = port_faults.answer(pair, text, seed)
    return Verdict(found.verdict in ("differ", "inside"), (found.path_a, found.path_b))


# --- the table --------------------------------------------------------------------------------------------------------

OUTSIDE: dict[str, Rival] = {
    "`allclose` of the logits": by_allclose,
    "cosine of the logits": by_cosine,
    "KL divergence of the logits": by_divergence,
}
INSIDE: dict[str, Rival] = {
    "modules in order, one step at a time": by_modules,
    "hashes of DebugMode, by position": by_hashes_in_order,
    "hashes of DebugMode, by value": by_hashes,
    "the same without the correct port": by_hashes_alone,
}


def is_of_torch(pair: str) -> bool:
    """Return whether both models of a pair are PyTorch's."""
    return pair.endswith("_torch") and port_planting.PAIRS[pair].endswith("_hf")


def located(fault: port_planting.Fault, verdict: Verdict) -> bool:
    """Return whether the right part is named."""
    return verdict.seen and port_faults.is_in(fault, verdict.paths or ())


def row(name: str, rival: Rival, pairs: Sequence[str], faults: Sequence[port_planting.Fault], seed: int) -> str:
    """Return one row of the table; a rival that cannot locate anything has a dash."""
    verdicts = []
    for fault in faults:
        try:
            verdicts.append((fault, rival(fault.pair, fault.text, seed)))
        except Exception as error:  # whatever a changed port raises is seen
            print(f"- {name}, {fault}: {type(error).__name__}: {error}", file=sys.stderr)
            verdicts.append((fault, Verdict(True, ())))
    accused = sum(rival(pair, None, seed).seen for pair in pairs)
    right = [located(fault, verdict) for fault, verdict in verdicts]
    told = "–" if all(verdict.paths is None for _, verdict in verdicts) else f"{sum(right)}"
    seen = sum(verdict.seen for _, verdict in verdicts)
    return f"| {name} | {len(faults)} | {seen} | {told} | {accused} of {len(pairs)} |"


def print_rows(rivals: dict[str, Rival], pairs: Sequence[str], seed: int) -> None:
    """Print a row for each rival, on the faults of some ports."""
    faults = [fault for fault in port_planting.faults() if fault.pair in pairs]
    for name, rival in rivals.items():
        if faults:
            print(row(name, rival, pairs, faults, seed), flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ports", nargs="*", default=["*"], help="globs of the ports' names")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--with-compare", action="store_true", help="say too what `compare` says")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    pairs = port_planting.chosen(options.ports)
    if not pairs:
        parser.error(f"no port is called {' or '.join(options.ports)}; there are {', '.join(port_planting.PAIRS)}")
    ours: dict[str, Rival] = {"`veriformer compare`": by_compare} if options.with_compare else {}
    heads = "faults | seen | right part | correct ports accused"
    for title, rivals, some in (
        ("every port", OUTSIDE, pairs),
        ("torch against torch", OUTSIDE | INSIDE, [pair for pair in pairs if is_of_torch(pair)]),
    ):
        print(f"\n| {title} | {heads} |\n|" + " --- |" * 5, flush=True)
        print_rows(rivals | ours, some, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
