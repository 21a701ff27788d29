"""Clipping and schedules as strangers write them: right programs conform in every dtype, wrong ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

NUMPY = """
import math
import numpy as np
"""
# NumPy has no bfloat16; its float16 squares in float16.
HALF = f"{NUMPY}dtypes = ('float16', 'float32', 'float64')\n"
TORCH = """
import torch
framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
"""

RIGHT = {
    "one_entry_after_the_other": f"""{HALF}
def clip_by_global_norm(gradients, *, max_norm):
    number = gradients[0].dtype.type
    total = number(0)
    for gradient in gradients:
        for entry in gradient.ravel():
            total = number(total + number(entry * entry))
    bound = number(max_norm)
    with np.errstate(divide="ignore"):
        scale = number(bound * min(number(1) / np.sqrt(total), number(1) / bound))
    return tuple(gradient * scale for gradient in gradients)
""",
    "divided_by_the_largest": f"""{HALF}
def clip_by_global_norm(gradients, *, max_norm):
    largest = max(np.abs(gradient).max() for gradient in gradients)
    if largest == 0:
        return [gradient.copy() for gradient in gradients]
    norms = [np.linalg.norm(gradient / largest) for gradient in gradients]
    norm = largest * np.linalg.norm(np.array(norms, dtype=largest.dtype))
    if norm < max_norm:
        return [gradient.copy() for gradient in gradients]
    return [gradient / norm * largest.dtype.type(max_norm) for gradient in gradients]
""",
    "stored_sums_of_torch": f"""{TORCH}
def clip_by_global_norm(gradients, *, max_norm):
    total = torch.zeros((), dtype=gradients[0].dtype)
    for gradient in gradients:
        for entry in (gradient * gradient).flatten():
            total = total + entry
    norm = total.sqrt()
    return [torch.where(norm > max_norm, gradient * max_norm / norm, gradient) for gradient in gradients]
""",
    "asked_before_anything_is_added": f"""{TORCH}
def clip_by_global_norm(gradients, *, max_norm):
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    if norm <= max_norm:
        return [gradient.clone() for gradient in gradients]
    return [gradient * (max_norm / (norm + 1e-6)) for gradient in gradients]
""",
    "in_float32": f"""{TORCH}
def clip_by_global_norm(gradients, *, max_norm):
    wide = [gradient if gradient.dtype == torch.float64 else gradient.float() for gradient in gradients]
    flat = torch.cat([gradient.flatten() for gradient in wide])
    factor = max_norm / torch.clamp(flat.norm(), min=max_norm)
    return [(gradient * factor).to(given.dtype) for gradient, given in zip(wide, gradients)]
""",
    "cosine_as_a_square": f"""{NUMPY}
def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    if step < warmup_steps:
        return np.float32(peak) * np.float32(step / warmup_steps)
    share = min((step - warmup_steps) / (total_steps - warmup_steps), 1)
    return least + (peak - least) * np.float32(math.cos(math.pi / 2 * share)) ** 2
""",
    "rate_of_transformers": f"""{NUMPY}
def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    if step < warmup_steps:
        return peak * float(step) / float(max(1, warmup_steps))
    progress = float(min(step, total_steps) - warmup_steps) / float(max(1, total_steps - warmup_steps))
    factor = 0.5 * (1.0 + math.cos(math.pi * 0.5 * 2.0 * progress))
    return peak * max(0.0, factor * (1 - least / peak) + least / peak)
""",
    "root_in_float32": f"""{NUMPY}
def warmup_inverse_root_learning_rate(step, *, d_model, warmup_steps):
    step, width, warmup = np.float32(step), np.float32(d_model), np.float32(warmup_steps)
    return np.exp(np.float32(-0.5) * np.log(width)) * np.minimum(1 / np.sqrt(step), step / (warmup * np.sqrt(warmup)))
""",
}

WRONG = {
    "clip_norm_of_each_array": f"""{TORCH}
def clip_by_global_norm(gradients, *, max_norm):
    def clipped(gradient):
        norm = gradient.norm()
        return gradient * max_norm / norm if norm > max_norm else gradient.clone()

    return [clipped(gradient) for gradient in gradients]
""",
    "clip_by_value": f"""{TORCH}
def clip_by_global_norm(gradients, *, max_norm):
    return [gradient.clamp(-max_norm, max_norm) for gradient in gradients]
""",
    "clip_small_gradients_scaled_up": f"""{NUMPY}
def clip_by_global_norm(gradients, *, max_norm):
    norm = math.sqrt(sum(float((gradient.astype(float) ** 2).sum()) for gradient in gradients))
    return [(gradient * (max_norm / (norm or max_norm))).astype(gradient.dtype) for gradient in gradients]
""",
    "schedule_decay_over_all_steps": f"""{NUMPY}
def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    if step < warmup_steps:
        return peak * step / warmup_steps
    return least + (peak - least) * (1 + math.cos(math.pi * min(step / total_steps, 1))) / 2
""",
    "inverse_root_width_forgotten": f"""{NUMPY}
def warmup_inverse_root_learning_rate(step, *, d_model, warmup_steps):
    return 1 / math.sqrt(max(step, warmup_steps)) * min(step / warmup_steps, 1)
""",
}


def written(folder: Path, program: str) -> str:
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_conforms(tmp_path, name, seed):
    if "torch" in RIGHT[name]:
        pytest.importorskip("torch")
    report = check(written(tmp_path, RIGHT[name]), tier="thorough", seed=seed)
    assert [result for result in report.results if result.status in ("failed", "error")] == []
    assert report.verdict == "conforms"


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_is_named(tmp_path, name):
    if "torch" in WRONG[name]:
        pytest.importorskip("torch")
    report = check(written(tmp_path, WRONG[name]), tier="quick")
    assert report.verdict == "violates"
    assert [diagnosis.suspects[0].mistakes for diagnosis in report.diagnoses] == [(name,)]


ADDED = """
def clip_by_global_norm(gradients, *, max_norm):
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm() + {added}
    return [gradient * torch.clamp(max_norm / norm, max=1.0) for gradient in gradients]
"""


@pytest.mark.parametrize(("added", "value"), [("0.0", "none"), ("1e-6", "1e-6")])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_what_is_added_to_the_norm_is_found_out(tmp_path, added, value, dtype):
    pytest.importorskip("torch")
    report = check(written(tmp_path, TORCH + ADDED.format(added=added)), tier="quick", dtypes=[dtype])
    assert report.conventions["clip_norm_eps"] == value


STARTED = """
def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    if step < warmup_steps:
        return peak * (step + {before}) / (warmup_steps + {before})
    share = min((step - warmup_steps) / (total_steps - warmup_steps), 1)
    return least + (peak - least) * (1 + math.cos(math.pi * share)) / 2
"""


@pytest.mark.parametrize(("before", "value"), [("0", "zero"), ("1", "first_share")])
def test_where_a_warmup_starts_is_found_out(tmp_path, before, value):
    report = check(written(tmp_path, NUMPY + STARTED.format(before=before)), tier="quick")
    assert report.verdict == "conforms"
    assert report.conventions["warmup_start"] == value
