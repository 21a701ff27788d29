"""How large the constants of the error bounds must be, and how near correct programs come to the bounds.

    python benchmarks/calibrate.py [--trials 300] [--seeds 0-2] [--quick]

Prints three Markdown tables. Of each constant that was chosen: the smallest value with which no program of the trial
would be accused. Of attention at random sizes, and of every operation with error bounds: the largest error as a
multiple of what is allowed, for each dtype. Exit status 1 when a constant is too small or an error too large.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from unittest.mock import patch

import jax
import numpy as np
import torch
from detection_floor import markdown
from false_alarms import seed_range
from slightly_wrong import EagerAttention, FusedAttention
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.activations import bounds as activations
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.rounding import precision as precision_module
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF, Precision
from veriformer.reference import gelu, silu

Array = np.ndarray
DTYPES = ("float32", "float64", "bfloat16", "float16")
# Between them λ √n bounds a sum, and beyond them the errors of equal terms, which are alike.
LENGTHS = (65, 128, 300, 455)
LONG = (456, 1024, 2048, 4096)
_FORMULAS = ("*.value", "*.values", "*.scale", "*.grad_*", "*.architecture.*", "*.large_logits", "*.many_keys")


@dataclass(frozen=True)
class Needed:
    """A constant: its value, and the smallest that would do, with where that was met."""

    name: str
    where: str
    value: float
    least: float
    met: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return (self.name, f"`{self.where}`", f"{self.value:g}", f"{self.least:.3g}", self.met)


def largest(found: Iterable[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest number and what it belongs to."""
    return max(found, key=lambda pair: pair[0])


# Sums


def terms(generator: np.random.Generator, kind: str, length: int, dtype: str) -> tuple[Array, Array]:
    """Return two vectors whose products are exact in float64: of 26 bits, or of float32."""
    sizes = (1, length)
    one, other = (generator.normal(size=sizes) for _ in range(2))
    if kind == "positive":
        one, other = np.abs(one), np.abs(other)
    if kind == "equal":
        one, other = (np.full(sizes, array.flat[0]) for array in (one, other))
    if dtype == "float64":
        mantissa, exponent = np.frexp(np.stack([one, other]))
        one, other = np.ldexp(np.rint(mantissa * 2.0**26), exponent - 26)
        return one[0], other[0]
    return round_to_dtype(one, dtype)[0], round_to_dtype(other, dtype)[0]


SUMS: Mapping[str, Callable[[Array, Array], float]] = {
    "one term after the other": lambda x, y: float(np.cumsum(x * y)[-1]),
    "numpy.sum": lambda x, y: float(np.sum(x * y)),
    "numpy.dot": lambda x, y: float(np.dot(x, y)),
    "torch.dot": lambda x, y: float(torch.dot(torch.from_numpy(x), torch.from_numpy(y))),
}


def growth(dtype: str, trials: int, lengths: Iterable[int], name: str, part: Callable[[int], float]) -> Needed:
    """Return how large a constant c must be, if sums of n products err by c · part(n) · u of their magnitudes."""

    def needed() -> Iterator[tuple[float, str]]:
        generator = np.random.default_rng(1)
        for _ in range(trials):
            for length in lengths:
                for kind in ("normal", "positive", "equal"):
                    x, y = terms(generator, kind, length, dtype)
                    exact = math.fsum(x * y)
                    scale = part(length) * UNIT_ROUNDOFF[dtype] * math.fsum(np.abs(x * y))
                    for order, program in SUMS.items():
                        result = program(x.astype(dtype), y.astype(dtype))
                        yield abs(result - exact) / scale, f"{dtype}, n = {length}, {kind} terms, {order}"

    value = precision_module._GROWTH if part is math.sqrt else precision_module._COHERENT
    return Needed(name, "precision.py", value, *largest(needed()))


# Activations

