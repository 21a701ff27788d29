"""The record of one exercise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["operation", "answers"]


@dataclass(frozen=True)
class Exercise:
    """One exercise: a function that laws grade, or questions whose answers are compared exactly.

    `operation` names what a program of the interface computes, and is empty for questions. `keywords` are the optional
    keywords that the exercise wants; a program may have more of them. `after` names the exercises that come first.
    `class_name` is the module that a student writes in PyTorch. `declares` are lines at the top of the file, such as
    limitations. `formula` is in place of that of the operation, which may have parts that the exercise leaves out.
    """

    id: str
    title: str
    lesson: str
    kind: Kind
    operation: str = ""
    keywords: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    class_name: str = ""
    declares: str = ""
    formula: str = ""

    @property
    def file_name(self) -> str:
        """The name of the file with the answer."""
        return f"{self.id}.{'py' if self.kind == 'operation' else 'toml'}"

    @property
    def laws(self) -> tuple[str, ...]:
        """The ids of the laws that grade it, the weakest first, gradients last; none for questions."""
        from veriformer.lessons.strength import weak_to_strong
        from veriformer.spec.laws import LAWS

        groups = ([law for law in LAWS.values() if law.operation.name == name] for name in self.operations)
        return tuple(law for group in groups for law in weak_to_strong(group))

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations whose laws grade it: its own, and its gradient, which PyTorch and JAX derive from it."""
        from veriformer.spec.operations import OPERATIONS

        return tuple(name for name in (self.operation, f"{self.operation}_backward") if name in OPERATIONS)


@dataclass(frozen=True)
class LessonTitle:
    """A lesson of the course by its id, whether or not its text is there."""

    id: str
    title: str
