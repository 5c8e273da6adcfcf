"""``fabricstudy where``: the path of a bundled file, such as the workflow."""

import argparse
from pathlib import Path

from fabricstudy.core.bundled_files import HOME, SNAKEFILE
from fabricstudy.core.errors import FabricstudyError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is looked for."""
    parser.add_argument("file", nargs="?", default=SNAKEFILE.name, help="such as profiles/slurm (default: Snakefile)")


def find_resource(args: argparse.Namespace) -> dict[str, str]:
    """Return the path of the workflow, or of another bundled file."""
    path = HOME / args.file
    if not path.exists():
        raise FabricstudyError(f"{path}: there is no such file; name one such as profiles/slurm", "file-not-found")
    return {"path": str(path)}


def show_path(place: dict[str, str]) -> None:
    """Print the path alone, for use in other commands."""
    print(Path(place["path"]))
