"""What Sphinx does not do: formulas as MathML, without scripts, their font, and the style of the pictures."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform
from veriformer.pictures.formulas import mathml
from veriformer.pictures.html import STYLE, mathematics_style
from veriformer.pictures.prose import Piece, formula_in_letters, pieces, pieces_of_formula

# What is shown as it stands, whatever it looks like.
_AS_IT_STANDS = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)
# About the code of this project, where a letter is rarely a symbol.
_WITHOUT_FORMULAS = ("readme", "contributing", "benchmarks")
_MATHML = re.compile(r'<math\b[^>]*?\balttext="([^"]*)".*?</math>', re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register them, and a navigation that is not made anew for each of hundreds of pages outside it."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.add_role("formula", _formula)
    app.add_transform(FormulasInProse)
    app.connect("html-page-context", _titles_without_tags)
    app.connect("config-inited", _style)
    # Before the theme asks for the navigation.
    app.connect("html-page-context", partial(_navigation, {}), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FormulasInProse(SphinxTransform):
    """Set the formulas in sentences and titles as those on lines of their own are set: √d_k, q_i, d_k = 64."""

    default_priority = 750

    def apply(self, **_options: Any) -> None:
        """Change the tree of one page; addresses of headings were made before, from the words as they stand."""
        if self.env.docname in _WITHOUT_FORMULAS:
            return
        for text in list(self.document.findall(nodes.Text)):
            if text.parent is not None and not _stands(text):
                found = pieces(str(text))
                if any(piece.latex for piece in found):
                    text.parent.replace(text, [_node(piece) for piece in found])


def _stands(text: nodes.Node) -> bool:
    parent = text.parent
    while parent is not None:
        if isinstance(parent, _AS_IT_STANDS):
            return True
        parent = parent.parent
    return False


def _node(piece: Piece) -> nodes.Node:
    return nodes.math(piece.latex, piece.latex) if piece.latex else nodes.Text(piece.text)


def _formula(
    _name: str, _raw: str, text: str, _line: int, _inliner: Any, _options: Any = None, _content: Any = None
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return a formula in Unicode, which may end a line between its parts."""
    return [_node(piece) for piece in pieces_of_formula(text)], []


class _Title(str):
    """A title that is typeset, but for where a template takes the tags away: MathML without its tags is wrong."""

    def __html__(self) -> str:
        return _MATHML.sub(lambda formula: formula_in_letters(unescape(formula[1])), self)


def _titles_without_tags(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.Node | None
) -> None:
    """Let a browser's tab show the formulas of a title in Unicode, as it shows no MathML."""
    if "title" in context:
        context["title"] = _Title(context["title"]).__html__()
    for beside in ("prev", "next"):
        if context.get(beside):
            context[beside] = {**context[beside], "title": _Title(context[beside]["title"])}


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
    for name, style in (("pictures.css", STYLE), ("mathematics.css", mathematics_style())):
        (folder / name).write_text(style, encoding="utf-8")
        config.html_css_files.append(name)
    config.html_static_path.append(str(folder))


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
