"""Regions of initial weights."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

_INITIAL = ("initial_weights",)

REGIONS = among(
    _INITIAL,
    ("weights of one layer", "No other layer could be a copy.", lambda c: c.layers == 1),
    ("weights of several layers", "Each has numbers of its own.", lambda c: c.layers > 1),
    ("weights of many layers", "The stream adds up many branches.", lambda c: c.layers > 4),
    ("weights of several heads", "Each has numbers of its own.", lambda c: c.heads > 1),
    ("weights of fewer key heads", "Keys have fewer outputs than queries.", lambda c: c.kv_heads < c.heads),
    ("weights of a wide model", "Chance decides little about a variance.", lambda c: c.width >= 128),
    ("weights of a narrow model", "Chance decides most.", lambda c: c.width <= 16),
    ("weights of a language model with biases", "And a table of positions.", lambda c: c.architecture == "gpt"),
    ("weights of a gated network", "Which has three matrices.", lambda c: c.architecture == "llama"),
    ("weights of an encoder", "Which has no logits.", lambda c: c.architecture == "bert"),
)
