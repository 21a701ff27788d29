"""Mistakes about embeddings and the loss: one line changed in a correct file, and the law that names it fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.cases.case import EmbeddingCase, LossCase

SOURCES = Path(__file__).parent / "sources"
PLAIN_LOSS = "    losses = -(share * log_weights).sum(axis=-1)"
MEAN = "    return (losses * kept).sum() / kept.sum().astype(logits.dtype)"
SHARE = "one_hot * (1.0 - label_smoothing) + label_smoothing / classes"


@dataclass(frozen=True)
class Mistake:
    """A line of a correct source, what a mistaken author wrote instead, and the laws that must say so."""

    name: str
    right: str
    wrong: str
    laws: tuple[str, ...]
    source: str = "numpy"

    def write(self, folder: Path) -> Path:
        text = (SOURCES / f"training_{self.source}.py").read_text(encoding="utf-8")
        assert text.count(self.right) == 1, f"{self.right!r} must occur once in the source"
        path = folder / "my_training.py"
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        return path


MISTAKES = (
    Mistake(
        "softmax before the loss",
        "    shifted = logits - logits.max(axis=-1, keepdims=True)\n",
        "    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
        "    logits = exponentials / exponentials.sum(axis=-1, keepdims=True)\n"
        "    shifted = logits - logits.max(axis=-1, keepdims=True)\n",
        ("cross_entropy.value", "cross_entropy.lead", "cross_entropy.large_logits"),
    ),
    Mistake(
        "no maximum subtracted",
        "shifted = logits - logits.max(axis=-1, keepdims=True)",
        "shifted = logits",
        ("cross_entropy.large_logits",),
    ),
    Mistake(
        "padding in the loss",
        "    kept = np.ones(targets.shape, dtype=bool) if ignore_index is None else targets != ignore_index",
        "    kept = np.ones(targets.shape, dtype=bool)",
        ("cross_entropy.ignore.value", "cross_entropy.ignore.no_influence"),
    ),
    Mistake(
        "divided by all targets",
        MEAN,
        "    return (losses * kept).mean()",
        ("cross_entropy.ignore.value",),
    ),
    Mistake(
        "mean of the means of samples",
        MEAN,
        "    counts = np.maximum(kept.sum(axis=-1), 1)\n"
        "    return ((losses * kept).sum(axis=-1) / counts)[kept.any(axis=-1)].mean().astype(logits.dtype)",
        ("cross_entropy.ignore.value", "cross_entropy.positions.permutation"),
    ),
    Mistake("sum instead of mean", MEAN, "    return (losses * kept).sum()", ("cross_entropy.uniform",)),
    Mistake(
        "smoothing leaves the target out",
        SHARE,
        "np.where(one_hot, 1.0 - label_smoothing, label_smoothing / max(classes - 1, 1))",
        ("cross_entropy.smoothing.value",),
    ),
    Mistake(
        "smoothing does not lower the target",
        SHARE,
        "one_hot + label_smoothing / classes",
        ("cross_entropy.smoothing.value",),
    ),
    Mistake(
        "smoothing over padding too",
        MEAN,
        "    plain = -(one_hot * log_weights).sum(axis=-1)\n"
        "    evenly = -log_weights.mean(axis=-1)\n"
        "    kept_mean = (plain * kept).sum() / kept.sum().astype(logits.dtype)\n"
        "    smoothing = logits.dtype.type(label_smoothing)\n"
        "    return (1 - smoothing) * kept_mean + smoothing * evenly.mean()",
        ("cross_entropy.smoothing.ignored",),
    ),
    Mistake(
        "mean over classes too",
        PLAIN_LOSS,
        "    losses = -(share * log_weights).mean(axis=-1)",
        ("cross_entropy.value", "cross_entropy.uniform"),
    ),
    Mistake(
        "normalised over positions",
        "torch.log_softmax(logits, dim=-1)",
        "torch.log_softmax(logits, dim=1)",
        ("cross_entropy.shift",),
        source="torch",
    ),
    Mistake(
        "token numbers from one",
        "np.take(table, tokens, axis=0)",
        "np.take(table, tokens - 1, axis=0)",
        ("embedding.value", "embedding.vocabulary.permutation"),
    ),
    Mistake(
        "scale missing",
        "    if scale_by_sqrt_d_model:\n",
        "    if False:\n",
        ("embedding.scale",),
    ),
    Mistake(
        "scaled by the width",
        "table.dtype.type(np.sqrt(table.shape[1]))",
        "table.dtype.type(table.shape[1])",
        ("embedding.scale",),
    ),
    Mistake(
        "scaled unasked",
        "    if scale_by_sqrt_d_model:\n",
        "    if True:\n",
        ("embedding.value", "embedding.one_hot"),
    ),
    Mistake(
        "row of the padding token zeroed",
        "np.take(table, tokens, axis=0)",
        "np.take(table, tokens, axis=0) * (tokens != 0)[..., None].astype(table.dtype)",
        ("embedding.value", "embedding.vocabulary.permutation"),
    ),
    Mistake(
        "positions added already",
        "np.take(table, tokens, axis=0)",
        "np.take(table, tokens, axis=0) + np.arange(tokens.shape[1], dtype=table.dtype)[:, None]",
        ("embedding.value", "embedding.tokens.repeated"),
    ),
    Mistake(
        "sample normalised",
        "np.take(table, tokens, axis=0)",
        "np.take(table, tokens, axis=0)\n    rows = rows - rows.mean(axis=1, keepdims=True)",
        ("embedding.value", "embedding.tokens.independence"),
    ),
    Mistake(
        "logarithm of base 2",
        "jax.nn.logsumexp(logits, axis=-1)",
        "jax.nn.logsumexp(logits, axis=-1) / jnp.log(2.0).astype(logits.dtype)",
        ("cross_entropy.value",),
        source="jax",
    ),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.source}-{mistake.name.replace(' ', '_')}")
def test_the_laws_that_name_the_mistake_fail_on_a_small_case(mistake: Mistake, tmp_path: Path) -> None:
    if mistake.source != "numpy":
        pytest.importorskip(mistake.source)
    report = check(str(mistake.write(tmp_path)), laws=mistake.laws)
    for result in report.results:
        assert result.status == "failed", f"{result.law.id} holds although the file has: {mistake.name}"
        assert result.counterexample is not None
        case = result.counterexample.case
        assert isinstance(case, LossCase | EmbeddingCase)
        assert case.batch * case.length <= 4, case.describe()
        assert (case.classes if isinstance(case, LossCase) else case.vocabulary * case.width) <= 4, case.describe()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("source", ["numpy", "torch", "jax"])
def test_the_file_without_a_mistake_conforms(source: str, seed: int) -> None:
    if source != "numpy":
        pytest.importorskip(source)
    tier = "quick" if source == "jax" else "standard"
    report = check(str(SOURCES / f"training_{source}.py"), tier=tier, seed=seed)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.exit_status == 0
