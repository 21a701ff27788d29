"""`veriformer explain`: anything that has a name in the specification."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click
from veriformer.cli.failures import UserError, show_broken_packages

# What is as like a name as this is that name misspelt.
_MISSPELT = 0.85
# What stands in names and in no sentence.
_OF_NAMES = re.compile(r"^\S*[._=]\S*$")

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.layout import Lines


@click.command("explain", short_help="Say what something means and why it holds.")
@click.argument("words", metavar="ID", nargs=-1, required=True)
@click.option("--proof", is_flag=True, help="Show the proof too, of a law or a derivation.")
@click.option("--traceback", is_flag=True, help="Show where an error came from.")
def explain_command(words: tuple[str, ...], proof: bool, traceback: bool) -> None:
    """Say what something means, where it comes from, and why it holds.

    ID is the name of a law (attention.causal.no_future_leak), an operation (softmax), a convention (empty_row), a
    derivation (variance_scaling), a worked example (seed_001.cat_scores), a mistake (scale_missing), a decision
    (causal_when) or a choice in it (scale=length); or `seeds` for all claims of the seed documents, seeds.000 for those
    of one document, seeds.000.11 for one claim and what decides it. Other words, such as `wrong softmax axis`, are
    looked for in the mistakes, laws, operations and conventions; the nearest few are listed.
    """
    from veriformer.cli.output import print_page

    show_broken_packages()
    identifier = " ".join(words)
    pages = _pages(identifier, proof=proof) or _by_words(identifier)
    if not pages:
        raise UserError(_unknown(identifier))
    for page in pages:
        print_page(page)


def _pages(identifier: str, *, proof: bool = False) -> list[Lines]:
    """Return a page for each thing of that name: an operation and a derivation may share one."""
    from veriformer.cli import pages
    from veriformer.cli.law_pages import law_page
    from veriformer.cli.seed_pages import seed_pages
    from veriformer.spec.conventions import CONVENTIONS
    from veriformer.spec.derivations import derivation_ids
    from veriformer.spec.laws import LAWS
    from veriformer.spec.operations import OPERATIONS

    found: list[Lines] = []
    if identifier in LAWS:
        found.append(law_page(LAWS[identifier], proof=proof))
    if identifier in OPERATIONS:
        found.append(pages.operation_page(OPERATIONS[identifier]))
    if identifier in CONVENTIONS:
        found.append(pages.convention_page(CONVENTIONS[identifier]))
    if identifier in derivation_ids():
        found.append(pages.derivation_page(identifier, proof=proof))
    others = (seed_pages, _mistake_pages, _example_pages, _decision_pages)
    return found or next(filter(None, (pages_of(identifier) for pages_of in others)), [])


def _by_words(words: str) -> list[Lines]:
    """Return a page of what some words fit; none for a misspelt name."""
    from veriformer.cli.word_search import found_by_words, words_page

    is_misspelt = _OF_NAMES.search(words) or get_close_matches(words, _names(), n=1, cutoff=_MISSPELT)
    found = [] if is_misspelt else found_by_words(words)
    return [words_page(words, found)] if found else []


def _decision_pages(identifier: str) -> list[Lines]:
    from veriformer.cli.decision_pages import decision_pages

    return decision_pages(identifier)


def _example_pages(identifier: str) -> list[Lines]:
    from veriformer.cli.example_page import example_page
    from veriformer.spec.worked_examples.registry import WORKED_EXAMPLES

    return [example_page(example) for example in WORKED_EXAMPLES if example.id == identifier]


def _mistake_pages(identifier: str) -> list[Lines]:
    from veriformer.cli.mistake_pages import mistake_page
    from veriformer.conformance_tests.mistakes import catalogue

    return [mistake_page(catalogue()[identifier])] if identifier in catalogue() else []


def _unknown(identifier: str) -> str:
    from veriformer.conformance_tests.operations.decisions import choice_names

    if "=" in identifier:
        return _not_called(identifier, [*choice_names()], "veriformer explain DECISION lists the choices in it")
    return _not_called(identifier, _names(), "see: veriformer list laws, or list --help")


def _names() -> list[str]:
    """Return all names that have a page but those of choices; an operation and a derivation may share one."""
    from veriformer.cli.seed_pages import seed_identifiers
    from veriformer.conformance_tests.mistakes import catalogue
    from veriformer.conformance_tests.operations.decisions import decision_names
    from veriformer.spec.conventions import CONVENTIONS
    from veriformer.spec.derivations import derivation_ids
    from veriformer.spec.laws import LAWS
    from veriformer.spec.operations import OPERATIONS
    from veriformer.spec.worked_examples.registry import WORKED_EXAMPLES

    examples = (example.id for example in WORKED_EXAMPLES)
    known = [*LAWS, *OPERATIONS, *CONVENTIONS, *derivation_ids(), *examples, *seed_identifiers(), *catalogue()]
    return [*dict.fromkeys([*known, *decision_names()])]


def _not_called(identifier: str, known: list[str], hint: str) -> str:
    from veriformer.conformance_tests.core.text import plain

    close = get_close_matches(identifier, known, n=3)
    close = close or [name for name in known if identifier and identifier in name][:3]
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"nothing is called {plain(identifier)!r}{meant} ({hint})"
