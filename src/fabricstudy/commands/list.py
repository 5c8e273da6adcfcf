"""``fabricstudy list``: the bundled studies and templates, published machines, and buffers of switches."""

import argparse
import re
from itertools import groupby

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.engine.settings import SWITCH_BUFFERS
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.workflow.pipeline import bundled_studies

from .common import table_console, text_table

TEMPLATES = ("next-machine", "who-saturates-first", "load-latency-small", "quick")
"""Bundled studies that are short enough to be changed into one's own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "studies, templates, machines or buffers (default: all)"
    choices = ("studies", "templates", "machines", "buffers")
    parser.add_argument("what", nargs="?", choices=choices, metavar="WHAT", help=words)


def run(args: argparse.Namespace) -> list[dict[str, str]]:
    """List the bundled studies, the templates of init, published machines, and buffers of switches."""
    titles = {name: title(name) for name in bundled_studies()}
    rows = [
        *({"what": "studies", "name": name, "about": about} for name, about in titles.items()),
        *({"what": "templates", "name": name, "about": titles[name]} for name in TEMPLATES),
        *({"what": "machines", "name": name, "about": machine.about} for name, machine in INSTANCES.items()),
        *({"what": "buffers", "name": name, "about": of.describe()} for name, of in SWITCH_BUFFERS.items()),
    ]
    return [row for row in rows if args.what in (None, row["what"])]


def title(name: str) -> str:
    # To parse all studies takes seconds.
    found = re.search(r"^title: *(.*)$", (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8"), re.M)
    return found[1].strip("\"'") if found else ""


def show(rows: list[dict[str, str]]) -> None:
    console = table_console(160)
    for what, group in groupby(rows, lambda row: row["what"]):
        table = text_table(what, "about", left=2)
        for row in group:
            table.add_row(row["name"], row["about"])
        console.print(table)
