"""Machine definitions as files: links, nodes and routers as Parquet, parameters and link classes as JSON.

Each Parquet file has one row group per machine, so that one of many is read without the others. `Machine` documents the
columns; each link also has its bandwidth and latency, which the JSON file has by class.
"""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.core.parquet import numpy_array, read_parquet, rows_writer
from fabricstudy.core.store import checksummed_line, verified_record

from .dimension import Dimension
from .graph import NAME_FIELDS, LinkClass, Machine, NamedMachine

LINK_TABLE, NODES, ROUTERS, MACHINES = MACHINE_FILES = (
    "links.parquet",
    "nodes.parquet",
    "routers.parquet",
    "machines.json",
)


_LINKS = {
    "machine_id": "string", "tail": "int32", "head": "int32", "class": "string", "cables": "int32",
    "bandwidth_Bps": "double", "latency_ns": "double",
}  # fmt: skip
"""One row per pair of routers and class: a link each way, with the capacity of all its cables."""

_NODES = {"machine_id": "string", "node": "int32", "router": "int32", "name": "string"}

_ROUTERS = {
    "machine_id": "string", "router": "int32", "name": "string", "group": "int32", "level": "int32",
    "coordinates": "int32[]",
}  # fmt: skip


def write_machines(machines: Iterable[tuple[str, dict[str, Any], Machine]], folder: Path) -> None:
    """Write `MACHINE_FILES` into a folder, for machines given as (id, parameters of the topology, machine)."""
    facts = {}
    with (
        rows_writer(folder / LINK_TABLE, _LINKS) as write_links,
        rows_writer(folder / NODES, _NODES) as write_nodes,
        rows_writer(folder / ROUTERS, _ROUTERS) as write_routers,
    ):
        for machine_id, parameters, machine in machines:
            facts[machine_id] = {"parameters": parameters, **_facts(machine)}
            for write, columns in zip((write_links, write_nodes, write_routers), _columns(machine), strict=True):
                write({"machine_id": [machine_id] * len(next(iter(columns.values()))), **columns})
        with atomic_text(folder / MACHINES) as out:
            out.write(checksummed_line(facts))


def _columns(machine: Machine) -> tuple[dict[str, Any], ...]:
    """Return the columns of links, nodes and routers."""
    classes = [machine.classes[number] for number in machine.cable_class]
    empty = [None] * machine.routers
    named = machine if isinstance(machine, NamedMachine) else None
    return (
        {
            "tail": machine.cable_tail,
            "head": machine.cable_head,
            "class": [link.name for link in classes],
            "cables": machine.cable_count,
            "bandwidth_Bps": machine.link_capacity_Bps[::2],
            "latency_ns": [link.latency_ns for link in classes],
        },
        {
            "node": np.arange(machine.nodes),
            "router": machine.node_router,
            "name": list(named.node_names) if named else [None] * machine.nodes,
        },
        {
            "router": np.arange(machine.routers),
            "name": list(named.router_names) if named else empty,
            "group": empty if machine.group is None else machine.group,
            "level": empty if machine.level is None else machine.level,
            "coordinates": empty if machine.coordinates is None else machine.coordinates.tolist(),
        },
    )


def _facts(machine: Machine) -> dict[str, Any]:
    names = {name: getattr(machine, name) for name in NAME_FIELDS} if isinstance(machine, NamedMachine) else {}
    return {
        "kind": machine.kind,
        "routers": machine.routers,
        "cores_per_node": machine.cores_per_node,
        "classes": [asdict(link) for link in machine.classes],
        "host": asdict(machine.host),
        "hop_weight": machine.hop_weight,
        "router_in_node": machine.router_in_node,
        "dimensions": [asdict(dimension) for dimension in machine.dimensions],
        "names": names,
    }


def read_machine(folders: tuple[Path, ...], machine_id: str) -> Machine:
    """Return a machine from folders that `write_machines` wrote.

    Raises FabricstudyError if no folder has the machine, or a file is damaged.
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
    classes = tuple(LinkClass(**link) for link in facts["classes"])
    number = {link.name: index for index, link in enumerate(classes)}
    links, nodes, routers = (
        read_parquet(folder / name, {"machine_id": [machine_id]}) for name in (LINK_TABLE, NODES, ROUTERS)
    )
    arrays: dict[str, Any] = {
        "node_router": numpy_array(nodes["router"]),
        "cable_tail": numpy_array(links["tail"]),
        "cable_head": numpy_array(links["head"]),
        "cable_class": [number[name] for name in links["class"].to_pylist()],
        "cable_count": numpy_array(links["cables"]),
        **{name: numpy_array(routers[name]) for name in ("group", "level") if not routers[name].null_count},
    }
    if not routers["coordinates"].null_count:
        arrays["coordinates"] = routers["coordinates"].to_pylist()
    fields: dict[str, Any] = facts | {
        "classes": classes,
        "host": LinkClass(**facts["host"]),
        "hop_weight": tuple(facts["hop_weight"]),
        "dimensions": tuple(Dimension(**dimension) for dimension in facts["dimensions"]),
        **{name: np.array(array, dtype=np.int32) for name, array in arrays.items()},
    }
    names = fields.pop("names")
    del fields["parameters"]
    if not names:
        return Machine(**fields)
    fields |= {name: tuple(value) if isinstance(value, list) else value for name, value in names.items()}
    return NamedMachine(**fields)
