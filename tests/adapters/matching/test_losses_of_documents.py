"""Losses of packed rows, whose tokens have the number of their document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veriformer.conformance_tests.run.checking import check

PACKED = """
import torch


def packed_loss(logits, tokens, doc_ids):
    logits, targets = logits[:, :-1], tokens[:, 1:]
    kept = (doc_ids[:, :-1] == doc_ids[:, 1:]) & (doc_ids[:, :-1] != 0)
    losses = torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None])[..., 0]
    return (losses * kept).sum() / kept.sum().clamp(min=1)
"""


def report(tmp_path: Path, *change: str) -> Any:
    file = tmp_path / "mine.py"
    file.write_text(PACKED.replace(*change) if change else PACKED)
    return check(str(file), tier="quick")


def test_tokens_of_other_documents_are_those_that_are_ignored(tmp_path: Path) -> None:
    right = report(tmp_path)
    assert right.exit_status == 0
    assert any("`doc_ids`: the number of a document" in one for one in right.notices)
    wrong = report(tmp_path, "kept.sum().clamp(min=1)", "kept.numel()")
    suspects = [suspect.mistakes for diagnosis in wrong.diagnoses for suspect in diagnosis.suspects]
    assert ("loss_denominator_counts_padding",) in suspects
