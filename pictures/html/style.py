"""The style of all pictures. Colours are those of Okabe and Ito, which the colour-blind tell apart."""

from __future__ import annotations

_LIGHT = """
  --vf-blue: #0072b2; --vf-on-blue: #fff; --vf-orange: #b34700; --vf-wrong: #ffe8c7; --vf-on-wrong: #1a1a1a;
  --vf-green: #00664b; --vf-purple: #a3487a; --vf-grey: #595959; --vf-rule: #b8b8b8; --vf-shade: #0072b2;
  --vf-hatch: rgba(0, 0, 0, 0.13); --vf-ground: #fff; --vf-ink: #1a1a1a;"""
_DARK = """
  --vf-blue: #56b4e9; --vf-on-blue: #000; --vf-orange: #f0a830; --vf-wrong: #573500; --vf-on-wrong: #fff;
  --vf-green: #3ecfa5; --vf-purple: #e39dc5; --vf-grey: #b5b5b5; --vf-rule: #5c5c5c; --vf-shade: #3f9bd8;
  --vf-hatch: rgba(255, 255, 255, 0.18); --vf-ground: #16181b; --vf-ink: #e8e8e8;"""

# Selectors are as specific as those of Jupyter and Furo that style every table and list.

# The shares of a value's colour stay below what its number needs to be read.
_SHADES = "\n".join(
    f".vf-picture td.vf-shade-{step} {{ background: color-mix(in srgb, var(--vf-shade) {4 * step}%, transparent) }}"
    for step in range(11)
)

