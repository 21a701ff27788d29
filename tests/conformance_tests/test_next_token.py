"""The loss of next tokens as strangers write it: right programs conform in every dtype, wrong ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

HEAD = """
import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
"""

RIGHT = {
    "flattened": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    scores = logits[:, :-1, :].contiguous().view(-1, logits.shape[-1])
    return F.cross_entropy(scores, tokens[:, 1:].reshape(-1), ignore_index=ignore_index)
""",
    "channels": """
def next_token_loss(logits, tokens):
    return F.cross_entropy(logits.permute(0, 2, 1)[..., :-1], tokens[:, 1:])
""",
    "in_float32": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    wide = logits if logits.dtype == torch.float64 else logits.float()
    labels = torch.full_like(tokens, ignore_index)
    labels[:, :-1] = tokens[:, 1:]
    log_p = wide.log_softmax(-1)
    use = labels.ne(ignore_index)
    picked = log_p.gather(-1, labels.masked_fill(~use, 0)[..., None])[..., 0]
    return (-(picked * use).sum() / use.sum()).to(logits.dtype)
""",
    "row_by_row": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    total, count = 0.0, 0
    for row, ids in zip(logits, tokens):
        for z, t in zip(row[:-1], ids[1:].tolist()):
            if t == ignore_index:
                continue
            total = total + torch.logsumexp(z, 0) - z[t]
            count += 1
    return total / count
""",
    "rolled_with_the_last_left_out": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    labels = tokens.roll(-1, dims=1)
    labels[:, -1] = ignore_index
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=ignore_index)
""",
}

WRONG = {
    "labels_not_shifted": """
def next_token_loss(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
""",
    "labels_shifted_twice": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    tokens = F.pad(tokens[:, 1:], (0, 1), value=ignore_index)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=ignore_index)
""",
    "shift_after_flattening": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    return F.cross_entropy(logits.flatten(0, 1)[:-1], tokens.flatten()[1:], ignore_index=ignore_index)
""",
    "labels_rolled": """
def next_token_loss(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), torch.roll(tokens, -1, 1).flatten())
""",
    "loss_denominator_counts_unshifted": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    total = F.cross_entropy(
        logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=ignore_index, reduction="sum"
    )
    return total / (tokens != ignore_index).sum()
""",
    "prompt_labels_not_ignored": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    labels = torch.where(tokens == ignore_index, 0, tokens)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten())
""",
    "ignored_mask_not_shifted": """
def next_token_loss(logits, tokens, *, ignore_index=-100):
    use = (tokens != ignore_index)[:, :-1]
    labels = tokens[:, 1:]
    each = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels.where(labels != ignore_index, 0).flatten(),
                           reduction="none").view(use.shape)
    return (each * use).sum() / use.sum()
""",
}

BACKWARD = """
def next_token_loss_backward(logits, tokens, grad_output, *, ignore_index=-100):
    targets = tokens[:, 1:]
    use = targets != ignore_index
    p = torch.softmax(logits, -1)
    hit = F.one_hot(targets.where(use, 0), logits.shape[-1])
    judged = (p[:, :-1] - hit) * use[..., None]
    return torch.cat([judged, p[:, -1:]], 1) * (grad_output / use.sum())
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(HEAD + text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_conforms_with_its_gradient(name: str, seed: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    report = check(written(tmp_path, RIGHT[name]), seed=seed)
    assert [(one.law.id, one.status) for one in report.results if one.status in ("failed", "error")] == []
    judged = {one.law.operation.name for one in report.results if one.status == "passed"}
    assert judged == {"next_token_loss", "next_token_loss_backward"}


@pytest.mark.parametrize("slug", WRONG)
def test_a_wrong_program_is_caught_and_named(slug: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    report = check(written(tmp_path, WRONG[slug]))
    named = {one for found in report.diagnoses for suspect in found.suspects for one in suspect.mistakes}
    assert any(one.status == "failed" for one in report.results)
    assert slug in named


def test_probabilities_left_at_the_last_tokens_are_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    report = check(written(tmp_path, BACKWARD))
    assert [one.suspects[0].mistakes for one in report.diagnoses] == [("next_token_gradient_at_last",)]
