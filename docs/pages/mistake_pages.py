"""`mistakes/`: a page for each mistake: what goes wrong, what hides it, the smallest case, the laws, the reports."""

from __future__ import annotations

from veriformer.conformance_tests.mistakes import Citation, Mistake, PlantedMistake, catalogue
from veriformer.conformance_tests.mistakes.kills import shown_in
from veriformer.spec.laws import LAWS

from pages.markdown import code, link, notice, page, prose
from pages.mistakes import FOLDER
from pages.mistakes import PATH as ALL
from pages.references import derivation_link, law_link, mistake_page, operation_link, step_links
from pages.smallest import smallest_case, smallest_cases

_MOST_LAWS = 12


def mistake_pages() -> dict[str, str]:
    """Return the page of every mistake, by its path."""
    cases = smallest_cases()
    return {mistake_page(slug): _page(mistake, cases.get(slug)) for slug, mistake in catalogue().items()}


def _page(mistake: Mistake, case: object) -> str:
    return page(
        notice(FOLDER),
        f"# {code(mistake.slug)}",
        _sentence(mistake.sentence),
        "\n".join(_facts(mistake)),
        *(smallest_case(case) if isinstance(case, dict) else ()),
        *_planted(mistake, case),
        *_laws(mistake),
        *_derivations(mistake),
        *_reports(mistake),
        f"{link('All mistakes', f'../{ALL}')}. In a terminal: `veriformer explain {mistake.slug}`.",
    )


def _sentence(text: str) -> str:
    return prose(text[0].upper() + text[1:].rstrip(".") + ".")


def _facts(mistake: Mistake) -> list[str]:
    facts = (
        ("As code", code(mistake.formula) if mistake.formula else ""),
        ("What hides it", prose(mistake.hidden_when)),
        ("What a case needs to show it", prose("; ".join(mistake.regions))),
        ("Effect", prose(mistake.effect)),
        ("Operations", ", ".join(operation_link(name, "../") for name in shown_in(mistake))),
        ("Not planted in a program", mistake.reason),
        ("Changes nothing", _undone(mistake)),
    )
    return [f"- {label}: {text}" for label, text in facts if text]


def _undone(mistake: Mistake) -> str:
    known = mistake.equivalence
    if known is None:
        return ""
    place = f"{derivation_link(known.derivation, '../')}, {step_links(known.derivation, [known.step], '../')}"
    return f"{prose(known.where)} ({place})"


def _planted(mistake: Mistake, case: object) -> list[str]:
    """Return the lines that make the program wrong whose smallest case is drawn."""
    name = case["planted"] if isinstance(case, dict) else ""
    shown = [entry for entry in mistake.planted if entry.name == name]
    return [page("## In a program", *map(_change, shown))] if shown else []


def _change(planted: PlantedMistake) -> str:
    lines = "\n".join(line.rstrip() for line in planted.changed_lines())
    return f"This change makes a correct program ({planted.framework}) wrong:\n\n```diff\n{lines}\n```"


def _laws(mistake: Mistake) -> list[str]:
    if not mistake.laws:
        return []
    shown = [f"- {law_link(LAWS[name], '../')}: {LAWS[name].statement}" for name in mistake.laws[:_MOST_LAWS]]
    rest = ", ".join(law_link(LAWS[name], "../") for name in mistake.laws[_MOST_LAWS:])
    heading = "The law that catches it" if len(mistake.laws) == 1 else f"The {len(mistake.laws)} laws that catch it"
    return [f"## {heading}", "\n".join(shown), f"And {rest}." if rest else ""]


def _derivations(mistake: Mistake) -> list[str]:
    """Return the steps that prove the laws, or say why they were chosen."""
    found: dict[str, list[str]] = {}
    for law in (LAWS[name] for name in mistake.laws):
        if law.claim.background:
            steps = found.setdefault(law.claim.background, [])
            steps += [step for step in law.claim.steps if step not in steps]
    lines = [f"- {derivation_link(name, '../')}, {step_links(name, steps, '../')}" for name, steps in found.items()]
    return [f"## Why {'it holds' if len(mistake.laws) == 1 else 'they hold'}", "\n".join(lines)] if lines else []


def _reports(mistake: Mistake) -> list[str]:
    if not mistake.citations:
        return ["No public report of this mistake is known. It resembles mistakes that are reported."]
    return ["## Reported in", "\n".join(map(_report, mistake.citations))]


def _report(citation: Citation) -> str:
    title = prose(citation.title.rstrip("."))
    about = f"{title}. {prose(citation.symptom)} ({prose(citation.evidence)})"
    return f"- {link(citation.issue, citation.url)}: {about}"
