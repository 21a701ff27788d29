"""Links to the entries of the catalogues; `folder` leads from the linking page to the documentation's folder."""

from __future__ import annotations

from collections.abc import Iterable

from veriformer.spec.derivations import derivation_title, load_derivation
from veriformer.spec.laws import LawStatement

from pages.markdown import code, link

CONVENTIONS_PAGE = "conventions.md"


def operation_page(name: str) -> str:
    """Return the path of an operation's page."""
    return f"operations/{name}.md"


def derivation_page(name: str) -> str:
    """Return the path of a derivation's page."""
    return f"derivations/{name}.md"


def mistake_page(slug: str) -> str:
    """Return the path of a mistake's page."""
    return f"mistakes/{slug}.md"


def topic_page(name: str) -> str:
    """Return the path of a topic's page."""
    return f"topics/{name}.md"


def law_link(law: LawStatement, folder: str = "") -> str:
    """Return a link to a law's entry."""
    return link(code(law.id), folder + operation_page(law.operation.name), law.id)


def operation_link(name: str, folder: str = "") -> str:
    """Return a link to an operation's page."""
    return link(code(name), folder + operation_page(name))


def convention_link(name: str, folder: str = "") -> str:
    """Return a link to a convention's entry."""
    return link(code(name), folder + CONVENTIONS_PAGE, name)


def mistake_link(slug: str, folder: str = "") -> str:
    """Return a link to a mistake's page."""
    return link(code(slug), folder + mistake_page(slug))


def derivation_link(name: str, folder: str = "") -> str:
    """Return a link to a derivation's page, under its title."""
    return link(derivation_title(name), folder + derivation_page(name))


def step_heading(derivation: str, step: str) -> str:
    """Return the heading of a step on its derivation's page; KeyError where it has no such step."""
    numbered = {one.name: f"{number}. {one.name}" for number, one in enumerate(load_derivation(derivation).steps, 1)}
    return numbered[step]


def step_links(derivation: str, steps: Iterable[str], folder: str = "") -> str:
    """Return links to steps of a derivation, in words: "steps 1 (A), 2 (B) and 3 (C)"."""
    headings = [step_heading(derivation, step) for step in steps]
    links = [link(_numbered(heading), folder + derivation_page(derivation), heading) for heading in headings]
    *rest, last = links
    return f"steps {', '.join(rest)} and {last}" if rest else f"step {last}"


def _numbered(heading: str) -> str:
    """Return the heading "1. A" as a sentence has it: "1 (A)"."""
    number, _, name = heading.partition(". ")
    return f"{number} ({name})"
