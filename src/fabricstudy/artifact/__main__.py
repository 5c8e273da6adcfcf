"""``python -m fabricstudy.artifact pack|check``: write the artifact of a study, or check an unpacked one."""

import argparse
import sys
from pathlib import Path

from fabricstudy.core.checkout import checkout
from fabricstudy.core.errors import exit_code_of

from .checksums import check
from .completed_study import load_completed_study
from .pack import pack


def pack_study(args: argparse.Namespace) -> None:
    """Pack a study that ran in this folder, with the code that ran it."""
    shards = (args.shards, args.structures, args.analyses, args.schedules)
    pack(load_completed_study(args.study, args.plan.parents[1], *shards), checkout(), args.out)


def check_folder(args: argparse.Namespace) -> None:
    """Verify the files of an unpacked artifact."""
    print(f"{args.folder}: {check(args.folder)} files are as they were packed")


def main(arguments: list[str] | None = None) -> None:
    """Write the artifact of a study, or check an unpacked one."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.artifact", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    packing = commands.add_parser("pack", help=pack_study.__doc__, description=pack_study.__doc__)
    packing.set_defaults(work=pack_study)
    packing.add_argument("--study", type=Path, required=True, help="the study file")
    packing.add_argument("--plan", type=Path, required=True, help="folder of the plan, results/STUDY")
    packing.add_argument("--shards", type=Path, nargs="*", default=[], help="records of points, JSON lines")
    packing.add_argument("--structures", type=Path, nargs="*", default=[], help="structures of machines, JSON lines")
    packing.add_argument("--analyses", type=Path, nargs="*", default=[], help="rows of analyses, JSON lines")
    packing.add_argument("--schedules", type=Path, nargs="*", default=[], help="records of runs, JSON lines")
    packing.add_argument("--out", type=Path, required=True, help="the archive, such as artifact/quick.tar.gz")
    checking = commands.add_parser("check", help=check_folder.__doc__, description=check_folder.__doc__)
    checking.set_defaults(work=check_folder)
    checking.add_argument("folder", type=Path, help="the unpacked artifact")
    args = parser.parse_args(arguments)
    args.work(args)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
