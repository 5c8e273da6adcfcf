"""Write docs/figures/badge-*.svg: version, licence and Python versions of pyproject.toml, for the README."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs/figures"
WIDTH, MARGIN = 6.6, 10
"""Pixels of a letter, and at both sides of a text."""
BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}: {value}">
<rect width="{width}" height="20" rx="3" fill="#555"/>
<path d="M{left} 0h{right}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{right}z" fill="#0072b2"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{name_x}" y="14">{name}</text><text x="{value_x}" y="14">{value}</text></g>
</svg>
"""


def badge(name: str, value: str) -> str:
    """Return a badge as SVG."""
    left, right = (round(len(text) * WIDTH + 2 * MARGIN) for text in (name, value))
    sizes = {"width": left + right, "left": left, "right": right - 3}
    return BADGE.format(name=name, value=value, name_x=left / 2, value_x=left + right / 2, **sizes)


def badges() -> dict[str, str]:
    """Return the badges by the name of their file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = project["requires-python"].removeprefix(">=")
    facts = {"version": project["version"], "licence": project["license"], "python": f"{python} or newer"}
    return {f"badge-{name}.svg": badge(name, value) for name, value in facts.items()}


if __name__ == "__main__":
    for name, text in badges().items():
        (FIGURES / name).write_text(text, encoding="utf-8")
