"""``fabricstudy list where``: the path of a bundled file, such as the workflow."""

import argparse

from fabricstudy.core.bundled_files import HOME, SNAKEFILE
from fabricstudy.core.errors import FabricstudyError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=SNAKEFILE.name, help="such as profiles/slurm (default: Snakefile)")


def run(args: argparse.Namespace) -> dict[str, str]:
    """Return the path of the workflow, or of another bundled file."""
    path = HOME / args.file
    if not path.exists():
        raise FabricstudyError(f"{path}: no such file; name one such as profiles/slurm", "file-not-found")
    return {"path": str(path)}


def show(result: dict[str, str]) -> None:
    print(result["path"])
