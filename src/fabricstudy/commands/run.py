"""``fabricstudy run``: plain Snakemake, with the workflow named for it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from fabricstudy.home import SNAKEFILE

_CONFIG = ("--config", "-C")


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
