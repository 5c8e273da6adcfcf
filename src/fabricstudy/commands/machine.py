"""``fabricstudy machine``: the figures that describe machines."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from fabricstudy.columns import SIZES_OF_MACHINE
from fabricstudy.engine.point import machine_id
from fabricstudy.errors import FabricstudyError, StudyError, suggestion
from fabricstudy.machine.base import Topology, published
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.pipeline import studies, study_file
from fabricstudy.structure.summary import structure
from fabricstudy.study.file import is_machine, load_machine, parse_yaml, read_machine
from fabricstudy.words import several

from .common import pipeline_of, sign_of_life


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    source = "study, YAML file with one machine, published machine, like mira, or mapping, like '{kind: torus, ...}'"
    parser.add_argument("source", metavar="FILE-or-STUDY", help=source)
    parser.add_argument("--all", action="store_true", help="all distinct machines of a study, not only its base")


def describe_machines(args: argparse.Namespace) -> Any:
    """Describe a machine: nodes, routers, cables, radix, diameter, mean hops, bisection."""
    configs = _machines(args.source, args.all)
    with sign_of_life(f"analysing {several(len(configs), 'machine')}"):
        figures = [{"machine_id": machine_id(config)} | structure(config.build()).to_json() for config in configs]
    if args.all:
        return figures
    distinct = _distinct(args.source)
    if distinct > 1:
        print(f"the machine as the study writes it, of {distinct} that it builds: --all lists them", file=sys.stderr)
    return figures[0]


def _distinct(source: str) -> int:
    """Count the machines of a study; what is none has one machine."""
    if source in INSTANCES or source.lstrip().startswith("{") or is_machine(study_file(source)):
        return 1
    return len(pipeline_of(source).plan.machines)


def _machines(source: str, every: bool) -> list[Topology]:
    return list(pipeline_of(source).plan.machines.values()) if every else [one_machine(source)]


def one_machine(source: str) -> Topology:
    """Give the machine that a command names: a published one, that of a file or study, or a mapping as in a study."""
    if source in INSTANCES:
        return published(source)
    if source.lstrip().startswith("{"):
        return read_machine(parse_yaml(source))
    try:
        return load_machine(study_file(source))
    except StudyError as error:
        if error.code != "no-such-study":
            raise
        known = suggestion(source, [*studies(), *INSTANCES])
        raise FabricstudyError(
            f"{source}: neither a study, a published machine nor a .yaml file; {known}", "no-such-machine"
        ) from None


def show_machines(figures: Any) -> None:
    """Print the result of `describe_machines`."""
    table = Table(box=None)
    names = ("machine_id", "kind", *SIZES_OF_MACHINE, "bisection (GB/s)", "method")
    for name in names:
        table.add_column(name, justify="left" if name in ("machine_id", "kind", "method") else "right")
    for machine in figures if isinstance(figures, list) else [figures]:
        cut = machine["bisection"]
        low, high = cut["lower_Bps"] / 1e9, cut["upper_Bps"] / 1e9
        interval = f"{high:g}" if cut["exact"] else f"{low:.4g} to {high:.4g}"
        cells = [str(machine[name]) for name in names[:7]]
        table.add_row(*cells, f"{machine['mean_hops']:.3f}", interval, cut["method"])
    Console(width=160 if not sys.stdout.isatty() else None).print(table)
