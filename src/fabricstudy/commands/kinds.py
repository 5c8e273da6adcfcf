"""``fabricstudy list kinds``: the kinds of a study, and the keys of each."""

import argparse
import inspect
import re
import textwrap
from itertools import groupby
from pathlib import Path
from typing import Any

from fabricstudy.core.errors import FabricstudyError, suggestion
from fabricstudy.core.extensions import load_extensions
from fabricstudy.core.kinds import Kind, extension_scope, kind_of
from fabricstudy.core.source import extension_package
from fabricstudy.study.document import family_paths, kind_schema, reference

from .common import add_extensions

LINE_WIDTH = 100
"""Of a line about a kind."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "a kind, to show its keys; or a family such as pattern, or words such as halo exchange, to list kinds"
    parser.add_argument("kind", nargs="*", metavar="KIND", help=words)
    add_extensions(parser)


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """List the kinds of a study by family, of one family, or those about some words, or print the keys of one kind."""
    with extension_scope(load_extensions(args.extensions, Path(), anywhere=True)):
        members = [
            (base.FAMILY.noun, path, kind)
            for base, path in family_paths().items()
            for kind in base.FAMILY.members.values()
        ]
        asked = " ".join(args.kind)
        named = [entry for entry in members if kind_of(entry[2]) == entry[2].FAMILY.synonyms.get(asked, asked)]
        family = [
            entry for entry in members if asked in (*entry[:2], f"{entry[0]} ({entry[1]})", entry[1].split(".")[-1])
        ]
        listed = family or [entry for entry in members if _is_about(entry[2], asked.lower())]
        if not named and listed:
            return [_facts(*entry) for entry in listed]
        if not named:
            words = {word for family, _, kind in members for word in (kind_of(kind), family)}
            raise FabricstudyError(f"{asked}: no such kind; {suggestion(asked, words)}")
        return [
            _facts(family, path, kind) | {"reference": reference(kind, path), "schema": kind_schema(kind)}
            for family, path, kind in named
        ]


def _is_about(kind: type[Kind], words: str) -> bool:
    """Return whether the name or the description of a kind has all words, or their plurals."""
    text = f"{kind_of(kind)}\n{kind.__doc__}".lower()
    return all(re.search(rf"(?<!\w){re.escape(word)}s?(?!\w)", text) for word in words.split())


def _facts(family: str, path: str, kind: type[Kind]) -> dict[str, Any]:
    about, module = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0], kind.__module__
    if extension_package(module):
        module = f"{module.split('.')[-1]}.py"
    return {"family": family, "path": path, "kind": kind_of(kind), "about": about, "module": module}


def show(members: list[dict[str, Any]]) -> None:
    if "reference" in members[0]:
        for kind in members:
            print(f"{kind['path']}: a class of {kind['module']}, from which an extension may derive")
        print()
        print("\n".join(kind["reference"] for kind in members), end="")
        return
    for (family, path), kinds in groupby(members, lambda kind: (kind["family"], kind["path"])):
        print(f"{family} ({path})")
        for kind in kinds:
            module = f"[{kind['module']}] " if kind["module"].endswith(".py") else ""
            about = textwrap.shorten(module + kind["about"], LINE_WIDTH - 24, placeholder=" ...")
            print(f"  {kind['kind']:21} {about}")
