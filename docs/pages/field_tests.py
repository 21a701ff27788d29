"""`field_tests.md`: what the test suites of attention libraries check, and the laws that state it here."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from veriformer.spec.laws import LAWS

from pages.markdown import counted, notice, page, table
from pages.references import law_link

PATH = "field_tests.md"

_SHOWN = 4
_INTRODUCTION = """\
This page compares the laws with the test suites of fourteen attention and Transformer projects. Each line is a property
that some of them check, or that none of them checks. The property is a law here if [the interface](interface.md) can
express it; otherwise the table says why not. A pattern such as `*.values.hull` means the laws of that name of all
operations that have one."""


@dataclass(frozen=True)
class Property:
    """A property that the field tests (or does not), the patterns of the laws that state it, or why there is none."""

    name: str
    laws: tuple[str, ...] = ()
    reason: str = ""


PROPERTIES = (
    Property("Shape, dtype and device of the result", ("*.shape", "*.dtype")),
    Property("Equality with an independent naive computation", ("*.value", "*.values", "*.architecture.*")),
    Property("Default scale 1/√d", ("attention.scale", "grouped_query.scale", "weights.scale", "multi_head.scale")),
    Property("Explicit scale", ("*.explicit_scale",)),
    Property(
        "Weights are nonnegative and sum to 1", ("softmax.nonnegative", "weights.nonnegative", "*.rows_sum_to_one")
    ),
    Property(
        "Softmax does not change under a common shift", ("softmax.shift", "cross_entropy.shift", "*.bias.row_shift")
    ),
    Property("Output in the hull of the values, and linear in them", ("*.values.hull", "*.values.linear")),
    Property("Values of another width than the keys", ("*.value_width",)),
    Property("Polarity of a boolean mask", ("*.mask.polarity",)),
    Property("A boolean mask equals an additive one of 0 and −∞", ("*.mask.additive",)),
    Property("Ranks and broadcasting of masks", ("*.mask.broadcast",)),
    Property("Causal attention of equal lengths", ("*.causal.own_position", "*.causal.explicit_mask")),
    Property("Alignment of the causal mask where L ≠ S", ("*.causal.unequal_lengths",)),
    Property("No influence and no gradient from the future", ("*.no_future_leak", "*.no_future_gradient")),
    Property("A row without a visible key", ("*.mask.empty_row*",)),
    Property("NaN and infinity behind a mask", ("*.mask.nonfinite_behind_mask",)),
    Property("Padding on the left changes nothing", ("*.mask.left_padding", "*.padding.left")),
    Property("Masking a key equals deleting it", ("*.mask.removed_keys", "*.padding.removed", "*.padding_removed")),
    Property("Packed documents equal separate ones", ("*.mask.packed",)),
    Property("Masks given together all apply", ("*.causal.with_padding",)),
    Property("Sliding window", ("*.window.*",)),
    Property(
        "Mask of the memory in cross-attention", ("decoder_layer.memory.padding_*", "encoder_decoder.source.padding.*")
    ),
    Property("Samples of a batch are independent", ("*.batch.independence",)),
    Property("Samples of a batch may be reordered", ("*.batch.permutation",)),
    Property("Queries may be reordered", ("*.queries.permutation",)),
    Property("Keys and values may be reordered together", ("*.keys.permutation",)),
    Property("Heads are independent and may be reordered", ("*.heads.independence", "*.heads.permutation")),
    Property(
        "An encoder without positions is equivariant", ("encoder*.tokens.permutation", "model.tokens.permutation")
    ),
    Property("A key given twice equals a bias of log 2", ("*.keys.duplicated",)),
    Property(
        "Attention over a split of the keys can be merged",
        ("merge.union", "merge.any_split", "merge.associative", "merge.*empty*"),
    ),
    Property("Grouped heads equal repeated keys and values", ("*.repeated_heads",)),
    Property("One key/value head", ("*.shared_head",)),
    Property("Heads are repeated each, not tiled", ("*.repeated_heads", "*.grouped_heads")),
    Property("A ratio of heads that does not divide is refused", reason="the interface promises no error"),
    Property("Packed projections in three axes equal four", reason="the interface has one layout of axes for each"),
    Property("Absorbed latent attention equals naive", reason="latent attention is no operation of the interface"),
    Property(
        "A cache equals the whole pass",
        ("decoding.prefill", "decoding.token_by_token", "decoding.language_model", "decoding.greedy"),
    ),
    Property("Prefill in chunks equals prefill in one", ("decoding.chunks",)),
    Property("Decoding equals prefill bit for bit", reason="rounding may differ; equal within it, as the laws above"),
    Property("A paged cache equals a contiguous one", reason="the cache belongs to the implementation"),
    Property("The cache is the past with the present appended", reason="the cache belongs to the implementation"),
    Property("Rotary values in both pairings", ("rotary.value",)),
    Property("Rotary products depend on the distance; norms stay", ("rotary.relative", "rotary.norm")),
    Property("Partial rotary embedding", ("rotary.rotary_dim.*",)),
    Property("Rotary positions given", ("rotary.positions.*", "rotary.additive")),
    Property("Scaled rotary frequencies", reason="scaling schemes are no keyword of the interface"),
    Property("ALiBi slopes, powers of two or not", ("alibi.slopes.*",)),
    Property(
        "T5 buckets",
        ("relative_bucket.value", "relative_bucket.exact_*", "relative_bucket.saturation", "relative_bucket.sides"),
    ),
    Property("Order of the sinusoids", ("sinusoid.values",)),
    Property("Softcap before the mask", ("*.softcap.before_mask", "*.softcap.before_bias", "*.order_of_steps")),
    Property("Sinks equal a further key without a value", ("*.sinks.extra_key", "*.sinks.value")),
    Property("Additive bias", ("*.bias.value",)),
    Property("LayerNorm: biased variance, eps inside the root", ("layer_norm.value", "layer_norm.eps")),
    Property("RMSNorm", ("rms_norm.value", "rms_norm.gain")),
    Property("GELU: erf or tanh", ("gelu.value",)),
    Property("Post-norm and pre-norm", ("*_layer.pre_norm.*", "*_layer.post_norm.*")),
    Property("No dropout at evaluation", ("*.same_call_same_answer",)),
    Property("Gradients equal those of a reference", ("attention_backward.grad_*", "attention_backward.mask.value")),
    Property("Gradients equal finite differences", reason="the analytic pass is exact where differences are not"),
    Property("Large logits", ("*.large_logits", "*.large_logarithms")),
    Property("Error of low precision", reason="every law is tried in every dtype declared, under its own error bound"),
    Property("Views that are not contiguous", ("*.memory_layout",)),
    Property("Inputs are not written to", ("*.inputs_unchanged",)),
    Property("Determinism", ("*.same_call_same_answer", "*.history_independence")),
    Property("Mapped and compiled functions", reason="the same laws, run on variants of the built-in implementations"),
    Property("No keys or no queries at all", reason="lengths are at least 1 in the cases drawn"),
    Property("Long sequences", reason="cases reach the edges of blocks up to 65; the laws hold at any length"),
    Property("Several devices equal one", reason="an implementation under test is one function on one machine"),
    Property("Equality of two ports", reason="both are checked against the same laws"),
)


def field_tests_page() -> dict[str, str]:
    """Return the page, by its path."""
    rows = [(item.name, _laws(item)) for item in PROPERTIES]
    stated = sum(bool(item.laws) for item in PROPERTIES)
    total = f"Of {counted(len(PROPERTIES), 'property', 'properties')} {stated} are laws."
    source = notice("docs/pages/field_tests.py")
    return {PATH: page(source, "# What others test", _INTRODUCTION, total, table(("property", "laws"), rows))}


def matching(pattern: str) -> list[str]:
    """Return the ids of the laws that a pattern means; ValueError when it means none."""
    found = [identifier for identifier in LAWS if fnmatchcase(identifier, pattern)]
    if not found:
        raise ValueError(f"no law is called {pattern!r}")
    return found


def _laws(item: Property) -> str:
    if not item.laws:
        return f"none: {item.reason}"
    found = list(dict.fromkeys(identifier for pattern in item.laws for identifier in matching(pattern)))
    shown = ", ".join(law_link(LAWS[identifier]) for identifier in found[:_SHOWN])
    more = len(found) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
