"""``fabricstudy point inputs``: the input files of a point's simulator, and the command that runs it."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.engine.single_point import write_inputs

from .common import planned_point

RUN_SCRIPT = "run.sh"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="name of a bundled study, or path to a study file")
    parser.add_argument("point_id", help="id such as p0123456789ab; the table points lists them")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, empty or missing")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write the input files of a point, and the command that runs it."""
    planned = planned_point(args.study, args.point_id)
    if args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        raise FabricstudyError(f"{args.out}: not an empty folder; name another one with --out", "invalid-value")
    command = write_inputs(planned, args.out)
    if command:
        script = args.out / RUN_SCRIPT
        script.write_text(f'#!/bin/sh\ncd "$(dirname "$0")" && exec {shlex.join(command)}\n')
        script.chmod(0o755)
    files = sorted(str(path.relative_to(args.out)) for path in args.out.rglob("*") if path.is_file())
    return {"folder": str(args.out), "command": shlex.join(command) or None, "files": files}


def show(written: dict[str, Any]) -> None:
    print(f"folder   {written['folder']}")
    print(f"command  {written['command'] or 'none: no program is run'}")
    for name in written["files"]:
        print(f"file     {name}")
