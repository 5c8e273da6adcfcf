"""``fabricstudy run`` and ``fabricstudy where``: plain Snakemake, with the workflow named for it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from fabricstudy.errors import FabricstudyError
from fabricstudy.home import HOME, SNAKEFILE

_CONFIG = ("--config", "-C")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a study, and whatever Snakemake takes."""
    parser.add_argument("study", help="name in configs/, or path to a study file; several with commas between them")
    parser.add_argument(
        "flags", nargs=argparse.REMAINDER, metavar="...", help="passed on to Snakemake, such as --cores 4"
    )


def run_study(args: argparse.Namespace) -> NoReturn:
    """Run a study with Snakemake; results and reports go below the folder you are in."""
    command = [sys.executable, "-P", "-m", "snakemake", *snakemake_arguments(args.study, args.flags)]
    os.execv(command[0], command)


def snakemake_arguments(study: str, flags: list[str]) -> list[str]:
    """Name workflow and study, and leave the rest as it is; Snakemake reads ``--config`` once only.

    Examples
    --------
    >>> snakemake_arguments("quick", ["--cores", "4"])[2:]
    ['--cores', '4', '--config', 'study=quick']
    >>> snakemake_arguments("quick", ["--config", "batch_cpu_s=600", "--cores", "4"])[2:]
    ['--config', 'study=quick', 'batch_cpu_s=600', '--cores', '4']
    """
    at = next((number for number, flag in enumerate(flags, 1) if flag in _CONFIG), None)
    named = [*flags, _CONFIG[0]] if at is None else flags[:at]
    return ["--snakefile", str(SNAKEFILE), *named, f"study={study}", *(flags[at:] if at is not None else [])]


def add_where_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is looked for."""
    parser.add_argument("file", nargs="?", default=SNAKEFILE.name, help="such as profiles/slurm (default: Snakefile)")


def where_it_is(args: argparse.Namespace) -> dict[str, str]:
    """Say where the workflow is, or another file that comes with the project."""
    path = HOME / args.file
    if not path.exists():
        raise FabricstudyError(f"{path}: there is no such file; name one such as profiles/slurm", "no-such-file")
    return {"path": str(path)}


def show_place(place: dict[str, str]) -> None:
    """Print the path alone, for use in other commands."""
    print(Path(place["path"]))
