"""Lists of kinds, tables and commands that are generated from the code when the pages are built.

A comment ``<!-- kinds: jobs.*.pattern -->`` becomes a table of the kinds that this key accepts, ``<!-- tables -->`` one
of all tables, and ``<!-- commands -->`` the help of every command. What stands before it in its line is for readers of
the source, and left out.

``FABRICSTUDY_REPORTS=quick,...`` adds the reports of these studies, from ``reports/`` (``make demo``).
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
from pathlib import Path
from typing import Any

from markdown.extensions.toc import slugify
from mkdocs.structure.files import File

from fabricstudy import cli
from fabricstudy.core.columns import METRICS, TABLES, names_of
from fabricstudy.core.kinds import kind_of, members_of
from fabricstudy.study.dotted_paths import fields_of
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.workflow.pipeline import find_study

STUDIES = [name for name in os.environ.get("FABRICSTUDY_REPORTS", "").split(",") if name]
REPORTS = "reports.md"


def on_config(config: Any, **_: Any) -> None:
    """List the reports after the first page; pages go by their files, so that a browser needs no server."""
    if STUDIES:
        config.nav.insert(1, {"Reports": REPORTS})
        config.use_directory_urls = False
        # It is shown for any address, so its links would have to begin at the root of a host that nobody knows.
        config.theme.static_templates.discard("404.html")


def on_files(files: Any, config: Any, **_: Any) -> None:
    """Add the reports with their figures, and a page that leads to them."""
    if not STUDIES:
        return
    lines = ["# Reports", "", "One report per study, with figures, claims and an explorer.", ""]
    for name in STUDIES:
        lines.append(_link(name))
        for path in sorted(Path("reports", name).rglob("*")):
            if path.name == "index.html":
                page = path.read_text().replace("<header>", f"<header>{_BACK}", 1)
                files.append(File.generated(config, path.as_posix(), content=page))
            elif path.is_file():
                files.append(File.generated(config, path.as_posix(), abs_src_path=str(path.resolve())))
    files.append(File.generated(config, REPORTS, content="\n".join(lines)))


_BACK = '<p class="soft"><a href="../../index.html">fabricstudy</a> · <a href="../../reports.html">reports</a></p>'
"""From a report back to the pages around it."""


def _link(name: str) -> str:
    return f"* [{load_study(find_study(name)).title or name}](reports/{name}/index.html) (`{name}`)"


def reports() -> str:
    """Return the links to the reports for the first page."""
    links = [_link(name) for name in STUDIES]
    return "\n".join(["Examples of reports:", "", *links]) if STUDIES else ""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in what the code knows, and drop from code blocks the words that only tests read."""
    up = "../" * page.file.src_uri.count("/")
    markdown = re.sub(r"^.*<!-- kinds: (\S+) -->", lambda found: kinds(found[1], up), markdown, flags=re.M)
    for name, make in (("tables", tables), ("commands", commands), ("reports", reports)):
        markdown = re.sub(f"^.*<!-- {name} -->", lambda found, make=make: make(), markdown, flags=re.M)
    return re.sub(r"^(```\w+) .*$", r"\1", markdown, flags=re.M)


def kinds(path: str, up: str) -> str:
    """Return a table of the kinds that a key accepts, with links into the reference."""
    models: list[Any] = [Study]
    for key in re.sub(r"\.(\*|NAME)", "", path).split("."):
        # Of the kinds of a family some may have the key.
        fields = [fields_of(model)[key] for model in models if key in fields_of(model)]
        models = list(dict.fromkeys(member for field in fields for member in members_of(field.annotation)))
    rows = ["| kind | meaning |", "| --- | --- |"]
    for model in models:
        about = inspect.cleandoc(model.__doc__ or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
        anchor = slugify(f"{path}, kind {kind_of(model)}", "-")
        rows.append(f"| [{kind_of(model)}]({up}reference.md#{anchor}) | {about} |")
    return "\n".join(rows)


def tables() -> str:
    """Return a table of all tables and their columns."""
    rows = ["| table | columns for figures and claims | other columns |", "| --- | --- | --- |"]
    for name in TABLES:
        numbers = METRICS.get(name, ())
        others = [column for column in names_of(name) if column not in numbers]
        rows.append(f"| `{name}` | {_codes(numbers)} | {_codes(others)} |")
    return "\n".join(rows)


def _codes(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def commands() -> str:
    """Return the help of every command."""
    (subparsers,) = (action for action in cli._parser()._actions if isinstance(action, argparse._SubParsersAction))
    sections = []
    for name, sub in subparsers.choices.items():
        sub.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100)
        sections.append(f"## fabricstudy {name}\n\n```text\n{sub.format_help()}```")
    return "\n\n".join(sections)
