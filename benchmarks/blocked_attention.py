"""Time and memory of attention in blocks at S = 32,768, each length in a process of its own.

    python benchmarks/blocked_attention.py [--lengths 8192 32768] [--block 1024]

One head of width 64 in float64. The logits of 32,768 queries and keys alone would take 8 GiB; the peak printed is that
of the whole process (ru_maxrss), Python, NumPy and the inputs included. The first and the last queries are compared
with the plain path, so that what was measured is also right. Exit status 1 when the peak exceeds 1 GiB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from veriformer.reference import blocked_attention, scaled_dot_product_attention

_COMPARED = 64
_LARGEST_PEAK = 1.0


def measure(length: int, block: int) -> float:
    """Run one length here, print seconds, peak memory and the largest difference, and return the peak in GiB."""
    generator = np.random.default_rng(0)
    query, key, value = (generator.normal(size=(1, 1, length, 64)) for _ in range(3))
    started = time.perf_counter()
    output = blocked_attention(query, key, value, block=block)
    seconds = time.perf_counter() - started
    # ru_maxrss counts kibibytes on Linux and bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
    rows = np.r_[0:_COMPARED, length - _COMPARED : length]
    plain = scaled_dot_product_attention(query[:, :, rows], key, value)
    difference = np.abs(output[:, :, rows] - plain).max()
    print(f"| {length:,} | {seconds:.1f} s | {peak:.2f} GiB | {difference:.1e} |", flush=True)
    return float(peak)


def main() -> None:
    """Measure each length in a process of its own; exit status 1 when one takes too much memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[8192, 32768])
    parser.add_argument("--block", type=int, default=1024)
    parser.add_argument("--here", action="store_true", help="measure in this process")
    options = parser.parse_args()
    if options.here:
        sys.exit(max(measure(length, options.block) for length in options.lengths) > _LARGEST_PEAK)
    print("| keys | time | peak | difference |\n| --- | --- | --- | --- |", flush=True)
    for length in options.lengths:
        command = [sys.executable, __file__, "--here", "--lengths", str(length), "--block", str(options.block)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
