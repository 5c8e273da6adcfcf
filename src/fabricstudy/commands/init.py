"""``fabricstudy init``: a study of one's own from a template."""

import argparse
import re
import sys
from pathlib import Path

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.errors import FabricstudyError, suggestion
from fabricstudy.workflow.pipeline import bundled_studies

from .list import TEMPLATES, title


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="study file to write, such as my-study.yaml")
    words = "bundled study to begin with; a terminal asks for it if it is not given"
    parser.add_argument("--template", metavar="NAME", help=words)


def run(args: argparse.Namespace) -> dict[str, str]:
    """Write a study from a template, to be changed."""
    file: Path = args.file
    name = file.stem
    if file.suffix not in (".yaml", ".yml") or not re.fullmatch("[a-z0-9][a-z0-9-]*", name):
        raise FabricstudyError(f"{file}: name it like my-study.yaml, of a-z, 0-9 and -", "invalid-name")
    if file.exists():
        raise FabricstudyError(f"{file}: exists; name another file", "invalid-value")
    template = args.template or _ask()
    if template not in bundled_studies():
        raise FabricstudyError(
            f"{template}: no such template; {suggestion(template, bundled_studies())}", "unknown-name"
        )
    text = (CONFIGS / f"{template}.yaml").read_text(encoding="utf-8")
    file.write_text(re.sub("^study: .*$", f"study: {name}", text, count=1, flags=re.M), encoding="utf-8")
    return {"file": str(file), "template": template}


def _ask() -> str:
    if not sys.stdin.isatty():
        raise FabricstudyError(f"no template; write --template NAME, one of {', '.join(TEMPLATES)}", "usage")
    for number, name in enumerate(TEMPLATES, 1):
        print(f"{number}  {name:20} {title(name)}")
    answer = input(f"Template (1 to {len(TEMPLATES)}, or a name) [1]: ").strip() or "1"
    return TEMPLATES[int(answer) - 1] if answer in map(str, range(1, len(TEMPLATES) + 1)) else answer


def show(written: dict[str, str]) -> None:
    print(f"wrote {written['file']} from {written['template']}; change it, then:")
    for command in ("plan", "run"):
        print(f"  fabricstudy {command} {written['file']}")
