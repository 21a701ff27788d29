"""Whether the kernels of torch and jax for a GPU obey the laws, forwards and backwards, each dtype alone.

    python benchmarks/gpu.py [--part 'torch, flash' ...] [--dtype bfloat16 ...]

Prints a Markdown table with a row for each part and dtype, and below it the laws that were violated or could not be
judged. Exit status 1 when one was violated, 2 where neither library has a GPU.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.spec.operations import OPERATIONS

DTYPES = ("float32", "float64", "bfloat16", "float16")
ATTENTION = ("scaled_dot_product_attention", "grouped_query_attention")
HEADER = (
    "part",
    "dtype",
    "laws",
    "hold",
    "violated",
    "not judged",
    "not tried",
    "cases",
    "largest error / allowed",
    "in law",
    "seconds",
)
KERNELS = {
    "math": "MATH",
    "flash": "FLASH_ATTENTION",
    "memory efficient": "EFFICIENT_ATTENTION",
    "cuDNN": "CUDNN_ATTENTION",
}
# The kernels that take 16 bits only.
SIXTEEN_BITS = ("flash", "cuDNN")
# What flash refuses: a causal flag with as many queries as keys only.
LIMITATIONS = {"flash": ("value_width", "unequal_lengths"), "cuDNN": ("value_width",)}
LAYERS = (
    "multi_head_attention",
    "encoder_layer",
    "decoder_layer",
    "encoder",
    "encoder_decoder",
    "language_model",
)

Target = tuple[str, str, SimpleNamespace]


def torch_kernel(kernel: str, device: str, dtype: str) -> SimpleNamespace:
    """Return torch's functional attention with one kernel only.

    Flash is given no masks and biases, which it refuses; cuDNN, heads that are padded to a multiple of 8.
    """
    attention = import_module("torch.nn.attention")
    within = import_module("veriformer.adapters.variants.settings").within
    only = partial(attention.sdpa_kernel, getattr(attention.SDPBackend, KERNELS[kernel]))
    adapter = import_module("veriformer.adapters.torch")
    offered = {name: getattr(adapter, name) for name in ATTENTION}
    if kernel == "flash" and device != "cpu":
        offered = {name: _without_masks(operation) for name, operation in offered.items()}
    if kernel == "cuDNN":
        offered = {name: _padded(operation) for name, operation in offered.items()}
    offered = {name: within(only, operation) for name, operation in offered.items()}
    return _target(adapter, device, dtype, offered, limitations=LIMITATIONS.get(kernel, ()))


def layers(library: str, device: str, dtype: str) -> SimpleNamespace:
    """Return the layers and models of a library's adapter."""
    adapter = import_module(f"veriformer.adapters.{library}")
    return _target(adapter, device, dtype, {name: getattr(adapter, name) for name in LAYERS})


def functions(library: str, device: str, dtype: str) -> SimpleNamespace:
    """Return every operation of a library's adapter that is neither attention nor a layer."""
    adapter = import_module(f"veriformer.adapters.{library}")
    names = (name for name in OPERATIONS if name not in (*ATTENTION, *LAYERS) and hasattr(adapter, name))
    return _target(adapter, device, dtype, {name: getattr(adapter, name) for name in names})


def jax_attention(device: str, dtype: str) -> SimpleNamespace:
    """Return jax's compiled attention."""
    adapter = import_module("veriformer.adapters.jax")
    within = import_module("veriformer.adapters.variants.settings").within
    # Otherwise XLA multiplies matrices of float32 on a GPU with the 10 bits of TF32.
    precision = "highest" if dtype == "float32" else "default"
    exactly = partial(import_module("jax").default_matmul_precision, precision)
    return _target(adapter, device, dtype, {name: within(exactly, getattr(adapter, name)) for name in ATTENTION})


def _target(
    adapter: Any, device: str, dtype: str, offered: dict[str, Callable[..., Any]], **declared: Any
) -> SimpleNamespace:
    names = ("conventions", "limitations", "architectures")
    declared = {name: getattr(adapter, name) for name in names if hasattr(adapter, name)} | declared
    return SimpleNamespace(
        framework=adapter.framework,
        device=device,
        dtypes=(dtype,),
        **declared,
        **offered,
    )


