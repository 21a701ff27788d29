"""`derivations/`: an index in the order of reading, and a page for each derivation."""

from __future__ import annotations

import re

from veriformer.conformance_tests.mistakes import caught_by
from veriformer.spec.derivations import Derivation, derivation_ids, derivation_title, load_derivation, render_markdown
from veriformer.spec.laws import LAWS, LawStatement

from pages.figures import of_derivation
from pages.markdown import counted, fenced_mathematics, link, notice, page, table
from pages.pictures import drawn
from pages.references import derivation_page, law_link, mistake_link, step_heading

FOLDER = "derivations"

# What a newcomer reads first stands first; within a part each needs those before it only.
READING_ORDER = {
    "Why attention divides by √d_k": ("variance_scaling", "saturation", "softmax"),
    "What attention computes": ("convex_hull", "inner_products", "permutation", "independence"),
    "Masks": ("masking", "causality", "windows"),
    "Heads": ("multi_head", "grouped_query"),
    "Positions": ("sinusoid_relative_position", "rotary", "alibi"),
    "Layers": ("layer_norm", "rms_norm", "feed_forward", "gated_activations", "residual"),
    "Changed logits": ("softcap", "sinks"),
    "Training": (
        "cross_entropy",
        "backward",
        "matrices_backward",
        "lookup",
        "attention_backward",
        "additions_backward",
        "initialisation",
        "dropout",
        "clipping",
        "adamw",
        "schedules",
    ),
    "Long inputs and decoding": ("online_softmax", "merging_backward", "decoding_cache", "cost"),
    "Rounding": ("rounding_of_sums", "attention_rounding", "normalisation_rounding"),
}
# Where the question of a derivation ends and its details begin.
_DETAILS = re.compile(r"^(?=\| symbol \||\*\*Assumptions\*\*|## 1\. )", re.MULTILINE)
# Words quoted from a source that is written in LaTeX.
_QUOTED_LATEX = re.compile(r"“([^”\n$]*\\[a-z]+[^”\n$]*)”")
_INTRODUCTION = """\
A derivation deduces a law in named steps. `veriformer derive` checks every step of every derivation in three ways:

- a prover proves the statement, for symbols and not for chosen numbers unless the step says so;
- direct evaluation of both sides, by loops over numbers, agrees at random points;
- the same prover rejects altered statements, so that it does not accept everything.

`veriformer derive ID` checks one derivation and `veriformer explain ID` prints it. They are listed in an order in which
they can be read."""


def derivation_pages() -> dict[str, str]:
    """Return the index and the page of every derivation, by their paths."""
    derivations = [load_derivation(identifier) for identifier in derivation_ids()]
    pages = {derivation_page(derivation.id): _derivation_page(derivation) for derivation in derivations}
    return {f"{FOLDER}/index.md": _index(), **pages}


def _index() -> str:
    parts = (page(f"## {part}", _overview(names)) for part, names in READING_ORDER.items())
    return page(notice("spec/derivations"), "# Derivations", _INTRODUCTION, *parts)


def _overview(names: tuple[str, ...]) -> str:
    return table(("derivation", "holds for", "steps", "laws"), (_row(load_derivation(name)) for name in names))


def _row(derivation: Derivation) -> tuple[str, ...]:
    title = link(derivation.title, f"{derivation.id}.md")
    laws = str(len(_laws_of(derivation)))
    return title, derivation.scope.meaning, str(len(derivation.steps)), laws


def _laws_of(derivation: Derivation) -> list[LawStatement]:
    return [law for law in LAWS.values() if law.claim.derivation == derivation.id]


def _motivated_by(derivation: Derivation) -> list[LawStatement]:
    return [law for law in LAWS.values() if law.claim.motivation == derivation.id]


def _derivation_page(derivation: Derivation) -> str:
    back = f"{link('All derivations', 'index.md')}. Check this one: `veriformer derive {derivation.id}`."
    laws, motivated = _laws_of(derivation), _motivated_by(derivation)
    return page(
        notice(f"spec/derivations/{derivation.id}.py"),
        _with_pictures(fenced_mathematics(render_markdown(derivation)), derivation),
        *([] if derivation.reason_without_law else _section(f"The {counted(len(laws), 'law')} that it proves", laws)),
        *(_section("What it motivates", motivated) if motivated else []),
        *_read_on(derivation),
        back,
    )


def _with_pictures(body: str, derivation: Derivation) -> str:
    """Return the body with the pictures below its question."""
    readable = _QUOTED_LATEX.sub(r"$\1$", body)
    question, details = _DETAILS.split(readable, maxsplit=1)
    return page(question, *map(drawn, of_derivation(derivation.id)), details)


def _section(title: str, laws: list[LawStatement]) -> list[str]:
    return [f"## {title}", table(("law", "what holds", "by step", "mistakes that it catches"), map(_law_row, laws))]


def _law_row(law: LawStatement) -> tuple[str, ...]:
    headings = [step_heading(law.claim.background or "", step) for step in law.claim.steps]
    steps = ", ".join(link(heading.partition(".")[0], "", heading) for heading in headings)
    mistakes = ", ".join(mistake_link(slug, "../") for slug in caught_by(law.id))
    return law_link(law, "../"), law.statement, steps, mistakes


def _read_on(derivation: Derivation) -> list[str]:
    order = [name for names in READING_ORDER.values() for name in names]
    following = order[order.index(derivation.id) + 1 :][:1]
    return [f"Read on: {link(derivation_title(name), f'{name}.md')}." for name in following]
