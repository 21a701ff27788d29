"""Draw what `veriformer check docs/examples/my_attention.py` says, as the picture of README.md.

python docs/draw_failure.py            write docs/failure.svg
python docs/draw_failure.py --check    exit status 1 where the picture shows something else
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "failure.svg"
EXAMPLE = "docs/examples/my_attention.py"
_COMMAND = f"veriformer check {EXAMPLE}"
# The picture ends before this line: what follows is in the page below it.
_WIDTH = 100
# As a reader has them: no font is fetched.
_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SVG = (
    """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>What Veriformer says of a causal mask that is off by one</title>
<style>
.{unique_id}-matrix {{ font-family: """
    + _FONTS
    + """; font-size: {char_height}px; line-height: {line_height}px }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""
)
# Light figures on a dark ground, each with a contrast of at least 4.5 to it.
_THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [(110, 118, 129), (255, 123, 114), (86, 211, 100), (227, 179, 65),
     (121, 192, 255), (210, 168, 255), (86, 212, 221), (230, 237, 243)],
)  # fmt: skip


def report() -> list[Text]:
    """Return the report of the example without its last line, which has the seconds that it took."""
    from veriformer.conformance_tests import check
    from veriformer.conformance_tests.reports.console import report_lines
    from veriformer.conformance_tests.reports.options import Options

    return report_lines(check(EXAMPLE), Options(width=_WIDTH))[:-1]


def picture(lines: list[Text]) -> str:
    """Return lines as a picture of a terminal."""
    console = Console(
        width=_WIDTH, record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(Text(f"$ {_COMMAND}", style="bold"))
    for line in lines:
        console.print(line, markup=False, emoji=False)
    return console.export_svg(title="Veriformer", theme=_THEME, code_format=_SVG, unique_id="failure")


def main(arguments: list[str] | None = None) -> int:
    """Write or compare the picture; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    checking = parser.parse_args(arguments).check
    current = picture(report())
    if not checking:
        PICTURE.write_text(current, encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") == current:
        return 0
    print(f"{PICTURE.relative_to(ROOT)} is not current: python docs/draw_failure.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
