"""Find the smallest inputs on which the programs of `veriformer learn spot` fail, and write lessons/spot.toml.

    python benchmarks/spot.py

The laws about a mistake are tried, and of all calls in the counterexamples the one with the fewest numbers is kept that
shows the fault alone. A program without such a call is left out, and named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.conformance_tests import check
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.lessons.spotting import Puzzle, UnusableInput, arguments_of, numbers_in, tried
from veriformer.spec.operations import OPERATIONS

PATH = Path(__file__).resolve().parents[1] / "lessons" / "spot.toml"
# From easy to hard: the operation, and the mistake in it.
CHOSEN = (
    ("softmax", "softmax_wrong_axis"),
    ("softmax", "softmax_no_max_subtraction"),
    ("scaled_dot_product_attention", "scale_missing"),
    ("scaled_dot_product_attention", "causal_mask_excludes_self"),
    ("scaled_dot_product_attention", "bool_mask_added_as_numbers"),
    ("scaled_dot_product_attention", "scale_applied_twice"),
    ("silu", "squeeze_drops_axis_of_one"),
    ("silu", "sigmoid_overflows"),
    ("gelu", "gelu_constant_wrong"),
    ("rms_norm", "rmsnorm_centred"),
    ("rms_norm", "rmsnorm_eps_outside_sqrt"),
    ("layer_norm", "layernorm_eps_outside_sqrt"),
    ("layer_norm", "variance_by_difference_of_squares"),
    ("scaled_dot_product_attention", "causal_dropped_when_lengths_differ"),
    ("scaled_dot_product_attention", "causal_dropped_without_explicit_mask"),
    ("scaled_dot_product_attention", "is_causal_hint_trusted_over_mask"),
    ("scaled_dot_product_attention", "mask_multiplied_after_softmax_no_renorm"),
    ("scaled_dot_product_attention", "finite_mask_beaten_by_logits"),
    ("scaled_dot_product_attention", "padding_mask_on_query_axis"),
    ("scaled_dot_product_attention", "mask_of_first_sample"),
    ("scaled_dot_product_attention", "fully_masked_row_not_zero"),
    ("scaled_dot_product_attention", "block_tail_dropped"),
    ("grouped_query_attention", "gqa_head_index_wrong"),
    ("sinusoidal_positions", "sinusoidal_integer_division"),
    ("rotary_embedding", "rope_positions_from_one"),
    ("rotary_embedding", "rope_sign_flipped"),
    ("rotary_embedding", "rope_positions_of_first_sample"),
    ("relative_position_bucket", "t5_bucket_wrong"),
    ("token_embedding", "embedding_zeroes_token_zero"),
    ("cross_entropy", "class_zero_ignored"),
    ("cross_entropy", "loss_denominator_counts_padding"),
    ("cross_entropy", "label_smoothing_spares_target"),
    ("merge_attention", "merge_empty_partitions_nan"),
)


def main() -> int:
    """Write the file; exit status 1 where a chosen program is left out."""
    found = [(operation, slug, _smallest(operation, _planted(operation, slug))) for operation, slug in CHOSEN]
    kept = [one for one in found if one[2] is not None]
    head = "# Wrong programs of which an input is wanted, each with the smallest known: benchmarks/spot.py.\n"
    tables = [_table(_planted(operation, slug).name, operation, arguments) for operation, slug, arguments in kept]
    PATH.write_text("\n".join([head, *tables]), encoding="utf-8")
    for operation, slug, arguments in found:
        print(operation, slug, "left out" if arguments is None else numbers_in(arguments), flush=True)
    return int(len(kept) < len(found))


def _planted(operation: str, slug: str) -> PlantedMistake:
    return next(
        one for one in planted() if one.slug == slug and operation in one.operations and one.framework == "numpy"
    )


def _smallest(operation: str, mistake: PlantedMistake) -> Mapping[str, Any] | None:
    module = ModuleType("program")
    exec(compile(mistake.source_text(), "program", "exec"), vars(module))
    report = check(module, operations=(operation,), laws=mistake.laws, diagnosis=False)
    puzzle = Puzzle(mistake, OPERATIONS[operation], {})
    showing = [one for one in _calls(report.results, operation) if _shows(puzzle, one)]
    return min(showing, key=lambda one: (numbers_in(one), len(str(one))), default=None)


def _calls(results: Any, operation: str) -> Iterator[dict[str, Any]]:
    for result in results:
        for call in result.counterexample.calls if result.counterexample else ():
            if call.operation == operation:
                given = {name: value for name, value in call.arguments.items() if value is not None}
                yield {name: value for name, value in given.items() if value is not False}


def _shows(puzzle: Puzzle, given: Mapping[str, Any]) -> bool:
    listed = {name: _plain(value) for name, value in given.items()}
    try:
        arguments_of(puzzle.operation, listed)
        return tried(Puzzle(puzzle.mistake, puzzle.operation, listed), listed).shows
    except UnusableInput:
        return False


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _table(name: str, operation: str, arguments: Mapping[str, Any]) -> str:
    rows = [f"{key} = {_written(_plain(value))}" for key, value in arguments.items()]
    head = ["[[puzzle]]", f'planted = "{name}"', f'operation = "{operation}"', "[puzzle.smallest]"]
    return "\n".join([*head, *rows]) + "\n"


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if (value == float(f"{value:g}") and "." in f"{value:g}") or value != value else repr(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    sys.exit(main())
