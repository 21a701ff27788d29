"""How Sphinx makes the site of the Markdown pages; `docs/build.py` writes them and runs it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

try:
    release = metadata.version("veriformer")
except metadata.PackageNotFoundError:
    release = ""

project = "Veriformer"
html_title = f"Veriformer {release}".strip()
extensions = ["myst_parser", "drawing"]
root_doc = "index"
language = "en"

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_dmath_allow_space = False
myst_dmath_allow_digits = False

html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_use_index = False
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
