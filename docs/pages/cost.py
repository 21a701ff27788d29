"""`cost.md`: the formulas of `veriformer.spec.cost`, and what they give for known models."""

from __future__ import annotations

import re
from typing import Any

import sympy
from veriformer.spec.cost import decoding, operations, parameters, traffic
from veriformer.spec.cost.count import Count, Traffic

from pages.markdown import formula, notice, page, table

PATH = "cost.md"

L, S, P, T, E, H, G, D, Dv, F, N, n = (
    sympy.Symbol(name, positive=True) for name in ("L", "S", "P", "T", "E", "H", "G", "D", "Dv", "F", "N", "n")
)
_INTRODUCTION = """\
This page says what every operation costs, as formulas in its sizes. `veriformer.spec.cost` has them as Python
functions. `veriformer derive cost` proves them: it runs the loops of each operation on symbolic sizes, and sums what
they count.

Sizes have letters: {formula}`L` queries, {formula}`S` keys, {formula}`P` cached tokens, model width {formula}`E`,
{formula}`H` query heads and {formula}`G` key/value heads of width {formula}`D` ({formula}`Dv` for values), hidden width
{formula}`F`, vocabulary {formula}`N`, {formula}`n` layers. All counts are for one sequence: multiply them by the batch.

- *Arithmetic*: each multiplication, addition, subtraction, division and maximum counts 1, so that a multiply-add is 2
  FLOPs. A sum of n terms starts from 0 and counts n additions.
- *Functions*: each e^x, √x and erf x counts 1, in a column of its own. FLOPs are the sum of both columns.
- Not counted: reading, copying, masking, and what is the same for all inputs, such as √D and the table of positions.
- *Numbers moved*: inputs, parameters and outputs, each once. A number has 4 bytes in float32 and 2 in float16. No
  computation moves less. Attention that stores its logits moves H·L·S numbers more, twice."""

_OPERATIONS: tuple[tuple[str, Count, Traffic], ...] = (
    ("linear map E to F, with bias", operations.linear(L, E, F), traffic.linear(L, E, F)),
    ("softmax of L rows", operations.softmax(L, S), traffic.softmax(L, S)),
    ("attention", operations.attention(H, L, S, D, Dv), traffic.attention(H, G, L, S, D, Dv)),
    (
        "causal attention that skips hidden pairs",
        operations.causal_attention(H, L, P, D, Dv),
        traffic.attention(H, G, L, P + L, D, Dv),
    ),
    (
        "multi-head attention",
        operations.multi_head_attention(L, S, E, H, G, D),
        traffic.multi_head_attention(L, S, E, H, G, D),
    ),
    ("feed-forward network, ReLU", operations.feed_forward(L, E, F), traffic.feed_forward(L, E, F)),
    ("feed-forward network, GELU", operations.feed_forward(L, E, F, "gelu"), traffic.feed_forward(L, E, F)),
    ("gated network, SiLU", operations.gated_feed_forward(L, E, F), traffic.gated_feed_forward(L, E, F)),
    ("layer normalisation", operations.layer_norm(L, E), traffic.layer_norm(L, E)),
    ("root-mean-square normalisation", operations.rms_norm(L, E), traffic.rms_norm(L, E)),
    ("embedding, scaled, with positions", operations.embedding(L, E), traffic.embedding(L, E)),
    ("logits", operations.linear(L, E, N, bias=False), traffic.linear(L, E, N, bias=False)),
    ("encoder layer", operations.encoder_layer(L, E, H, D, F), traffic.encoder_layer(L, E, H, D, F)),
    ("decoder layer", operations.decoder_layer(L, S, E, H, D, F), traffic.decoder_layer(L, S, E, H, D, F)),
    (
        "language model, all logits",
        operations.language_model(L, n, E, H, D, F, N),
        traffic.language_model(L, n, E, H, D, F, N),
    ),
    (
        "a layer's step for token T with a cache",
        decoding.decode_step(T, E, H, D, F),
        traffic.decode_step(T, E, H, D, F),
    ),
)
_DECODING = """\
A layer costs {formula}`a` for each token and {formula}`b` for each pair of a query and a key. So a pass over
{formula}`t` tokens costs {formula}`a·t + b·t²`, and the step that adds token {formula}`t` to a cache costs
{formula}`a + b·t`. If {formula}`T` tokens come one after another, each layer costs

- with a cache: {formula}`a·T + b·T(T + 1)/2`,
- without a cache: {formula}`a·T(T + 1)/2 + b·T(T + 1)(2T + 1)/6`.

Without a cache, everything but the pairs costs {formula}`(T + 1)/2` times as much, and the pairs cost
{formula}`(2T + 1)/3` times as much."""