def targets() -> Iterator[tuple[str, str, Callable[[], SimpleNamespace]]]:
    """Yield what can be tried here: its name, a dtype, and how it is made."""
    if find_spec("torch") and import_module("torch").cuda.is_available():
        for kernel in KERNELS:
            for dtype in DTYPES[2:] if kernel in SIXTEEN_BITS else DTYPES:
                if (kernel, dtype) != ("memory efficient", "float64"):
                    yield f"torch, {kernel}", dtype, partial(torch_kernel, kernel, "cuda", dtype)
        for dtype in DTYPES:
            yield "torch, functions", dtype, partial(functions, "torch", "cuda", dtype)
            yield "torch, layers", dtype, partial(layers, "torch", "cuda", dtype)
    if find_spec("jax") and import_module("jax").default_backend() == "gpu":
        for dtype in ("float32", "bfloat16", "float16"):
            yield "jax, attention", dtype, partial(jax_attention, "gpu", dtype)
            yield "jax, functions", dtype, partial(functions, "jax", "gpu", dtype)


def row(name: str, dtype: str, report: Report) -> str:
    """Return one line of the table."""
    tried = [result for result in report.results if result.status != "not_declared"]
    statuses = ("passed", "failed", "error", "not_tried")
    count = {status: sum(result.status == status for result in tried) for status in statuses}
    passed = [result for result in tried if result.status == "passed"]
    worst = max(passed, key=lambda result: result.largest_excess, default=None)
    cells = (
        name,
        dtype,
        len(tried),
        *count.values(),
        f"{report.counts['cases']:,}",
        f"{worst.largest_excess:.2f}" if worst else "–",
        f"`{worst.law.id}`" if worst else "–",
        f"{report.seconds:.0f}",
    )
    return line(map(str, cells))


def line(cells: Iterable[str]) -> str:
    """Return cells as a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def not_held(name: str, dtype: str, results: Iterable[LawResult]) -> list[str]:
    """Return a line for each law that was violated or could not be judged."""
    shown = []
    for result in results:
        if result.status in ("failed", "error"):
            found = result.reason or f"{result.largest_excess:.3g} times what rounding explains"
            shown.append(f"- {name}, {dtype}: `{result.law.id}` {result.status}: {found}")
    return shown


def measure(chosen: Iterable[Target], **selection: Any) -> tuple[list[str], bool]:
    """Print the table; return what did not hold, and whether a law was violated."""
    print(line(HEADER))
    print(line("---" for _ in HEADER))
    notes, violated = [], False
    for name, dtype, implementation in chosen:
        report = check(implementation, **selection)
        print(row(name, dtype, report), flush=True)
        notes += not_held(name, dtype, report.results)
        violated |= any(result.status == "failed" for result in report.results)
    return notes, violated


def main() -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tier", choices=("quick", "standard", "thorough"), default="standard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="the time that the laws of a row may take")
    parser.add_argument("--part", nargs="+", metavar="NAME", help="only these parts, by the names in the table")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES, help="only these dtypes")
    parser.add_argument("--list", action="store_true", help="print the parts and dtypes that there are, and end")
    options = parser.parse_args()
    available = list(targets())
    if not available:
        print(
            "there is no GPU here: torch.cuda.is_available() is false and jax has none of its own; run this on a "
            "machine with a GPU and the builds of torch or jax for it",
            file=sys.stderr,
        )
        return 2
    wanted = [one for one in available if one[1] in options.dtype and (not options.part or one[0] in options.part)]
    if options.list:
        print(*(f"{name}\t{dtype}" for name, dtype, _ in wanted), sep="\n")
        return 0
    chosen = ((name, dtype, make()) for name, dtype, make in wanted)
    notes, violated = measure(chosen, tier=options.tier, seed=options.seed, budget=options.budget)
    print("", *notes, sep="\n")
    return int(violated)


def _without_masks(operation: Callable[..., Any]) -> Callable[..., Any]:
    def unmasked(query: Any, key: Any, value: Any, *, is_causal: bool = False, scale: float | None = None) -> Any:
        return operation(query, key, value, is_causal=is_causal, scale=scale)

    return unmasked


def _padded(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operation on heads that are filled up with zeros to a multiple of 8, which changes no result."""
    pad = import_module("torch.nn.functional").pad

    def padded(
        query: Any,
        key: Any,
        value: Any,
        *,
        mask: Any = None,
        bias: Any = None,
        is_causal: bool = False,
        scale: float | None = None,
    ) -> Any:
        width = query.shape[-1]
        filled = [pad(given, (0, -width % 8)) for given in (query, key, value)]
        result = operation(
            *filled, mask=mask, bias=bias, is_causal=is_causal, scale=width**-0.5 if scale is None else scale
        )
        return result[..., :width]

    return padded


if __name__ == "__main__":
    sys.exit(main())