ACTIVATIONS: Mapping[tuple[str, str], tuple[Callable[[Array], Array], Mapping[str, Callable[..., object]]]] = {
    ("gelu", "erf"): (
        lambda x: gelu(x, "erf"),
        {"torch": functional.gelu, "jax": lambda x: jax.nn.gelu(x, approximate=False)},
    ),
    ("gelu", "tanh"): (
        lambda x: gelu(x, "tanh"),
        {"torch": lambda x: functional.gelu(x, approximate="tanh"), "jax": jax.nn.gelu},
    ),
    ("silu", "tanh"): (silu, {"torch": functional.silu, "jax": jax.nn.silu}),
}


def called(program: Callable[..., object], framework: str, x: Array, dtype: str) -> Array:
    """Return what a framework's function makes of x in a dtype."""
    if framework == "torch":
        result = program(torch.from_numpy(x).to(getattr(torch, dtype)))
        return np.asarray(result.to(torch.float64).numpy())  # type: ignore[attr-defined]
    with jax.enable_x64(True):
        return np.asarray(program(jax.numpy.asarray(x, dtype=dtype))).astype(np.float64)


def function_error(dtype: str, trials: int) -> Needed:
    """Return how large K must be: by how many units a gate's function may err, beyond what is counted."""
    x = np.random.default_rng(2).uniform(-12.0, 12.0, 1000 * trials)
    x = round_to_dtype(np.concatenate([x, x / 100.0]), dtype)
    precision = Precision.of(dtype)

    def bound(activation: str, form: str, constant: float) -> Array:
        with patch.object(activations, "FUNCTION_ERROR", constant):
            return activations.activation_bound(activation, form, x, precision)

    def needed() -> Iterator[tuple[float, str]]:
        for (activation, form), (exact, programs) in ACTIVATIONS.items():
            counted, of_one = bound(activation, form, 0.0), bound(activation, form, 1.0)
            for framework, program in programs.items():
                error = np.abs(called(program, framework, x, dtype) - exact(x))
                units = np.where(error > counted, (error - counted) / (of_one - counted), 0.0)
                yield float(units.max()), f"{dtype}, {framework}'s {activation} ({form})"

    return Needed("K: a gate's function errs by K u", "activations.py", 16.0, *largest(needed()))


def soft_cap(dtype: str, trials: int) -> Needed:
    """Return by how many units a soft cap errs, relative to its result."""
    z = round_to_dtype(np.random.default_rng(3).normal(size=1000 * trials) * 60.0, dtype)
    programs: Mapping[str, Callable[..., object]] = {
        "torch": lambda given: 30.0 * torch.tanh(given / 30.0),
        "jax": lambda given: 30.0 * jax.numpy.tanh(given / 30.0),
    }
    exact = 30.0 * np.tanh(z / 30.0)
    unit = UNIT_ROUNDOFF[dtype] * np.abs(exact)

    def needed() -> Iterator[tuple[float, str]]:
        for framework, program in programs.items():
            error = np.abs(called(program, framework, z, dtype) - exact)
            yield float(np.max(error / np.where(unit > 0.0, unit, 1.0))), f"{dtype}, {framework}'s tanh, c = 30"

    return Needed("10: a capped logit errs by 10u of itself", "attention.py", 10.0, *largest(needed()))


def slopes() -> Iterator[Needed]:
    """Return how steep activations are, and their own errors."""
    x = np.linspace(-8.0, 8.0, 400_001)
    step = float(x[1] - x[0])
    functions = {f"{name} ({form})": exact(x) for (name, form), (exact, _) in ACTIVATIONS.items()}
    functions["gelu (sigmoid)"] = gelu(x, "sigmoid")
    steep = largest((float(np.abs(np.diff(y)).max()) / step, name) for name, y in functions.items())
    yield Needed("1.13: the steepest activation", "activations.py", activations._STEEPEST, *steep)
    unit = 2.0**-24
    precision = Precision(0.0, unit, unit, 0.0, 0.0)
    kinds = (*ACTIVATIONS, ("gelu", "sigmoid"))
    errors = {f"{name} ({form})": activations.activation_bound(name, form, x, precision) / unit for name, form in kinds}
    own = largest((float(np.abs(np.diff(y)).max()) / step, name) for name, y in errors.items())
    yield Needed("7: how steep an activation's own error is", "activations.py", activations._STEEPEST_ERROR, *own)


