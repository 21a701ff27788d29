"""A page opened as a reader opens it, and what is wrong with it there."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")
_HEIGHT = 900
_LEVELS = ("serious", "critical")
# A picture needs words: `alt`, a title or a label, unless it is hidden from those who do not see it.
_WORDLESS = """() => [...document.querySelectorAll('img, svg')].filter(one =>
    !one.closest('[aria-hidden="true"]') && one.getClientRects().length > 0 &&
    !(one.matches('img') ? one.hasAttribute('alt')
      : one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.querySelector(':scope > title'))
).map(one => one.outerHTML.slice(0, 200))"""
_WIDER = """() => {
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= wide) return [];
    const beyond = [...document.body.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > wide + 1);
    return [`the page is ${document.documentElement.scrollWidth} wide`,
            ...beyond.slice(0, 3).map(one => one.outerHTML.slice(0, 200))];
}"""


@dataclass
class Opened:
    """An open page, and what it did while it was opened."""

    page: object
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def foreign(self) -> list[str]:
        """The addresses that it asked for and that are not files of this machine."""
        return [address for address in self.requests if not address.startswith(("file:", "data:", "blob:"))]

    @property
    def overflow(self) -> list[str]:
        """What is wider than the window."""
        return self.page.evaluate(_WIDER)

    @property
    def wordless(self) -> list[str]:
        """The pictures without words."""
        return self.page.evaluate(_WORDLESS)

    def inaccessible(self, axe: str) -> list[str]:
        """Return the serious faults that axe-core finds, each with the first place."""
        self.page.evaluate(axe)
        found = self.page.evaluate("async () => (await axe.run({resultTypes: ['violations']})).violations")
        return [
            f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary'][:300]}"
            for one in found
            if one["impact"] in _LEVELS
        ]


@contextmanager
def opened(chromium, path: Path, *, width: int = 1280, scheme: str = "light", script: bool = True, fragment: str = ""):
    """Open a file as a page of its own and yield it."""
    context = chromium.new_context(
        viewport={"width": width, "height": _HEIGHT},
        color_scheme=scheme,
        java_script_enabled=script,
        bypass_csp=script,
    )
    page = context.new_page()
    found = Opened(page)
    page.on("console", lambda message: found.console.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.console.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    page.goto(f"{path.as_uri()}{fragment}", wait_until="load")
    try:
        yield found
    finally:
        context.close()
