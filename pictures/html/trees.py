"""The parts of a model as nested lists, each with a mark that is read aloud."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from veriformer.pictures.marks import STATUS_MEANINGS, STATUS_SYMBOLS
from veriformer.pictures.model import Node, Tree


def tree(tree: Tree) -> Markup:
    """Return the parts of a model as a list of lists."""
    title = Markup('<div class="vf-title">{}</div>').format(tree.title) if tree.title else Markup()
    return Markup('<div class="vf-part">{}{}</div>').format(title, _nodes(tree.nodes, "vf-tree"))


def _nodes(nodes: Sequence[Node], kind: str) -> Markup:
    if not nodes:
        return Markup()
    return Markup('<ul class="{}">{}</ul>').format(kind, Markup().join(map(_node, nodes)))


def _node(node: Node) -> Markup:
    place = Markup(' <code class="vf-place">{}</code>').format(node.place) if node.place else Markup()
    meaning = STATUS_MEANINGS[node.status]
    aloud = Markup('<span class="vf-spoken"> {}: </span>').format(meaning) if meaning else Markup()
    return Markup(
        '<li class="vf-node vf-{}"><span class="vf-mark" aria-hidden="true">{}</span>{}<code>{}</code>'
        ' <span class="vf-text">{}</span>{}{}</li>'
    ).format(
        node.status, STATUS_SYMBOLS[node.status], aloud, node.label, node.text, place, _nodes(node.children, "vf-below")
    )
