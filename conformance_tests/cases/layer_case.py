"""The description of a call of an encoder or decoder layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veriformer.conformance_tests.cases.regimes import Regime

if TYPE_CHECKING:
    from veriformer.conformance_tests.cases.case import Activation, Palette

PaddingSide = Literal["none", "right", "left"]


@dataclass(frozen=True)
class LayerCase:
    """One call of `encoder_layer` or `decoder_layer`; an encoder has no memory, and `memory` is 0.

    `width` is that of a head, so that E = heads · width; `hidden` is F.
    """

    batch: int
    heads: int
    length: int
    width: int
    hidden: int
    memory: int = 0
    norm_first: bool = False
    activation: Activation = "relu"
    biases: bool = False
    padding: PaddingSide = "none"
    memory_padding: PaddingSide = "none"
    eps: float = 1e-5
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    @property
    def d_model(self) -> int:
        """E."""
        return self.heads * self.width

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.batch + self.heads + self.length + self.memory + 2 * self.width + self.hidden

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        sizes = f"batch {self.batch}, heads {self.heads}, L = {self.length}"
        memory = f", S = {self.memory}" if self.memory else ""
        place = "pre-norm" if self.norm_first else "post-norm"
        settings = [f"{sizes}{memory}, E = {self.d_model}, F = {self.hidden}, {place}, {self.activation}, {self.dtype}"]
        settings += ["biases"] if self.biases else []
        settings += [f"padded on the {self.padding}"] if self.padding != "none" else []
        settings += [f"memory padded on the {self.memory_padding}"] if self.memory_padding != "none" else []
        return ", ".join(settings)
