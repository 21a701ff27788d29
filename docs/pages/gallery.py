"""`gallery.md`: twelve well-known mistakes, each with a picture of what is right beside what comes out."""

from __future__ import annotations

from veriformer.conformance_tests.mistakes import catalogue

from pages.exhibits import EXHIBITS, Exhibit
from pages.markdown import counted, link, notice, page, prose
from pages.mistakes import PATH as ALL
from pages.pictures import drawn
from pages.references import mistake_link, operation_link

PATH = "gallery.md"

_NUMBERS = {12: "Twelve"}


def gallery_page() -> dict[str, str]:
    """Return the gallery, by its path."""
    number = _NUMBERS.get(len(EXHIBITS), str(len(EXHIBITS)))
    introduction = (
        f"{number} mistakes that people make in Transformers, each as a picture of the right and the wrong "
        "result. The wrong result comes from the same formula with one decision changed. `veriformer check "
        f"my_attention.py` looks for all of these mistakes, and for {link('all others of the catalogue', ALL)}."
    )
    return {
        PATH: page(notice("docs/pages/exhibits.py"), "# Gallery of mistakes", introduction, *map(_section, EXHIBITS))
    }


def _section(one: Exhibit) -> str:
    mistake = catalogue()[one.slug]
    met = f" Met in {counted(len(mistake.citations), 'public report')}." if mistake.citations else ""
    what = f"{mistake_link(one.slug)}, in {operation_link(one.operation)}: {prose(mistake.sentence.rstrip('.'))}.{met}"
    return page(f"## {one.title}", one.shown, drawn(one.draw(one)), what)
