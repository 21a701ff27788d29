"""Time of the plain reference against torch's float64 math attention, in one process on the same cores.

    python benchmarks/reference_time.py [--length 2048] [--rounds 9]

Four heads of width 64. The two take turns, so that both meet the same load of the machine. Exit status 1 when the ratio
of the medians exceeds 2.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from veriformer.reference import scaled_dot_product_attention

_LARGEST_RATIO = 2.0


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def compare(length: int, rounds: int, *, is_causal: bool) -> float:
    """Print a row with both medians and their ratio, and return the ratio."""
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=(1, 4, length, 64)) for _ in range(3)]
    tensors = [torch.from_numpy(array) for array in arrays]

    def ours() -> object:
        return scaled_dot_product_attention(arrays[0], arrays[1], arrays[2], is_causal=is_causal)

    def theirs() -> object:
        return functional.scaled_dot_product_attention(tensors[0], tensors[1], tensors[2], is_causal=is_causal)

    with sdpa_kernel(SDPBackend.MATH):
        ours(), theirs()
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    one, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    kind = "causal" if is_causal else "plain"
    print(f"| {kind} | {one:.3f} s | {other:.3f} s | {one / other:.2f} |")
    return float(one / other)


def main() -> None:
    """Print the ratio without and with the causal flag; exit status 1 when it is too large."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"L = S = {options.length}, {torch.get_num_threads()} threads of torch, NumPy {np.__version__}\n")
    print("| attention | reference | torch | ratio |\n| --- | --- | --- | --- |")
    ratios = [compare(options.length, options.rounds, is_causal=is_causal) for is_causal in (False, True)]
    sys.exit(max(ratios) > _LARGEST_RATIO)


if __name__ == "__main__":
    main()
