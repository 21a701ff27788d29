"""Whether the attention kernels of torch and jax for a GPU obey the laws, in bfloat16 and float16.

    python benchmarks/gpu.py

Prints a Markdown table with a row for each kernel and dtype, and below it the laws that were violated or could not be
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

DTYPES = ("bfloat16", "float16")
OPERATIONS = ("scaled_dot_product_attention", "grouped_query_attention")
HEADER = ("kernel", "dtype", "laws", "hold", "violated", "not judged", "cases", "largest error / allowed", "seconds")
KERNELS = {
    "math": "MATH",
    "flash": "FLASH_ATTENTION",
    "memory efficient": "EFFICIENT_ATTENTION",
    "cuDNN": "CUDNN_ATTENTION",
}


def torch_kernel(kernel: str, device: str, dtype: str) -> SimpleNamespace:
    """Return torch's functional attention with one kernel only; flash without masks and biases, which it refuses."""
    adapter = import_module("veriformer.adapters.torch")
    attention = import_module("torch.nn.attention")
    within = import_module("veriformer.adapters.variants.settings").within
    only = partial(attention.sdpa_kernel, getattr(attention.SDPBackend, KERNELS[kernel]))
    offered = {name: getattr(adapter, name) for name in OPERATIONS}
    if kernel == "flash" and device != "cpu":
        offered = {name: _without_masks(operation) for name, operation in offered.items()}
    return SimpleNamespace(
        framework="torch",
        device=device,
        dtypes=(dtype,),
        conventions=adapter.conventions,
        limitations=("value_width",) if kernel in ("flash", "cuDNN") else (),
        scaled_dot_product_attention_backward=None,
        **{name: within(only, operation) for name, operation in offered.items()},
    )


def jax_attention(device: str, dtype: str) -> SimpleNamespace:
    """Return jax's compiled attention."""
    adapter = import_module("veriformer.adapters.jax")
    return SimpleNamespace(
        framework="jax",
        device=device,
        dtypes=(dtype,),
        conventions=adapter.conventions,
        limitations=adapter.limitations,
        scaled_dot_product_attention_backward=None,
        **{name: getattr(adapter, name) for name in OPERATIONS},
    )


def targets() -> Iterator[tuple[str, str, SimpleNamespace]]:
    """Yield each kernel that can be tried here with its name and a dtype."""
    if find_spec("torch") and import_module("torch").cuda.is_available():
        for kernel in KERNELS:
            for dtype in DTYPES:
                yield f"torch, {kernel}", dtype, torch_kernel(kernel, "cuda", dtype)
    if find_spec("jax") and import_module("jax").default_backend() == "gpu":
        for dtype in DTYPES:
            yield "jax", dtype, jax_attention("gpu", dtype)


def row(name: str, dtype: str, report: Report) -> str:
    """Return one line of the table."""
    tried = [result for result in report.results if result.status != "not_declared"]
    count = {status: sum(result.status == status for result in tried) for status in ("passed", "failed", "error")}
    largest = max((result.largest_excess for result in tried if result.status == "passed"), default=0.0)
    cells = (
        name,
        dtype,
        len(tried),
        *count.values(),
        report.counts["cases"],
        f"{largest:.2f}",
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


def measure(chosen: Iterable[tuple[str, str, SimpleNamespace]], **selection: Any) -> tuple[list[str], bool]:
    """Print the table; return what did not hold, and whether a law was violated."""
    print(line(HEADER))
    print(line("---" for _ in HEADER))
    notes, violated = [], False
    for name, dtype, implementation in chosen:
        report = check(implementation, operations=OPERATIONS, **selection)
        print(row(name, dtype, report), flush=True)
        notes += not_held(name, dtype, report.results)
        violated |= any(result.status == "failed" for result in report.results)
    return notes, violated


def main() -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tier", choices=("quick", "standard", "thorough"), default="standard")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = list(targets())
    if not chosen:
        print(
            "there is no GPU here: torch.cuda.is_available() is false and jax has none of its own; run this on a "
            "machine with a GPU and the builds of torch or jax for it",
            file=sys.stderr,
        )
        return 2
    notes, violated = measure(chosen, tier=options.tier, seed=options.seed)
    print("", *notes, sep="\n")
    return int(violated)


def _without_masks(operation: Callable[..., Any]) -> Callable[..., Any]:
    def unmasked(query: Any, key: Any, value: Any, *, is_causal: bool = False, scale: float | None = None) -> Any:
        return operation(query, key, value, is_causal=is_causal, scale=scale)

    return unmasked


if __name__ == "__main__":
    sys.exit(main())
