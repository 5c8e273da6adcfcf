"""``fabricstudy machine partitions``: geometries and bisections of the partitions of a grid machine."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.input_files import read_bytes, text_of
from fabricstudy.core.model import at_path
from fabricstudy.machine.base import Topology
from fabricstudy.machine.bluegene import BlueGenePConfig, BlueGeneQConfig
from fabricstudy.machine.grid import GridConfig
from fabricstudy.structure.partitions import Geometry, geometries_by_size, partition_space
from fabricstudy.structure.production import PRODUCTION
from fabricstudy.study.file import MAX_STUDY_BYTES, parse_yaml

from .common import MACHINE_HELP, load_named_machine, table_console

UNITS = (
    "Bisections are in links: the cables across the best flat cut into halves"
    " (2 N / L on a Blue Gene/Q of N nodes and longest dimension L)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        f"{UNITS} Sizes are building blocks: midplanes of a Blue Gene, otherwise routers. Partitions of a Blue Gene"
        " have the rings of the machine; those of other tori have a ring only in a dimension that they span."
    )
    parser.add_argument("source", metavar="MACHINE", help=MACHINE_HELP)
    parser.add_argument(
        "--allowed", type=Path, help="YAML list of the geometries in production, like 4x2x1x1 (default: published list)"
    )


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """List for each size of partition the production, best and worst geometry and their bisections."""
    machine = load_named_machine(args.source)
    if not isinstance(machine, GridConfig):
        kinds = ", ".join(kind for kind, member in Topology.FAMILY.members.items() if issubclass(member, GridConfig))
        raise FabricstudyError(f"a machine of kind {machine.kind} has no cuboids; use one of {kinds}")
    space = partition_space(machine)
    in_midplanes = isinstance(machine, BlueGeneQConfig | BlueGenePConfig)
    allowed = _allowed(args.allowed) if args.allowed else PRODUCTION.get(args.source)
    rows = []
    for size in geometries_by_size(space, allowed):
        geometries = {"production": size.production, "best": size.best, "worst": size.worst}
        row: dict[str, Any] = {"midplanes": size.blocks if in_midplanes else None, "nodes": size.nodes}
        row |= {name: geometry and list(geometry) for name, geometry in geometries.items()}
        for name, geometry in geometries.items():
            row[f"{name}_bisection"] = geometry and space.bisection_links(geometry)
        rows.append(row)
    return rows


def _geometry(text: str) -> Geometry:
    """Parse lengths.

    Examples
    --------
    >>> _geometry("4x3x2")
    (4, 3, 2)
    """
    if not re.fullmatch(r"[0-9]{1,6}(x[0-9]{1,6})*", text):
        raise FabricstudyError(f"{text}: not lengths; write them like 4x3x2")
    return tuple(map(int, text.split("x")))


def _allowed(path: Path) -> list[Sequence[int]]:
    with at_path(file=str(path)):
        listed = parse_yaml(text_of(read_bytes(path, MAX_STUDY_BYTES)))
    if isinstance(listed, str):  # lines without dashes
        listed = listed.split()
    if not isinstance(listed, list) or not listed:
        raise FabricstudyError(f"{path}: not a list of geometries; write lines like '- 4x2x1x1'")
    return [_entry(path, entry) for entry in listed]


def _entry(path: Path, entry: Any) -> Sequence[int]:
    if isinstance(entry, list) and entry and all(type(side) is int for side in entry):
        return entry
    if isinstance(entry, str | int):
        return _geometry(str(entry))
    raise FabricstudyError(f"{path}: {entry!r} is not a geometry; write it like 4x2x1x1 or [4, 2, 1, 1]")


def show(rows: list[dict[str, Any]]) -> None:
    midplanes, listed = rows[0]["midplanes"] is not None, any(row["production"] for row in rows)
    names = ("production", "best", "worst") if listed else ("best", "worst")
    table = Table(box=None)
    for head in (*["midplanes"] * midplanes, "nodes", *(x for name in names for x in (name, "links")), "gain"):
        table.add_column(head, justify="left" if head in names else "right")
    for row in rows:
        cells = [str(row["midplanes"])] if midplanes else []
        cells.append(str(row["nodes"]))
        for name in names:
            cells += ["x".join(map(str, row[name])), str(row[f"{name}_bisection"])]
        against = row[f"{'production' if listed else 'worst'}_bisection"]
        cells.append(f"{row['best_bisection'] / against:.2f}" if against else "–")
        table.add_row(*cells)
    console = table_console(140)
    console.print(table)
    console.print(f"\n{UNITS} Gain: of the best over {'production' if listed else 'the worst'}.")