STYLE = f"""
.vf-picture {{{_LIGHT}
  color: inherit; max-width: 100%; line-height: 1.4; margin: 0.6em 0; }}
@media (prefers-color-scheme: dark) {{ .vf-picture {{{_DARK} }} }}
body[data-theme="light"] .vf-picture, [data-jp-theme-light="true"] .vf-picture,
.vscode-light .vf-picture {{{_LIGHT} }}
body[data-theme="dark"] .vf-picture, [data-jp-theme-light="false"] .vf-picture,
.vscode-dark .vf-picture {{{_DARK} }}
@media print {{
  .vf-picture, body[data-theme] .vf-picture, [data-jp-theme-light] .vf-picture {{{_LIGHT}
    print-color-adjust: exact; -webkit-print-color-adjust: exact; break-inside: avoid; }}
  .vf-picture .vf-scroll {{ overflow: visible; }}
}}
.vf-picture .vf-row {{ display: flex; flex-wrap: wrap; gap: 0.6em 1.6em; align-items: flex-start; }}
.vf-picture .vf-part {{ max-width: 100%; min-width: 0; }}
.vf-picture .vf-scroll {{ overflow-x: auto; max-width: 100%; padding: 3px; }}
.vf-picture .vf-scroll:focus-visible {{ outline: 2px solid var(--vf-blue); outline-offset: -1px; }}
.vf-picture .vf-title, .vf-picture caption {{
  text-align: left; font-weight: 600; font-size: 0.95em; padding: 0 0 0.2em; caption-side: top; color: inherit; }}
.vf-picture .vf-note, .vf-picture .vf-legend {{ font-size: 0.85em; color: var(--vf-grey); padding-top: 0.2em; }}
.vf-picture .vf-key {{ display: inline-block; margin-right: 1.2em; white-space: nowrap; }}
.vf-picture .vf-spoken {{
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }}
.vf-picture table {{
  border-collapse: collapse; margin: 0; width: auto; table-layout: auto; display: table; border: 0; font-size: 0.92em;
  background: transparent; color: inherit; overflow-wrap: normal; }}
.vf-picture th[scope="row"] {{ text-align: right; }}
.vf-picture table.vf-grid {{ font-variant-numeric: tabular-nums; position: relative; }}
.vf-picture thead, .vf-picture tbody {{ background: transparent; border: 0; }}
.vf-picture thead tr:nth-child(n), .vf-picture tbody tr:nth-child(n) {{ background: transparent; border: 0; }}
.vf-picture th, .vf-picture td {{
  border: 1px solid var(--vf-rule); padding: 0.15em 0.45em; min-width: 1.1em; text-align: center;
  vertical-align: middle; white-space: nowrap; background: transparent; color: inherit; }}
.vf-picture th, .vf-picture td.vf-corner {{
  border-color: transparent; font-weight: 400; font-size: 0.88em; color: var(--vf-grey); }}
{_SHADES}
.vf-picture td.vf-visible, .vf-picture .vf-swatch.vf-visible, .vf-picture li.vf-visible {{
  background: var(--vf-blue); color: var(--vf-on-blue); }}
.vf-picture td.vf-hidden, .vf-picture td.vf-unseen, .vf-picture li.vf-unseen, .vf-picture .vf-swatch.vf-hidden,
.vf-picture .vf-swatch.vf-unseen {{
  background-image: repeating-linear-gradient(135deg, var(--vf-hatch) 0 2px, transparent 2px 7px); }}
.vf-picture td.vf-wrong, .vf-picture .vf-swatch.vf-wrong {{
  background: var(--vf-wrong); color: var(--vf-on-wrong); font-weight: 700;
  outline: 2px solid var(--vf-orange); outline-offset: -1px; }}
.vf-picture td.vf-omitted {{ border-color: transparent; color: var(--vf-grey); }}
.vf-picture .vf-swatch {{
  display: inline-block; min-width: 1.4em; text-align: center; border: 1px solid var(--vf-rule); line-height: 1.2; }}
.vf-picture .vf-visits th {{ text-align: left; vertical-align: top; padding-left: 0; }}
.vf-picture .vf-visits td {{ border-color: transparent; text-align: left; white-space: normal; padding: 0.1em 0; }}
.vf-picture.vf-picture ul {{ list-style: none; margin: 0; padding: 0; }}
.vf-picture ul.vf-regions {{ display: flex; flex-wrap: wrap; gap: 0.25em 0.4em; }}
.vf-picture .vf-regions li {{ border: 1px solid var(--vf-rule); padding: 0 0.45em; margin: 0; border-radius: 3px; }}
.vf-picture .vf-regions li.vf-unseen {{ border: 1.5px dashed var(--vf-orange); }}
.vf-picture ul.vf-below {{ margin-left: 0.55em; padding-left: 0.9em; border-left: 1px solid var(--vf-rule); }}
.vf-picture .vf-node {{ margin: 0.1em 0; overflow-wrap: anywhere; }}
.vf-picture .vf-mark {{ display: inline-block; width: 1.3em; font-weight: 700; }}
.vf-picture .vf-holds > .vf-mark {{ color: var(--vf-green); }}
.vf-picture .vf-departs > .vf-mark, .vf-picture .vf-departs > .vf-text {{ color: var(--vf-orange); font-weight: 700; }}
.vf-picture .vf-unrecognised > .vf-mark {{ color: var(--vf-purple); }}
.vf-picture code {{ font-family: ui-monospace, monospace; background: none; border: 0; padding: 0; color: inherit; }}
.vf-picture .vf-place {{ color: var(--vf-grey); font-size: 0.9em; }}
.vf-picture .vf-drawing {{ max-width: 100%; height: auto; display: block; }}
.vf-picture .vf-full .vf-drawing {{ max-width: none; }}
.vf-picture .vf-drawing .vf-text {{ fill: currentColor; font: 13px system-ui, sans-serif; }}
.vf-picture .vf-drawing .vf-strong {{ fill: var(--vf-orange); font-weight: 700; }}
.vf-picture .vf-axis, .vf-picture .vf-noon {{ stroke: currentColor; stroke-width: 1; }}
.vf-picture .vf-guide {{ stroke: var(--vf-rule); stroke-width: 1; opacity: 0.6; }}
.vf-picture .vf-explained {{ fill: var(--vf-blue); opacity: 0.18; }}
.vf-picture .vf-hatching {{ stroke: var(--vf-blue); stroke-width: 1.2; fill: none; }}
.vf-picture .vf-limit {{ stroke: var(--vf-blue); stroke-width: 3; }}
.vf-picture .vf-within, .vf-picture .vf-end {{ fill: var(--vf-blue); }}
.vf-picture .vf-beyond {{ stroke: var(--vf-orange); stroke-width: 4; stroke-linecap: round; fill: none; }}
.vf-picture .vf-face {{ fill: none; stroke: var(--vf-grey); stroke-width: 1.2; }}
.vf-picture .vf-hand {{ stroke: var(--vf-blue); stroke-width: 2.5; stroke-linecap: round; }}
.vf-picture .vf-curve {{ fill: none; stroke-width: 2.2; }}
.vf-picture .vf-curve-0 {{ stroke: var(--vf-blue); }}
.vf-picture .vf-curve-1 {{ stroke: var(--vf-orange); stroke-dasharray: 7 4; }}
.vf-picture .vf-curve-2 {{ stroke: var(--vf-green); stroke-dasharray: 2 3; }}
.vf-picture .vf-curve-3 {{ stroke: var(--vf-purple); stroke-dasharray: 10 3 2 3; }}
.vf-picture .vf-curve-4 {{ stroke: var(--vf-grey); stroke-dasharray: 12 6; }}
.vf-picture .vf-curve-5 {{ stroke: currentColor; stroke-dasharray: 4 2 1 2; }}
.vf-picture .vf-dot-0 {{ fill: var(--vf-blue); }}
.vf-picture .vf-dot-1 {{ fill: var(--vf-orange); }}
.vf-picture .vf-dot-2 {{ fill: var(--vf-green); }}
.vf-picture .vf-dot-3 {{ fill: var(--vf-purple); }}
.vf-picture .vf-dot-4 {{ fill: var(--vf-grey); }}
.vf-picture .vf-dot-5 {{ fill: currentColor; }}
.vf-picture .vf-formula {{ font-size: 1.1em; }}
.vf-picture code.vf-formula {{ font-size: 1em; white-space: pre-wrap; overflow-wrap: anywhere; }}
.vf-picture.vf-card {{ background: var(--vf-ground); color: var(--vf-ink); padding: 0.6em 0.8em; }}
.vf-picture .vf-headline {{ font-weight: 700; font-size: 1.1em; overflow-wrap: anywhere; }}
.vf-picture .vf-entry {{ margin: 0.35em 0; overflow-wrap: anywhere; }}
.vf-picture .vf-label {{ color: var(--vf-grey); }}
@media (forced-colors: active) {{
  .vf-picture td.vf-visible, .vf-picture td.vf-wrong {{ border: 3px solid; forced-color-adjust: auto; }}
}}
"""