_COMPARISON = """\
For the models of Vaswani et al. 2017 the vocabulary is 37,000 (section 5.1: “about 37000 tokens”), with one table for
source, target and logits, a bias in every linear map but the logits, post-norm and sinusoidal positions."""


def cost_page() -> dict[str, str]:
    """Return the page of the costs, by its path."""
    return {
        PATH: page(
            notice("spec/cost and docs/pages/cost.py"),
            "# What it costs",
            _INTRODUCTION,
            "The proof, step by step: `veriformer explain cost`.",
            "## Operations",
            table(("operation", "arithmetic", "functions", "numbers moved"), map(_operation, _OPERATIONS)),
            "## Decoding",
            _DECODING,
            table(("", "arithmetic", "functions"), _per_token_and_pair()),
            f"A cache holds {_shown(decoding.cache_numbers(T, n, G, D))} numbers; in bytes:",
            table(("cache of one sequence", "sizes", "bytes"), _caches()),
            "## Parameters",
            table(("what", "parameters"), _parameters()),
            _published(),
        )
    }


def _operation(row: tuple[str, Count, Traffic]) -> tuple[str, ...]:
    name, count, moved = row
    return name, _shown(count.arithmetic), _shown(count.functions), _shown(moved.numbers)


def _per_token_and_pair() -> list[tuple[str, ...]]:
    rows = (
        ("{formula}`a`, one token", decoding.layer_per_token(E, H, D, F)),
        ("{formula}`b`, one pair, all heads", decoding.layer_per_pair(H, D)),
    )
    return [(name, _shown(count.arithmetic), _shown(count.functions)) for name, count in rows]


def _caches() -> list[tuple[str, ...]]:
    sizes = (("a key/value head for each of 32 query heads", 4096, 32, 32, 128), ("8 shared heads", 4096, 32, 8, 128))
    return [
        (
            name,
            f"T = {tokens}, n = {layers}, G = {heads}, D = {width}, float16",
            _grouped(decoding.cache_bytes(tokens, layers, heads, width, 2)),
        )
        for name, tokens, layers, heads, width in sizes
    ]


def _parameters() -> list[tuple[str, str]]:
    counted: tuple[tuple[str, Any], ...] = (
        ("linear map E to F, with bias", parameters.linear(E, F)),
        ("multi-head attention", parameters.multi_head_attention(E, H, G, D)),
        ("feed-forward network", parameters.feed_forward(E, F)),
        ("gated network", parameters.gated_feed_forward(E, F)),
        ("layer normalisation", parameters.layer_norm(E)),
        ("encoder layer", parameters.encoder_layer(E, H, D, F)),
        ("decoder layer", parameters.decoder_layer(E, H, D, F)),
        ("encoder-decoder model, one table", parameters.encoder_decoder(n, E, H, D, F, N)),
        ("language model, one table, a last norm", parameters.language_model(n, E, H, D, F, N)),
    )
    return [(name, _shown(count)) for name, count in counted]


def _published() -> str:
    base, big = parameters.of_model(parameters.BASE_2017), parameters.of_model(parameters.BIG_2017)
    positions = 1024 * 768
    rows = (
        _compared("base model of 2017", base, 65_000_000, "65 million (table 3)"),
        _compared("big model of 2017", big, 213_000_000, "213 million (table 3)"),
        _compared(
            "GPT-2, smallest, with 1,024 learned positions",
            parameters.language_model(12, 768, 12, 64, 3072, 50257) + positions,
            124_439_808,
            "124,439,808 (its released weights)",
        ),
    )
    words = (65 * 10**6 - parameters.of_model(parameters.BASE_2017._replace(vocabulary=0))) / 512
    note = f"The printed 65 million of the base model would need about {round(words, -2):,.0f} words."
    return page(_COMPARISON, table(("model", "counted", "published", "difference"), rows), note)


def _compared(name: str, counted: int, published: int, told: str) -> tuple[str, ...]:
    return name, _grouped(counted), told, f"{(counted / published - 1) * 100:+.1f} %"


def _grouped(number: int) -> str:
    return f"{number:,}"


def _shown(count: Any) -> str:
    """Return a formula as mathematics: products with a dot, powers as exponents."""
    expanded = sympy.expand(count)
    text = str(sympy.factor_terms(sympy.collect(expanded, (L, n))))
    text = re.sub(r"\*\*2", "²", text)
    return formula(text.replace("*", "·"))
