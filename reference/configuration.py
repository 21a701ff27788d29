"""The configuration of a whole Transformer: numbers and choices, no arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from veriformer.reference.checks import require_choice, require_count, require_multiple
from veriformer.reference.conventions import Activation

Architecture = Literal["bert", "vaswani", "bart", "gpt", "llama"]
Norm = Literal["layer_norm", "rms_norm"]
Positions = Literal["none", "sinusoidal", "learned", "rotary"]


@dataclass(frozen=True)
class TransformerConfiguration:
    """The sizes of a Transformer and every choice that distinguishes architectures.

    `num_layers` counts the layers of a stack: an encoder-decoder has as many encoder as decoder layers. `activation` is
    that of the feed-forward network, or of the gate if it is `gated`. `final_norm` follows the last layer,
    `embedding_norm` the sum of embeddings and positions. With `scale_embedding` embeddings, never positions, are
    multiplied by √d_model; with `tied_embedding` logits come from the transposed table, not multiplied. `rotary_base`
    matters to rotary positions only, `max_length` to learned ones only.

    Shapes: none.
    Raises: ValueError when a size is not positive, one does not divide the other, or a choice is unknown.
    Source: Vaswani et al. 2017; Phuong & Hutter 2022, section 6 (architectures as choices).
    """

    architecture: Architecture
    num_layers: int
    d_model: int
    num_heads: int
    num_kv_heads: int
    d_ff: int
    vocabulary_size: int
    max_length: int
    norm: Norm
    norm_first: bool
    final_norm: bool
    embedding_norm: bool
    activation: Activation
    gated: bool
    positions: Positions
    rotary_base: float
    eps: float
    scale_embedding: bool
    tied_embedding: bool
    biases: bool

    def __post_init__(self) -> None:
        for name in ("num_layers", "d_model", "num_heads", "num_kv_heads", "d_ff", "vocabulary_size", "max_length"):
            require_count(name, getattr(self, name), 1)
        require_choice("architecture", self.architecture, Architecture)
        require_choice("norm", self.norm, Norm)
        require_choice("activation", self.activation, Activation)
        require_choice("positions", self.positions, Positions)
        require_multiple("d_model", self.d_model, "num_heads", self.num_heads)
        require_multiple("num_heads", self.num_heads, "num_kv_heads", self.num_kv_heads)
        if self.positions == "sinusoidal":
            require_multiple("d_model, for sinusoidal positions,", self.d_model, "2", 2)
        if self.positions == "rotary":
            require_multiple("the head width, for rotary positions,", self.d_model // self.num_heads, "2", 2)

    def __str__(self) -> str:
        return f"{self.architecture}, num_layers {self.num_layers}, d_model {self.d_model}, num_heads {self.num_heads}"

    @property
    def has_position_table(self) -> bool:
        """Whether positions are learned, one row each."""
        return self.positions == "learned"


_TABLE: dict[str, Any] = {"norm": "layer_norm", "gated": False, "rotary_base": 10000.0, "biases": True}
_CHOICES: dict[str, dict[str, Any]] = {
    "bert": _TABLE
    | {"norm_first": False, "final_norm": False, "embedding_norm": True, "activation": "gelu", "eps": 1e-12}
    | {"positions": "learned", "scale_embedding": False, "tied_embedding": True},
    "vaswani": _TABLE
    | {"norm_first": False, "final_norm": False, "embedding_norm": False, "activation": "relu", "eps": 1e-6}
    | {"positions": "sinusoidal", "scale_embedding": True, "tied_embedding": True},
    "bart": _TABLE
    | {"norm_first": False, "final_norm": False, "embedding_norm": True, "activation": "gelu", "eps": 1e-5}
    | {"positions": "learned", "scale_embedding": False, "tied_embedding": True},
    "gpt": _TABLE
    | {"norm_first": True, "final_norm": True, "embedding_norm": False, "activation": "gelu", "eps": 1e-5}
    | {"positions": "learned", "scale_embedding": False, "tied_embedding": True},
    "llama": {"norm": "rms_norm", "gated": True, "rotary_base": 10000.0, "biases": False}
    | {"norm_first": True, "final_norm": True, "embedding_norm": False, "activation": "silu", "eps": 1e-5}
    | {"positions": "rotary", "scale_embedding": False, "tied_embedding": False},
}


def configure(
    architecture: Architecture,
    *,
    num_layers: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    vocabulary_size: int,
    max_length: int,
    num_kv_heads: int | None = None,
    **choices: Any,
) -> TransformerConfiguration:
    """Return an architecture at given sizes; `choices` replace fields, such as eps or tied_embedding.

    bert      encoder; learned positions, norm after the embeddings and after each sum, GELU; without segment
              embeddings and pooler
    vaswani   encoder and decoder; sinusoids, norm after each sum, ReLU; one scaled table for source, target, logits
    bart      encoder and decoder; bert's choices, a position table for each of the two, tied logits
    gpt       language model; learned positions, norm before each sublayer and at the end, GELU, tied logits
    llama     language model; rotary positions, RMSNorm before each sublayer and at the end, gated SiLU, no biases,
              an unembedding of its own, possibly fewer key/value heads than heads

    Shapes: none.
    Raises: ValueError as `TransformerConfiguration`; TypeError for a choice that it does not have.
    Source: Devlin et al. 2019, section 3; Vaswani et al. 2017, section 3; Lewis et al. 2020, section 2; Radford et al.
    2019, section 2.3; Touvron et al. 2023 (Llama 2), section 2.2, and Touvron et al. 2023 (LLaMA), section 2.2.
    Conventions: gelu_form: GPT-2's code has the tanh form, BERT's and BART's erf.
    """
    require_choice("architecture", architecture, Architecture)
    sizes: dict[str, Any] = {
        "num_layers": num_layers,
        "d_model": d_model,
        "num_heads": num_heads,
        "num_kv_heads": num_heads if num_kv_heads is None else num_kv_heads,
        "d_ff": d_ff,
        "vocabulary_size": vocabulary_size,
        "max_length": max_length,
    }
    return TransformerConfiguration(architecture=architecture, **(_CHOICES[architecture] | sizes | choices))
