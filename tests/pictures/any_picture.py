"""Any picture, with any texts in it: those that break out of markup or of a terminal's line among them."""

from __future__ import annotations

from hypothesis import strategies as st
from veriformer.pictures.model import (
    Cell,
    Chart,
    Clocks,
    ErrorBar,
    Formula,
    Grid,
    Line,
    Node,
    Region,
    Row,
    Tree,
    Visits,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</svg></title></desc></table></style><iframe src=//example.org>",
    "]]>--><!-- &lt;b&gt; {{ 7 * 7 }} {0} {x!r}",
    "\x1b[2J\x1b]0;title\x07\r\n\x00",
    "長い名前の部品 ÅÄÖ \u202eevil",
    "javascript:alert(1)",
)
texts = st.sampled_from(HOSTILE) | st.text(max_size=12) | st.just("")
floats = st.floats(width=32) | st.sampled_from([0.0, 1.0, -0.0, 1 / 3, 1e-300, 1e300, float("inf"), float("nan")])
positive = st.floats(min_value=0.0, allow_nan=False) | st.just(float("inf"))
cells = st.builds(
    Cell,
    texts,
    st.sampled_from(["plain", "wrong", "visible", "hidden", "unseen", "omitted"]),
    st.none() | st.floats(0, 1),
)


def rows_of(items: st.SearchStrategy, most: int = 4) -> st.SearchStrategy:
    return st.integers(0, most).flatmap(
        lambda columns: st.lists(st.tuples(*[items] * columns), max_size=most).map(tuple)
    )


labels = st.lists(texts, max_size=4).map(tuple)
grids = st.builds(Grid, texts, rows_of(cells), texts, texts, labels, labels, texts)
bars = st.builds(ErrorBar, texts, positive | st.just(float("nan")), positive)
nodes = st.recursive(
    st.builds(Node, texts, texts, st.sampled_from(["holds", "departs", "unrecognised", "plain"]), texts),
    lambda below: st.builds(Node, texts, texts, st.just("plain"), texts, st.lists(below, max_size=3).map(tuple)),
    max_leaves=6,
)
trees = st.builds(Tree, texts, st.lists(nodes, max_size=3).map(tuple))
clocks = st.builds(Clocks, texts, rows_of(floats), labels, labels)
curves = st.builds(Line, texts, st.lists(st.tuples(floats, floats), max_size=5).map(tuple))
charts = st.builds(
    Chart, texts, st.lists(curves, max_size=3).map(tuple), texts, texts, st.sampled_from(["", "x", "y", "xy"])
)
regions = st.lists(st.builds(Region, texts, st.integers(0, 5000)), max_size=4).map(tuple)
visits = st.builds(Visits, texts, st.lists(st.tuples(texts, regions), max_size=3).map(tuple))
formulas = st.builds(Formula, texts)
simple = grids | bars | trees | clocks | charts | visits | formulas
pictures = simple | st.builds(Row, texts, st.lists(simple, max_size=3).map(tuple))
