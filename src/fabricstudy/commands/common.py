"""What several commands need: the study that they are about, the folder of the stores, a sign of life."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.workflow.pipeline import BATCH_CPU_S, Pipeline, load_pipelines

LINE_EACH_S = 10.0


def add_results(parser: argparse.ArgumentParser) -> None:
    """Declare the folder of the stores."""
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the stores (default: results)")


def add_study(parser: argparse.ArgumentParser) -> None:
    """Declare a study and the folder of the stores."""
    parser.add_argument("study", help="name of a study that comes along, such as quick, or path to a study file")
    add_results(parser)


def load_pipeline(study: str, batch_cpu_s: float = BATCH_CPU_S) -> Pipeline:
    if "," in study and not Path(study).is_file():
        raise FabricstudyError(f"{study}: several studies; give one, and call again for each", "invalid-value")
    with progress_spinner(f"planning {study}"):
        (pipeline,) = load_pipelines(study, batch_cpu_s=batch_cpu_s).values()
        return pipeline


@contextmanager
def progress_spinner(words: str) -> Iterator[Callable[[str], None]]:
    """Show that something is going on; a study of 100,000 points takes its time.

    What it yields tells how far it is: beside the words in a terminal; elsewhere as a line on standard error every ten
    seconds.
    """
    console = Console(stderr=True)
    told_s = time.monotonic()
    with console.status(words) as status:

        def tell(how_far: str) -> None:
            nonlocal told_s
            if console.is_terminal:
                status.update(f"{words}; {how_far}")
            elif time.monotonic() >= told_s + LINE_EACH_S:
                told_s = time.monotonic()
                print(f"{words}; {how_far}", file=sys.stderr, flush=True)

        yield tell


def parse_whole_number(text: str, least: int = 0) -> int:
    """Read an argument that is a whole number, which 62 bits hold."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= 2**62):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {2**62}")
    return int(text)


def parse_positive(text: str) -> int:
    """Read an argument that is a whole number above 0."""
    return parse_whole_number(text, 1)


def check_output(written: Path | None, *read: Path | str | None) -> None:
    """Refuse to write a file that is read, however it is called, or where there is no folder; None is not written.

    Raises FabricstudyError with both names.
    """
    if written is None:
        return
    if written.is_dir() or not written.parent.is_dir():
        raise FabricstudyError(f"{written}: cannot be written; give a file in an existing folder", "file-unreadable")
    for path in read:
        if path is not None and written.exists() and Path(path).exists() and written.samefile(path):
            raise FabricstudyError(f"{written}: is read by this call; give another name to write to", "invalid-value")


def text_table(*names: str, left: int = 1) -> Table:
    """Return a table for a terminal, of which the first columns are text, and the others numbers."""
    return Table(*(Column(name, justify="left" if at < left else "right") for at, name in enumerate(names)), box=None)


def results_folder(args: argparse.Namespace) -> Path:
    """Return the folder of the stores, which need not be there yet."""
    folder: Path = args.results
    if folder.exists() and not folder.is_dir():
        raise FabricstudyError(f"{folder}: not a folder; give the folder `results` of a run", "file-unreadable")
    return folder
