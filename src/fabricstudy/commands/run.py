"""``fabricstudy run``: Snakemake with the bundled workflow, on all cores by default."""

import argparse
import os
import sys
import time

from fabricstudy.core.bundled_files import SNAKEFILE
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.study.file import load_study
from fabricstudy.workflow.jobs import read_jobs
from fabricstudy.workflow.pipeline import find_study
from fabricstudy.workflow.snakefile import REPORTS, RESULTS, summary_lines

_WHERE = ("--cores", "-c", "--jobs", "-j", "--profile", "--workflow-profile", "--executor", "-e")
"""Flags for the number of concurrent jobs, and for where they run."""
_WORDS_OF_SNAKEMAKE = {
    "-v", "--verbose", "--logger", "-n", "--dry-run", "--dryrun", "-p", "--printshellcmds", "-q", "--quiet",
}  # fmt: skip
"""Flags with which Snakemake's own words are shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="name of a bundled study, or path to a study file; several with commas")
    words = "passed on to Snakemake, such as --cores 4 (default: all cores)"
    parser.add_argument("flags", nargs=argparse.REMAINDER, metavar="...", help=words)


def run(args: argparse.Namespace) -> None:
    """Run a study with Snakemake; results and reports are written below the working directory."""
    for folder in (RESULTS, REPORTS):
        if folder.exists() and not folder.is_dir():
            raise FabricstudyError(f"{folder}: not a folder; rename it, or work in another folder", "file-unreadable")
    if "--here" in args.flags:
        print("--here has no effect: a small study is one job of Snakemake without it; leave it out", file=sys.stderr)
    # Snakemake would report a mistake as one of the workflow.
    studies = [load_study(find_study(name.strip())).study for name in args.study.split(",")]
    flags = [flag for flag in args.flags if flag != "--here"]
    if not {flag.partition("=")[0] for flag in flags} & _WORDS_OF_SNAKEMAKE and not args.verbose:
        known = {name: jobs for name in studies if (jobs := read_jobs(RESULTS / name))}
        words = "\n".join(summary_lines(known, time.time()))
        flags += ["--logger", "fabricstudy", "--logger-fabricstudy-reports", words]
        flags += ["--logger-fabricstudy-studies", ",".join(studies)]
    flags = [flag for flag in flags if flag != "-v"]  # Snakemake's version
    command = [
        sys.executable,
        "-P",
        "-m",
        "fabricstudy.workflow.launch",
        ",".join(studies),
        *snakemake_arguments(args.study, flags),
    ]
    os.execv(command[0], command)


def snakemake_arguments(study: str, flags: list[str]) -> list[str]:
    """Return the flags with workflow and study, and one ``--config``, since Snakemake ignores all but the last one.

    Examples
    --------
    >>> snakemake_arguments("quick", ["--cores", "4"])[2:]
    ['--cores', '4', '--config', 'study=quick']
    >>> snakemake_arguments("quick", ["--config=batch_cpu_s=600", "-c4", "-C", "a=1"])[2:]
    ['-c4', '--config', 'study=quick', 'batch_cpu_s=600', 'a=1']
    >>> snakemake_arguments("quick", ["--dry-run"])[2:]
    ['--cores', 'all', '--dry-run', '--config', 'study=quick']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[])
    parsed, flags = parser.parse_known_args(flags)
    for entry in parsed.config:
        if entry.startswith("study="):
            raise FabricstudyError(f"{entry}: the study is already named, {study}; name it once", "usage")
    if not any(flag.partition("=")[0].rstrip("0123456789") in _WHERE for flag in flags):
        flags = ["--cores", "all", *flags]
    return ["--snakefile", str(SNAKEFILE), *flags, "--config", f"study={study}", *parsed.config]
