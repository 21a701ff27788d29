"""Pictures in a notebook: a record that a cell ends with is drawn below it."""

from __future__ import annotations

from typing import get_args

from veriformer.pictures.html import standalone
from veriformer.pictures.model import Picture


def show_pictures() -> None:
    """Let the notebook draw pictures as HTML; nothing happens outside of one."""
    try:
        shell = get_ipython()
    except NameError:
        return
    html = shell.display_formatter.formatters["text/html"]
    for kind in get_args(Picture):
        html.for_type(kind, standalone)
