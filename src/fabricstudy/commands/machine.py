"""``fabricstudy machine``: characteristics of machines."""

import argparse
import sys
from pathlib import Path
from typing import Any

from fabricstudy.core.columns import SIZES_OF_MACHINE
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.phrasing import count_noun
from fabricstudy.engine.point import machine_id
from fabricstudy.machine.base import Topology, published_machine
from fabricstudy.machine.fabric import is_fabric_file
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.structure.slow_cables import slow_cables
from fabricstudy.structure.summary import describe_machine
from fabricstudy.study.file import is_machine
from fabricstudy.workflow.pipeline import find_study

from .common import load_named_machine, load_pipeline, progress_spinner, table_console, text_table

_MOST_SLOW = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    source = (
        "study, YAML file with one machine, fabric file, published machine, like mira, or mapping, like "
        "'{kind: torus, ...}'; default: list the published machines"
    )
    parser.add_argument("source", metavar="FILE-or-STUDY", nargs="?", help=source)
    parser.add_argument("--all", action="store_true", help="all distinct machines of a study, not only its base")


def run(args: argparse.Namespace) -> Any:
    """Describe a machine: slow cables, nodes, routers, cables, radix, diameter, mean hops, bisection, link classes."""
    if args.source is None and args.all:
        raise FabricstudyError("--all without a study; name one", "usage")
    if args.source is None:
        return {"published": list(map(_published, INSTANCES))}
    configs = list(load_pipeline(args.source).plan.machines.values()) if args.all else [load_named_machine(args.source)]
    with progress_spinner(f"analysing {count_noun(len(configs), 'machine')}"):
        figures = [_figures(config) for config in configs]
    if args.all:
        return figures
    is_file = args.source not in INSTANCES and not args.source.lstrip().startswith("{")
    if is_file and not is_fabric_file(Path(args.source)) and not is_machine(find_study(args.source)):
        distinct = len(load_pipeline(args.source).plan.machines)
        words = f"the machine of the study without its sweep, one of {distinct}: --all lists them\n"
        sys.stderr.write(words * (distinct > 1))
    return figures[0]


def _published(name: str) -> dict[str, Any]:
    machine, instance = published_machine(name), INSTANCES[name]
    sizes = {size: getattr(machine, size) for size in ("nodes", "routers", "cables")}
    return {"name": name, "kind": machine.kind, **sizes, **vars(instance)}


def _figures(config: Topology) -> dict[str, Any]:
    machine = config.build()
    facts = describe_machine(machine).to_json()
    return {"machine_id": machine_id(config), **facts, "slow_cables": slow_cables(machine)}


def show(figures: Any) -> None:
    """Print the result of `run`: a list of names, or slow cables, then machines, then link classes."""
    console = table_console(160)
    if "published" in figures:
        listed = text_table("name", "kind", "nodes", left=2)
        listed.add_column("about")
        for machine in figures["published"]:
            listed.add_row(machine["name"], machine["kind"], f"{machine['nodes']:,}", machine["about"])
        return console.print(listed)
    machines = figures if isinstance(figures, list) else [figures]
    for machine in machines:
        slow_cables = machine["slow_cables"]
        for slow in slow_cables[:_MOST_SLOW]:
            speeds = f"{slow['bandwidth_Bps'] / 1e9:g} GB/s, its peers {slow['usual_bandwidth_Bps'] / 1e9:g} GB/s"
            ends = " to ".join(map(str, slow["routers"]))
            console.print(f"slow: {count_noun(slow['cables'], 'cable')} from {ends}: {slow['class']}, {speeds}")
        if len(slow_cables) > _MOST_SLOW:
            console.print(f"slow: {len(slow_cables) - _MOST_SLOW:,} more bundles; --json lists all")
    names = ("machine_id", "kind", *SIZES_OF_MACHINE, "bisection (GB/s)")
    table = text_table(*names, left=2)
    table.add_column("method")
    for machine in machines:
        cut = machine["bisection"]
        low, high = cut["lower_Bps"] / 1e9, cut["upper_Bps"] / 1e9
        interval = f"{high:g}" if cut["exact"] else f"{low:.4g} to {high:.4g}"
        cells = [str(machine[name]) for name in names[:7]]
        table.add_row(*cells, f"{machine['mean_hops']:.3f}", interval, cut["method"])
    console.print(table)
    if not isinstance(figures, list):
        classes = text_table("link class", "cables", "bandwidth (GB/s)", "latency (ns)")
        for link in figures["classes"]:
            quantities = (f"{link['bandwidth_Bps'] / 1e9:g}", f"{link['latency_ns']:g}")
            classes.add_row(link["name"], f"{link['cables']:,}", *quantities)
        console.print(classes)