def constants(trials: int) -> list[Needed]:
    """Return what each chosen constant must be, dtype by dtype where the dtype matters."""
    accumulated = ("float32", "float64")
    found = [growth(dtype, trials, LENGTHS, "λ: 64 < n < 456 terms err by λ √n u", math.sqrt) for dtype in accumulated]
    found += [growth(dtype, trials, LONG, "3/8: n ≥ 456 terms err by 3/8 n u", float) for dtype in accumulated]
    found += [function_error(dtype, trials) for dtype in DTYPES]
    found += [soft_cap(dtype, trials) for dtype in ("float32", "float64")]
    return [*found, *slopes()]


# Attention


def attention_case(generator: np.random.Generator, dtype: str) -> AttentionCase:
    """Return attention of any size: up to 4096 keys and widths of 256, fewer queries where there are many keys."""

    def log_uniform(most: int) -> int:
        return round(2.0 ** generator.uniform(0.0, math.log2(most)))

    keys, width = log_uniform(4096), log_uniform(256)
    return AttentionCase(
        batch=1,
        heads=2,
        kv_heads=2,
        query_length=int(generator.integers(1, max(2, min(16, 8192 // keys)))),
        key_length=keys,
        head_width=width,
        value_width=width,
        dtype=dtype,
        palette=generator.choice(EVERY_PALETTE),
        amplitude=int(generator.choice((1, 4, 8))),
        mask=generator.choice(("none", "random", "padding", "one_visible")),
        scale=float(generator.choice((1.0, 0.25, 0.125, 0.3))) if generator.random() < 0.5 else None,
        seed=int(generator.integers(2**31)),
    )


def with_kernel(kernel: SDPBackend) -> Callable[..., torch.Tensor]:
    """Return torch's attention by one of its kernels."""

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: object) -> torch.Tensor:
        with sdpa_kernel(kernel):
            mask, scale = options.get("mask"), options.get("scale")
            return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)

    return attend


def by_jax(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: object) -> torch.Tensor:
    """Return what jax's attention makes of the same arrays: it takes (B, L, H, D)."""
    given = (_to_jax(array) for array in (query, key, value))
    mask = options.get("mask")
    with jax.enable_x64(True):
        visible = None if mask is None else jax.numpy.asarray(np.broadcast_to(mask, (*query.shape[:3], key.shape[2])))
        result = jax.nn.dot_product_attention(*given, mask=visible, scale=options.get("scale"))
    return torch.from_numpy(np.asarray(result).astype(np.float64)).transpose(1, 2)


def _to_jax(array: torch.Tensor) -> jax.Array:
    with jax.enable_x64(True):
        name = str(array.dtype).removeprefix("torch.")
        return jax.numpy.asarray(array.to(torch.float64).transpose(1, 2).numpy(), dtype=name)


# jax computes float64 attention in float32 (softmax_dtype), and refuses float16 on some processors.
PROGRAMS: Mapping[str, tuple[Callable[..., torch.Tensor], tuple[str, ...]]] = {
    "torch, fused kernel": (with_kernel(SDPBackend.FLASH_ATTENTION), ("float32", "float64")),
    "torch, default": (FusedAttention().scaled_dot_product_attention, DTYPES),
    "torch, math kernel": (with_kernel(SDPBackend.MATH), DTYPES),
    "torch, step by step": (EagerAttention().scaled_dot_product_attention, DTYPES),
    "jax": (by_jax, ("float32", "bfloat16")),
}


def attention_trial(dtype: str, trials: int) -> dict[str, tuple[float, int]]:
    """Return for each program its largest error as a multiple of what is allowed, and how many are accused."""
    generator, conventions = np.random.default_rng(4), standard_conventions()
    found = dict.fromkeys(PROGRAMS, (0.0, 0))
    for trial in range(trials):
        case = attention_case(generator, dtype)
        inputs = AttentionInputs.draw("scaled_dot_product_attention", case)
        expected = inputs.expected(conventions)
        arrays = inputs.arguments()
        kind = getattr(torch, dtype)
        given = {name: torch.from_numpy(arrays[name]).to(kind) for name in ("query", "key", "value")}
        mask = None if inputs.mask is None else torch.from_numpy(inputs.mask)
        for name, (program, dtypes) in PROGRAMS.items():
            # A new shape is compiled by jax and takes its time; torch's fused kernel takes no mask.
            if dtype not in dtypes or (name == "jax" and trial % 10) or ("fused" in name and mask is not None):
                continue
            output = program(**given, mask=mask, scale=inputs.scale).to(torch.float64).numpy()
            error = np.abs(output - expected.value)
            ratio = np.where(expected.judged & (error > 0.0), error / expected.allowed, 0.0).max()
            worst, accused = found[name]
            found[name] = max(worst, float(ratio)), accused + bool(ratio > 1.0)
    return {name: found[name] for name, (_, dtypes) in PROGRAMS.items() if dtype in dtypes}


# Every operation


def operations(implementation: str, dtype: str, seeds: range) -> dict[str, float]:
    """Return of each operation the largest error as a multiple of what is allowed, over the laws that are formulas."""
    found: dict[str, float] = {}
    for seed in seeds:
        report = check(implementation, dtypes=(dtype,), laws=_FORMULAS, seed=seed)
        for result in report.results:
            if result.status != "not_declared":
                name = result.law.operation.name
                found[name] = max(found.get(name, 0.0), result.largest_excess)
    return found


def operation_table(seeds: range) -> tuple[str, float]:
    """Return the table of all operations, torch and jax together, and its largest entry."""
    found: dict[str, dict[str, float]] = {}
    for implementation, dtypes in (("torch", DTYPES), ("jax", ("float32", "bfloat16"))):
        for dtype in dtypes:
            for name, excess in operations(implementation, dtype, seeds).items():
                row = found.setdefault(name, {})
                row[dtype] = max(row.get(dtype, 0.0), excess)
            print(implementation, dtype, file=sys.stderr, flush=True)
    rows = [(f"`{name}`", *(_shown(row.get(dtype)) for dtype in DTYPES)) for name, row in found.items()]
    return markdown(("operation", *DTYPES), rows), max(max(row.values()) for row in found.values())


def attention_table(trials: int) -> tuple[str, int]:
    """Return the table of attention at random sizes, and how many results were accused."""
    found = {dtype: attention_trial(dtype, trials) for dtype in DTYPES}
    rows = []
    for name in PROGRAMS:
        ratios = (found[dtype].get(name) for dtype in DTYPES)
        rows.append((name, *(_shown(None if ratio is None else ratio[0]) for ratio in ratios)))
    accused = sum(count for programs in found.values() for _, count in programs.values())
    return markdown(("program", *DTYPES), rows), accused


def _shown(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


def main() -> int:
    """Print the tables; 1 when a constant is too small or a correct program is accused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seeds", type=seed_range, default=seed_range("0-2"), metavar="A-B")
    parser.add_argument("--quick", action="store_true", help="20 trials, and no table of all operations")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    trials = 20 if asked.quick else asked.trials
    needed = constants(trials)
    print(f"Constants, {trials} trials:\n")
    print(markdown(("constant", "in", "value", "needed", "met with"), (one.cells for one in needed)), flush=True)
    table, accused = attention_table(trials)
    print(f"\nAttention at random sizes, error / allowed, {trials} inputs of each dtype:\n\n{table}", flush=True)
    largest_excess = 0.0
    if not asked.quick:
        table, largest_excess = operation_table(asked.seeds)
        print(f"\nAll operations, error / allowed, {len(asked.seeds)} seeds:\n\n{table}")
    small = [one.name for one in needed if one.least > one.value]
    if small or accused or largest_excess > 1.0:
        print(f"\nToo small: {', '.join(small) or 'no constant'}; accused: {accused}; largest {largest_excess:.3g}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
