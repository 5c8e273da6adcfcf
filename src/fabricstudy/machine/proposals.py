"""Machines of every family that fit requirements, and their labels."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from fabricstudy.core.errors import FabricstudyError

from .base import Topology
from .requirements import MachineRequirements

MAX_PROPOSALS = 100_000
MOST_ROUTERS = 20_000
"""Routers of a machine; the hops between all of them need 0.8 GB of memory."""


def proposals(
    wanted: MachineRequirements, more: dict[str, Any], families: Collection[str] = ()
) -> Iterator[tuple[str, dict[str, Any], Topology]]:
    """Yield the label of each machine, its keys in a study and itself; of all families unless some are named.

    `more` are further keys of each machine, such as its bandwidth. Raises FabricstudyError if there are more than
    `MAX_PROPOSALS`, or one is too large.
    """
    count = 0
    for name, kind in Topology.FAMILY.members.items():
        if families and name not in families:
            continue
        assert issubclass(kind, Topology)
        for keys in kind.configurations(wanted):
            written = {"kind": name, **keys, **more}
            machine = kind.model_validate(written)
            if machine.routers > wanted.most_routers:
                continue
            if machine.routers > MOST_ROUTERS:
                problem = f"{label_of(name, keys)} has {machine.routers:,} routers, more than {MOST_ROUTERS:,}"
                remedy = "raise radix, or lower nodes or ports_per_node"
                raise FabricstudyError(f"{problem}; {remedy}", "out-of-range")
            count += 1
            if count > MAX_PROPOSALS:
                problem = f"more than {MAX_PROPOSALS:,} machines fit"
                raise FabricstudyError(f"{problem}; lower max_nodes or ports_per_node, or name fewer families")
            yield complete_graph(machine) or label_of(name, keys), written, machine


def complete_graph(config: Topology) -> str | None:
    """Return the label of a machine whose routers are all joined by equally many cables, else None.

    Examples
    --------
    >>> from fabricstudy.machine.grids import HyperXConfig
    >>> written = {"shape": [5], "nodes_per_router": 2, "links_per_pair": 3, "bandwidth": "1 GB/s"}
    >>> complete_graph(HyperXConfig.model_validate(written))
    'complete graph 5, n/r 2, l/p 3'
    """
    pairs = config.routers * (config.routers - 1) // 2
    if config.routers < 2 or config.cables < pairs or config.cables % pairs:
        return None
    machine = config.build()
    if len(machine.cable_count) != pairs or np.ptp(machine.cable_count) or np.ptp(machine.nodes_of_router):
        return None
    parallel = int(machine.cable_count[0])
    words = [
        f"complete graph {machine.routers}, n/r {machine.nodes_of_router[0]}",
        *[f"l/p {parallel}"] * (parallel > 1),
    ]
    return ", ".join(words)


def label_of(kind: str, written: dict[str, Any]) -> str:
    """Return a machine in a few words, without values that are the default; keys as in `abbreviation`.

    Examples
    --------
    >>> label_of("torus", {"shape": [4, 4, 8], "nodes_per_router": 16, "pair_cables": 1})
    'torus 4x4x8, n/r 16'
    """
    fields = Topology.FAMILY.members[kind].model_fields
    defaults = {field.alias or name: field.default for name, field in fields.items()}
    words = []
    for key, value in written.items():
        if key not in defaults or defaults[key] != value:
            text = "x".join(map(str, value)) if isinstance(value, list) else value
            words.append(text if key == "shape" else f"{abbreviation(key)} {text}")
    return f"{kind} {', '.join(words)}"


def abbreviation(key: str) -> str:
    """Return the initials of a key of the form x_per_y, and others as they are.

    Examples
    --------
    >>> [abbreviation(key) for key in ("nodes_per_router", "links_per_group_pair", "groups")]
    ['n/r', 'l/gp', 'groups']
    """
    parts = ("".join(word[0] for word in part.split("_")) for part in key.split("_per_"))
    return "/".join(parts) if "_per_" in key else key
