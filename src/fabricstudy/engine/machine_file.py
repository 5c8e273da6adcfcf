"""Files for the bundled programs: settings, and the machine with the routes that they do not implement."""

from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Ints
from fabricstudy.core.parquet import arrow_array
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import cached_routes
from fabricstudy.routing.ecmp import Ecmp
from fabricstudy.routing.listed import HopList, PathList
from fabricstudy.routing.ugal import Ugal

from .detours import via
from .listed_routes import listed
from .point import Point

FULL_WEIGHT = 2**30
"""Weight of all messages of a node in the file of destinations, and of all packets in lists of routes."""


Settings = dict[str, tuple[object, ...]]
"""Words of a file of settings, and their values."""


def write_settings(path: Path, settings: Settings) -> None:
    """Write the settings of packet or flow, a word a line."""
    path.write_text("".join(f"{word} {' '.join(map(str, values))}\n" for word, values in settings.items()))


def write_machine(path: Path, machine: Machine, point: Point) -> None:
    """Write the machine, and the routes that the programs do not implement."""
    given, ports = listed(point.routing, machine), point.network.ports_per_node
    cables = (machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count)
    with path.open("wb") as file:
        file.write(f"graph 1\nrouters {machine.routers}\nclasses {len(machine.classes)}\n".encode())
        # Nodes of the file are ports, those of a node one after the other.
        file.write(f"nodes {machine.nodes * ports}\n".encode())
        write_rows(file, np.repeat(machine.node_router, ports))
        file.write(f"cables {len(machine.cable_tail)}\n".encode())
        write_rows(file, *cables)
        if machine.dimensions:
            file.write(f"dimensions {len(machine.dimensions)}\n".encode())
            for dimension in machine.dimensions:
                file.write(f"{dimension.length} {int(dimension.wrap)} {dimension.gap or 0}\n".encode())
        if machine.level is not None:
            file.write(f"levels {machine.routers}\n".encode())
            write_rows(file, machine.level)
        by_groups = isinstance(point.routing, Ugal) or point.network.channel_scheme == "global-hops"
        if (via(point.routing) == "group" or by_groups) and machine.group is not None:
            file.write(f"groups {machine.routers}\n".encode())
            write_rows(file, machine.group)
        if isinstance(point.routing, Ecmp):
            file.write(f"{point.routing.per}_hash {point.routing.hash_seed}\n".encode())
        match given:
            case HopList():
                by_node = cached_routes(machine, point.routing).by_destination_node
                channel = np.zeros_like(given.link) if given.channel is None else given.channel
                file.write(f"{'node' if by_node else 'router'}_hops {len(given.link)}\n".encode())
                write_rows(file, given.router, given.goal, given.link, channel, weights(given.share))
            case PathList():
                file.write(f"paths {len(given.hops)}\n".encode())
                write_rows(file, given.source, given.goal, weights(given.share), given.hops)
                file.write(f"path_routers {len(given.router)}\n".encode())
                write_rows(file, given.router)


def weights(share: Floats) -> Ints:
    """Return shares as integers of `FULL_WEIGHT`."""
    return np.rint(share * FULL_WEIGHT).astype(np.int64)


def write_rows(file: Any, *columns: Array) -> None:
    """Write numbers, a row a line, with blanks between them."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table([arrow_array(column) for column in columns], names=[str(i) for i in range(len(columns))])
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))
