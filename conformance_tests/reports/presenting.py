"""How results show themselves where they are looked at: as text, and in a notebook.

text(result, width)   the page of the terminal, without colours
html(result)          a card: the verdict, counts, and what is wrong with its picture
"""

from __future__ import annotations

import io
from functools import singledispatch

from rich.console import Console
from veriformer.conformance_tests.comparison.comparison import Comparison
from veriformer.conformance_tests.conventions.identification import Identification
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.reports import notebook
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.identified import identification_lines
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.ports import port_lines
from veriformer.conformance_tests.reports.two_implementations import comparison_page
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report


@singledispatch
def text(result: object, width: int) -> str:
    """Return what a terminal of a width shows of a result."""
    raise TypeError(f"a {type(result).__name__} has no page")


@text.register
def _(result: Report, width: int) -> str:
    return report_text(result, Options(width=width))


@text.register
def _(result: Identification, width: int) -> str:
    return as_text(identification_lines(result, width=width))


@text.register
def _(result: PortComparison, width: int) -> str:
    return as_text(port_lines(result, Options(width=width)))


@text.register
def _(result: Comparison, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        for part in comparison_page(result, Options(width=width)):
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


@singledispatch
def html(result: object) -> str:
    """Return a card about a result."""
    raise TypeError(f"a {type(result).__name__} has no card")


html.register(Report, notebook.report_card)
html.register(ModelReport, notebook.model_card)
html.register(Identification, notebook.identification_card)
html.register(PortComparison, notebook.port_card)
html.register(Comparison, notebook.comparison_card)
