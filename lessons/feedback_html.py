"""Feedback as HTML, for notebooks: what became of an answer, with the smallest case drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriformer.lessons.hints import Hints
    from veriformer.lessons.outcome import Outcome

_PAGE = """<style>{{ style }}</style>
<div class="vf-feedback">
<p><b>{{ mark }} {{ exercise }}</b> {{ summary }}</p>
{% if sentence %}<p>{{ sentence }}</p>{% endif %}
{% for note in notes %}<p><small>Note: {{ note }}.</small></p>{% endfor %}
{% if case %}<pre>{{ case }}</pre>{% endif %}
{{ picture }}
{% if question %}<details><summary>a question</summary><p>{{ question }}</p></details>{% endif %}
{% if mistakes %}<details><summary>the mistake</summary>
{% for one in mistakes %}<p><code>{{ one.slug }}</code> {{ one.sentence }}</p>{% endfor %}
</details>{% endif %}
</div>"""


def outcome_html(outcome: Outcome) -> str:
    """Return what became of an answer, with all hints, the later ones folded; every text in it is escaped."""
    from jinja2 import Environment
    from markupsafe import Markup
    from veriformer.lessons.feedback import MARKS, outcome_sentence, outcome_summary
    from veriformer.lessons.hints import hints_of
    from veriformer.pictures.html import STYLE

    hints = hints_of(outcome) if outcome.law is not None else None
    return (
        Environment(autoescape=True)
        .from_string(_PAGE)
        .render(
            style=Markup(STYLE),
            mark=MARKS[outcome.state][0],
            exercise=outcome.exercise.id,
            summary=outcome_summary(outcome),
            sentence=outcome_sentence(outcome),
            notes=outcome.notes,
            case=_case(hints),
            picture=Markup(_picture(hints)),
            question=hints.question if hints else "",
            mistakes=hints.mistakes if hints else (),
        )
    )


def _case(hints: Hints | None) -> str:
    """Return the arguments of the smallest case."""
    from veriformer.conformance_tests.reports.layout import as_text
    from veriformer.conformance_tests.reports.options import Options
    from veriformer.conformance_tests.reports.violation import inputs, smallest_case
    from veriformer.lessons.feedback import WIDTH

    if hints is None or hints.counterexample is None or hints.outcome.law is None:
        return ""
    found = hints.counterexample
    operation = hints.outcome.law.law.operation
    return as_text([*smallest_case(found, WIDTH), *inputs(found, operation, Options(width=WIDTH))])


def _picture(hints: Hints | None) -> str:
    from veriformer.lessons.drawing import side_by_side
    from veriformer.pictures.html import fragment

    if hints is None or hints.counterexample is None or hints.outcome.law is None:
        return ""
    picture = side_by_side(hints.counterexample.verdict, hints.outcome.law.law.operation)
    return "" if picture is None else fragment(picture)
