"""What is asked of a whole model beyond what every model must do."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.recognition.evidence import ENOUGH


@dataclass(frozen=True)
class Demands:
    """What the user says of a model.

    `layers_alike`: its layers are meant to be alike, so that one that does something otherwise departs.
    `judged_at_least`: the share of its steps that must be understood, else it does not conform; ENOUGH always must.
    ValueError for a share that is none.
    """

    layers_alike: bool = False
    judged_at_least: float | None = None

    def __post_init__(self) -> None:
        if self.judged_at_least is not None and not 0.0 <= self.judged_at_least <= 1.0:
            raise ValueError(f"judged_at_least is a share between 0 and 1, and not {self.judged_at_least}")

    @property
    def least_share(self) -> float:
        """The share of the steps that must be understood."""
        return max(self.judged_at_least or 0.0, ENOUGH)

    @property
    def given(self) -> list[str]:
        """The names of what was asked."""
        alike = ["layers_alike"] if self.layers_alike else []
        return alike + (["judged_at_least"] if self.judged_at_least is not None else [])


NOTHING_DEMANDED = Demands()
