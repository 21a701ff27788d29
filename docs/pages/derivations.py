"""`derivations/`: an index, and a page for each derivation."""

from __future__ import annotations

from veriformer.spec.derivations import Derivation, derivation_ids, load_derivation, render_markdown
from veriformer.spec.laws import LAWS, LawStatement

from pages.laws import law_link
from pages.markdown import counted, fenced_mathematics, link, notice, page, table

FOLDER = "derivations"

_INTRODUCTION = """\
A derivation deduces a law in named steps. `veriformer derive` checks every step of every derivation in three ways:

- a prover proves the statement, for symbols and not for chosen numbers unless the step says so;
- direct evaluation of both sides, by loops over numbers, agrees at random points;
- the same prover rejects altered statements, so that it does not accept everything.

`veriformer derive ID` checks one derivation and `veriformer explain ID` prints it."""


def derivation_pages() -> dict[str, str]:
    """Return the index and the page of every derivation, by their paths."""
    derivations = [load_derivation(identifier) for identifier in derivation_ids()]
    pages = {f"{FOLDER}/{derivation.id}.md": _derivation_page(derivation) for derivation in derivations}
    return {f"{FOLDER}/index.md": _index(derivations), **pages}


def _index(derivations: list[Derivation]) -> str:
    rows = (_row(derivation) for derivation in derivations)
    overview = table(("derivation", "holds for", "steps", "laws"), rows)
    sections = (_proved(derivation) for derivation in derivations if not derivation.reason_without_law)
    return page(notice("spec/derivations"), "# Derivations", _INTRODUCTION, overview, *sections)


def _row(derivation: Derivation) -> tuple[str, ...]:
    title = link(derivation.title, f"{derivation.id}.md")
    laws = str(len(_laws_of(derivation)))
    return title, derivation.scope.meaning, str(len(derivation.steps)), laws


def _proved(derivation: Derivation) -> str:
    return page(f"## `{derivation.id}`", f"{derivation.title}. It proves:", _law_list(derivation))


def _law_list(derivation: Derivation) -> str:
    return "\n".join(f"- {law_link(law, '../')}: {law.statement}" for law in _laws_of(derivation))


def _laws_of(derivation: Derivation) -> list[LawStatement]:
    return [law for law in LAWS.values() if law.claim.derivation == derivation.id]


def _motivated(derivation: Derivation) -> list[str]:
    laws = [law for law in LAWS.values() if law.claim.motivation == derivation.id]
    told = "\n".join(f"- {law_link(law, '../')}: {law.statement}" for law in laws)
    return ["## What it motivates", told] if laws else []


def _derivation_page(derivation: Derivation) -> str:
    proved = [f"## The {counted(len(_laws_of(derivation)), 'law')} that it proves", _law_list(derivation)]
    back = f"{link('All derivations', 'index.md')}. Check this one: `veriformer derive {derivation.id}`."
    body = fenced_mathematics(render_markdown(derivation))
    laws = [] if derivation.reason_without_law else proved
    return page(notice(f"spec/derivations/{derivation.id}.py"), body, *laws, *_motivated(derivation), back)
