"""Shared parts of commands: studies, points, machines, the folder of results, progress, and checks of arguments."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricstudy.core.errors import ConfigError, FabricstudyError, suggestion
from fabricstudy.core.extensions import load_extensions
from fabricstudy.core.kinds import extension_scope
from fabricstudy.engine.point import PlannedPoint
from fabricstudy.machine.base import Topology, published_machine
from fabricstudy.machine.fabric import included_files, is_fabric_file
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.study.file import load_machine, parse_yaml, study_files, validate_machine
from fabricstudy.workflow.pipeline import BATCH_CPU_S, Pipeline, bundled_studies, find_study, load_pipelines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MACHINE_HELP = "published machine, study, YAML file, fabric file, or mapping like '{kind: torus, ...}'"

# Functions import rich themselves: most commands show no table.
LINE_EACH_S = 10.0


def add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")


def add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="name of a bundled study, such as quick, or path to a study file")
    add_results(parser)


def add_extensions(parser: argparse.ArgumentParser) -> None:
    words = "Python file with further kinds; may be repeated"
    parser.add_argument("--extensions", action="append", default=[], metavar="FILE", help=words)


def with_extensions(command: Callable[[argparse.Namespace], Any]) -> Callable[[argparse.Namespace], Any]:
    """Return a command that knows the kinds of its argument --extensions."""

    @wraps(command)
    def run(args: argparse.Namespace) -> Any:
        if not args.extensions:
            return command(args)
        with extension_scope(load_extensions(args.extensions, Path(), anywhere=True)):
            return command(args)

    return run


def load_pipeline(study: str, batch_cpu_s: float = BATCH_CPU_S) -> Pipeline:
    if "," in study and not Path(study).is_file():
        raise FabricstudyError(f"{study}: several studies; give one, and call again for each", "invalid-value")
    with progress_spinner(f"planning {study}"):
        (pipeline,) = load_pipelines(study, batch_cpu_s=batch_cpu_s).values()
        return pipeline


def planned_point(study: str, point_id: str) -> PlannedPoint:
    """Return a point of a study. Raises FabricstudyError if there is none of this id."""
    planned = load_pipeline(study).plan.points.get(point_id)
    if planned is None:
        problem = f"{point_id}: no such point in {study}; the table points of the study lists its points"
        raise FabricstudyError(problem, "unknown-name")
    return planned


@contextmanager
def progress_spinner(words: str) -> Iterator[Callable[[str], None]]:
    """Show that a command is working; yield a function that shows its progress.

    Progress is shown in a terminal next to `words`, elsewhere as a line on standard error every ten seconds.
    """
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(words) as status:
            yield lambda progress: status.update(f"{words}; {progress}")
        return
    shown_s = time.monotonic()

    def show(progress: str) -> None:
        nonlocal shown_s
        if time.monotonic() >= shown_s + LINE_EACH_S:
            shown_s = time.monotonic()
            print(f"{words}; {progress}", file=sys.stderr, flush=True)

    yield show


def parse_whole_number(text: str, least: int = 0) -> int:
    """Parse an argument that is a whole number of at most 62 bits."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= 2**62):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {2**62}")
    return int(text)


parse_positive = partial(parse_whole_number, least=1)


def check_output_path(written: Path | None, *read: Path | str | None) -> None:
    """Refuse to write a file that is also read, or one in a missing folder; None is not written."""
    if written is None:
        return
    if written.is_dir() or not written.parent.is_dir():
        raise FabricstudyError(f"{written}: cannot be written; name a file in an existing folder", "file-unreadable")
    for path in read:
        if path is not None and written.exists() and Path(path).exists() and written.samefile(path):
            raise FabricstudyError(f"{written}: is also read; name another file to write to", "invalid-value")


def add_new_file(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--out", type=Path, required=True, help=words)
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def check_new_file(args: argparse.Namespace, suffixes: Iterable[str], read: Sequence[Path] = ()) -> None:
    """Refuse to write to the argument --out if its format is unknown, or it exists and --force is not given."""
    check_format(args.out, suffixes)
    check_output_path(args.out, *read)
    if args.out.exists() and not args.force:
        problem = f"{args.out}: the file exists; add --force to overwrite it, or use another name"
        raise FabricstudyError(problem, "invalid-value")


def check_format(file: Path | None, suffixes: Iterable[str]) -> None:
    """Refuse to write a file of another suffix; None is not written."""
    if file is not None and file.suffix not in suffixes:
        raise FabricstudyError(f"{file}: no such format; write one of {', '.join(suffixes)}", "unsupported-format")


def table_console(columns: int) -> Console:
    """Return a console for tables: as wide as the terminal, or of `columns` where output is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else columns, highlight=False)


def text_table(*names: str, left: int = 1) -> Table:
    """Return a table for a terminal with `left` columns of text, followed by columns of numbers."""
    from rich.table import Column, Table

    columns = (Column(name, justify="left" if number < left else "right") for number, name in enumerate(names))
    return Table(*columns, box=None)


def results_folder(args: argparse.Namespace) -> Path:
    """Return the folder of results, which may be missing."""
    folder: Path = args.results
    if folder.exists() and not folder.is_dir():
        raise FabricstudyError(f"{folder}: not a folder; name the folder `results` of a run", "file-unreadable")
    return folder


def load_named_machine(source: str) -> Topology:
    """Return the machine that a command names: published, of a study or fabric file, or a mapping as in a study."""
    if source in INSTANCES:
        return published_machine(source)
    if source.lstrip().startswith("{"):
        return validate_machine(parse_yaml(source))
    if source not in bundled_studies() and is_fabric_file(Path(source)):
        return validate_machine({"kind": "graph", "file": source})
    try:
        return load_machine(find_study(source))
    except ConfigError as error:
        if error.code != "file-not-found":
            raise
        problem = f"{source}: neither a published machine, a study, a .yaml file nor a file of a fabric"
        remedy = suggestion(source, [*bundled_studies(), *INSTANCES])
        raise FabricstudyError(f"{problem}; {remedy}", "unknown-name") from None


def machine_files(source: str | None) -> list[Path]:
    """Return the files of a machine that a command names, which the command must not overwrite."""
    if source and is_fabric_file(Path(source)):
        return [Path(source), *included_files(Path(source))]
    return study_files(Path(source)) if source and Path(source).suffix in (".yaml", ".yml") else []
