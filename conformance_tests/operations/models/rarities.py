"""Rarities of whole models and of decoding."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity

# Length, then width, heads, key/value heads, hidden units, layers, vocabulary: each call is one of many others.
_FIELDS = ("length", "width", "heads", "kv_heads", "hidden", "layers", "vocabulary")
_ORDINARY_VOCABULARY = 12
_SIZES = (
    (3, 10, 5, 5, 17, 1, 65),
    (2, 18, 9, 9, 65, 3, 130),
    (2, 24, 12, 12, 130, 1, 260),
    (9, 24, 2, 2, 6, 3, 5),
    (3, 12, 2, 2, 3, 1, 1001),
    (18, 36, 2, 2, 3, 1, 5),
    (2, 256, 4, 4, 3, 1, 5),
    (3, 12, 6, 6, 12, 2, 12),
    (66, 2, 1, 1, 3, 1, 5),
    (130, 2, 1, 1, 3, 1, 5),
)
_GROUPED = ((2, 24, 12, 3, 5, 1, 5), (2, 16, 8, 1, 5, 1, 5), (3, 12, 6, 2, 5, 3, 5), (9, 18, 9, 3, 5, 1, 5))


def of_model_sizes(laws: tuple[str, ...], tokens: str, sizes: tuple[tuple[int, ...], ...]) -> tuple[Rarity, ...]:
    """Return a case of each of the sizes; where the vocabulary is large its last token occurs."""
    return tuple(
        Rarity(
            laws,
            {"batch": 1, **dict(zip(_FIELDS, given, strict=True))},
            ((tokens, "last"),) if given[-1] > _ORDINARY_VOCABULARY else (),
        )
        for given in sizes
    )


def as_many_samples(laws: tuple[str, ...], *sizes: tuple[int, int]) -> tuple[Rarity, ...]:
    """Return cases of as many samples as components, with so many heads, from pairs of both."""
    return tuple(
        Rarity(laws, {"batch": size, "length": 3, "width": size, "heads": heads, "kv_heads": heads})
        for size, heads in sizes
    )


def _padded(laws: tuple[str, ...], name: str, mask: str) -> tuple[Rarity, ...]:
    return tuple(
        Rarity(laws, {"length": 6, "source_length": 5, name: "right"}, ((mask, kind),), frozenset({mask}))
        for kind in ("all_true", "with_gaps")
    )


_BERT = ("architecture.bert",)
_BOTH = ("architecture.vaswani", "architecture.bart")
_DECODERS = ("architecture.gpt", "architecture.llama")
_GPT, _LLAMA = _DECODERS[:1], _DECODERS[1:]
ENCODER = (
    *of_model_sizes(_BERT, "tokens", _SIZES),
    *as_many_samples(_BERT, (2, 2), (4, 4)),
    *_padded(_BERT, "padding", "padding_mask"),
)
ENCODER_DECODER = (
    *of_model_sizes(_BOTH, "target", _SIZES),
    *(Rarity((law,), {"layers": 3, "batch": 1, "length": 2}) for law in _BOTH),
    *as_many_samples(_BOTH, (2, 2), (4, 4)),
    *(
        Rarity(_BOTH, {"source_length": length, "batch": 1, "length": 2, "width": 2, "heads": 1})
        for length in (9, 18, 66)
    ),
    *_padded(_BOTH, "source_padding", "source_padding_mask"),
    *_padded(_BOTH, "padding", "target_padding_mask"),
    Rarity(_BOTH, {"length": 5, "source_length": 5}, (("target", "same_as_source"),)),
    Rarity(_BOTH, {"length": 5, "source_length": 5}, (("target", "equal_to_source"),)),
)
_CAUSAL = (
    *of_model_sizes(_DECODERS, "tokens", _SIZES[:8]),
    *of_model_sizes(_LLAMA, "tokens", _GROUPED),
    *as_many_samples(_GPT, (2, 2), (4, 4)),
    *as_many_samples(_LLAMA, (4, 2)),
    *(Rarity((f"architecture.{name}",), {"layers": 3, "batch": 1, "length": 2}) for name in ("gpt", "llama")),
)
LANGUAGE_MODEL = (
    *_CAUSAL,
    *of_model_sizes(_DECODERS, "tokens", _SIZES[8:]),
    *_padded(_DECODERS, "padding", "padding_mask"),
)
# Long prompts and long caches, in a model that is as small as can be.
_CUTS = {18: (9,), 20: (17, 18), 40: (35, 38), 70: (66, 68), 12: tuple(range(1, 12))}
_SMALL = {"batch": 2, "width": 2, "heads": 1, "kv_heads": 1, "hidden": 3, "layers": 1, "vocabulary": 5}
_FAR = {"more_positions": 2040}
DECODING = (
    *_CAUSAL,
    *(
        Rarity(
            ("positions.value",),
            {**_SMALL, "architecture": name, "length": 5, "cuts": cuts, **positions},
            needs=frozenset({"positions"}),
        )
        for name in ("gpt", "llama")
        for cuts, positions in (((), _FAR | {"positions": "shared"}), ((3, 4), _FAR | {"positions": "each"}))
    ),
    *(
        Rarity(
            ("padding.value",),
            {**_SMALL, "architecture": name, "length": length, "cuts": (cut,), "padding": side},
            needs=frozenset({"padding_mask"}),
        )
        for name, length, cut, side in (("gpt", 18, 9, "left"), ("llama", 40, 38, "right"), ("llama", 20, 17, "left"))
    ),
    *(
        Rarity(_DECODERS, {"batch": 1, "width": 2, "heads": 1, "kv_heads": 1, "length": length, "cuts": cuts})
        for length, cuts in _CUTS.items()
    ),
)
