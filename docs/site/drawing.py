"""What Sphinx does not do: formulas as MathML, without fonts and scripts, and the style of the pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from veriformer.pictures.formulas import mathml
from veriformer.pictures.html import STYLE


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both, and a navigation that is not made anew for each of hundreds of pages outside it."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.connect("config-inited", _style)
    # Before the theme asks for the navigation.
    app.connect("html-page-context", partial(_navigation, {}), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    # A wide formula is scrolled by itself, and by keyboard too.
    translator.body.append(f'<div class="formula" tabindex="0" role="group">{mathml(node.astext())}</div>')
    raise nodes.SkipNode


def _style(app: Sphinx, config: Config) -> None:
    folder = Path(app.doctreedir) / "static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pictures.css").write_text(STYLE, encoding="utf-8")
    config.html_static_path.append(str(folder))
    config.html_css_files.append("pictures.css")


def _navigation(
    made: dict[str, str], app: Sphinx, name: str, _template: str, context: dict[str, Any], _tree: nodes.Node | None
) -> None:
    """Let the pages of a folder share their navigation where none of them is in it."""
    make, folder = context["toctree"], name.rpartition("/")[0]

    def shared(**options: Any) -> str:
        if folder not in made:
            made[folder] = str(make(**options))
        return made[folder]

    if "orphan" in app.env.metadata.get(name, {}):
        context["toctree"] = shared
