"""Questions with exact answers: the record, and the files that have them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

AnswerKind = Literal["choice", "expressions", "shape"]
_LETTERS = "abcdefgh"
# How a row is written: the answer of no question.
ROW = '"5, -1/2, 0"'


@dataclass(frozen=True)
class Asked:
    """One question: a choice among `options`, formulas in `symbols`, or a shape. The answer is never shown."""

    id: str
    text: str
    kind: AnswerKind
    answer: str
    options: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()

    @property
    def lettered(self) -> dict[str, str]:
        """The options by their letters."""
        return dict(zip(_LETTERS, self.options, strict=False))

    @property
    def wants(self) -> str:
        """What an answer looks like, in words."""
        if self.kind == "choice":
            return f"one letter of {', '.join(self.lettered)}"
        if self.kind == "shape":
            return 'a shape such as "3, 8"'
        return f"a row, with commas: {ROW}" if self.is_row else 'a number or formula such as "1/3"'

    @property
    def is_row(self) -> bool:
        """Whether it asks for several numbers or formulas."""
        return self.kind == "expressions" and "," in self.answer


@dataclass(frozen=True)
class Sheet:
    """The questions of one exercise: what they are about, their source, and a picture shown at the end."""

    introduction: str
    source: str
    questions: tuple[Asked, ...]
    picture: str = ""


@cache
def sheet(exercise: str) -> Sheet:
    """Return the questions of an exercise; FileNotFoundError where it has none."""
    file = resources.files(__package__).joinpath("answers_asked", f"{exercise}.toml")
    record = tomllib.loads(file.read_text(encoding="utf-8"))
    questions = tuple(
        Asked(**{**one, "options": tuple(one.get("options", ())), "symbols": tuple(one.get("symbols", ()))})
        for one in record["question"]
    )
    return Sheet(record["introduction"].strip(), record["source"], questions, record.get("picture", ""))
