"""Machine definitions as files for others to read: links, nodes and routers as Parquet, what all share as JSON.

Each Parquet file has one row group a machine, so that one of many is read without the others. `Machine` says what the
columns are; bandwidths and latencies stand beside each link, too, where the JSON file has them by class.
"""

from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_path, atomic_text
from fabricstudy.core.parquet import CHECKED, FORMAT, read_parquet
from fabricstudy.core.store import checksummed_line, verified_record

from .dimension import Dimension
from .graph import LinkClass, Machine
from .named import NAMES, NamedMachine

LINKS, NODES, ROUTERS, MACHINES = FILES = ("links.parquet", "nodes.parquet", "routers.parquet", "machines.json")


def write_machines(machines: Iterable[tuple[str, dict[str, Any], Machine]], folder: Path) -> None:
    """Write the definitions of machines.

    Parameters
    ----------
    machines : iterable of (id, parameters, machine)
        The parameters are those of the topology, as plain values.
    folder : Path
        Gets the files `FILES`.
    """
    facts = {}
    with (
        atomic_path(folder / LINKS) as links,
        atomic_path(folder / NODES) as nodes,
        atomic_path(folder / ROUTERS) as routers,
        pq.ParquetWriter(links, _LINKS.with_metadata(FORMAT), **CHECKED) as link_rows,
        pq.ParquetWriter(nodes, _NODES.with_metadata(FORMAT), **CHECKED) as node_rows,
        pq.ParquetWriter(routers, _ROUTERS.with_metadata(FORMAT), **CHECKED) as router_rows,
    ):
        for machine_id, parameters, machine in machines:
            facts[machine_id] = {"parameters": parameters, **_facts(machine)}
            for writer, columns in (
                (link_rows, _links(machine)),
                (node_rows, _nodes(machine)),
                (router_rows, _routers(machine)),
            ):
                rows = len(next(iter(columns.values())))
                schema = writer.schema
                table = pa.table({"machine_id": pa.repeat(machine_id, rows), **columns}, schema=schema)
                writer.write_table(table, row_group_size=max(rows, 1))
        with atomic_text(folder / MACHINES) as out:
            out.write(checksummed_line(facts))


_LINKS = pa.schema(
    {
        "machine_id": pa.string(), "tail": pa.int32(), "head": pa.int32(), "class": pa.string(), "cables": pa.int32(),
        "bandwidth_Bps": pa.float64(), "latency_ns": pa.float64(),
    }
)  # fmt: skip
"""One row a pair of routers and class: a link each way, with the capacity of all its cables together."""

_NODES = pa.schema({"machine_id": pa.string(), "node": pa.int32(), "router": pa.int32(), "name": pa.string()})

_ROUTERS = pa.schema(
    {
        "machine_id": pa.string(), "router": pa.int32(), "name": pa.string(), "group": pa.int32(), "level": pa.int32(),
        "coordinates": pa.list_(pa.int32()),
    }
)  # fmt: skip


def _links(machine: Machine) -> dict[str, Any]:
    classes = [machine.classes[number] for number in machine.cable_class]
    return {
        "tail": machine.cable_tail,
        "head": machine.cable_head,
        "class": [one.name for one in classes],
        "cables": machine.cable_count,
        "bandwidth_Bps": machine.link_capacity_Bps[::2],
        "latency_ns": [one.latency_ns for one in classes],
    }


def _nodes(machine: Machine) -> dict[str, Any]:
    names = machine.node_names if isinstance(machine, NamedMachine) else [None] * machine.nodes
    return {"node": np.arange(machine.nodes), "router": machine.node_router, "name": list(names)}


def _routers(machine: Machine) -> dict[str, Any]:
    nothing = [None] * machine.routers
    coordinates = machine.coordinates
    return {
        "router": np.arange(machine.routers),
        "name": list(machine.router_names) if isinstance(machine, NamedMachine) else nothing,
        "group": nothing if machine.group is None else machine.group,
        "level": nothing if machine.level is None else machine.level,
        "coordinates": nothing if coordinates is None else coordinates.tolist(),
    }


def _facts(machine: Machine) -> dict[str, Any]:
    names = {name: getattr(machine, name) for name in NAMES} if isinstance(machine, NamedMachine) else {}
    return {
        "kind": machine.kind,
        "routers": machine.routers,
        "cores_per_node": machine.cores_per_node,
        "classes": [asdict(one) for one in machine.classes],
        "host": asdict(machine.host),
        "hop_weight": machine.hop_weight,
        "dimensions": [asdict(one) for one in machine.dimensions],
        "names": names,
    }


@lru_cache(maxsize=1)
def read_machine(folders: tuple[Path, ...], machine_id: str) -> Machine:
    """Return a machine from one of the folders that `write_machines` wrote; the last one is kept in memory.

    Raises
    ------
    FabricstudyError
        If it is in none of them, or one was damaged.
    """
    for folder in folders:
        definitions = verified_record((folder / MACHINES).read_bytes())
        if definitions is None:
            problem = f"{folder / MACHINES}: damaged; remove it and run the same command again"
            raise FabricstudyError(problem, "results-damaged")
        if machine_id in definitions:
            return _read(folder, machine_id, definitions[machine_id])
    raise FabricstudyError(f"no machine {machine_id}; run the same command again", "results-damaged")


def _read(folder: Path, machine_id: str, facts: dict[str, Any]) -> Machine:
    classes = tuple(LinkClass(**one) for one in facts["classes"])
    number = {one.name: index for index, one in enumerate(classes)}
    links, nodes, routers = (
        read_parquet(folder / name, [("machine_id", "=", machine_id)]) for name in (LINKS, NODES, ROUTERS)
    )
    optional = {name: routers[name] for name in ("group", "level", "coordinates") if not routers[name].null_count}
    arrays: dict[str, Any] = {
        "node_router": nodes["router"],
        "cable_tail": links["tail"],
        "cable_head": links["head"],
        "cable_class": [number[name] for name in links["class"].to_pylist()],
        "cable_count": links["cables"],
        **{name: column.to_pylist() if name == "coordinates" else column for name, column in optional.items()},
    }
    fields: dict[str, Any] = {
        "kind": facts["kind"],
        "routers": facts["routers"],
        "cores_per_node": facts["cores_per_node"],
        "classes": classes,
        "host": LinkClass(**facts["host"]),
        "hop_weight": tuple(facts["hop_weight"]),
        "dimensions": tuple(Dimension(**one) for one in facts["dimensions"]),
        **{name: np.array(array, dtype=np.int32) for name, array in arrays.items()},
    }
    if not facts["names"]:
        return Machine(**fields)
    for name, value in facts["names"].items():
        fields[name] = tuple(value) if isinstance(value, list) else value
    return NamedMachine(**fields)
