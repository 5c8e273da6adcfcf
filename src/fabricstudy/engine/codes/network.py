"""A topology in CODES: its model, the values of the model's keys, and the links of its ports."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing

from ..failures import Unsupported
from ..point import Point

UNLINKED = -1
"""Marks a port to a node, and an unused one."""


@dataclass(frozen=True, eq=False)
class PortCounters:
    """A model's output of the bytes that left each port of each router."""

    file: str
    """Name in the folder of CODES' outputs."""
    router: int
    """Column of the machine's number of a router."""
    columns: int
    """Numbers in a row before those of the ports."""
    link_of_port: Integers
    """Directed link from each port, or `UNLINKED`, [routers, ports]."""
    bits: int = 63
    """Bits of a number in the output; larger numbers appear modulo a power of two."""


@dataclass(frozen=True, eq=False)
class CodesNetwork:
    """A machine with its routing in a model of CODES."""

    terminal: str
    """CODES' name of nodes; ranks are attached to them in turn."""
    others: dict[str, int]
    """Further simulated objects (routers) of a repetition, by name."""
    repetitions: int
    terminals: int
    """Nodes of a repetition; nodes are numbered through."""
    methods: tuple[str, ...]
    """CODES' names of the models, nodes first."""
    packet: int
    """Bytes of a packet."""
    parameters: dict[str, object]
    """Keys of the model, and their values."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Further input files of the model, by name."""
    traffic: PortCounters | None = None
    """Output of the bytes on links, if any."""
    fixed_routes: bool = False
    """Whether all packets between two nodes follow one path, whatever the traffic."""
    whole_packets: bool = False
    """Whether messages must be multiples of the packet."""


@dataclass(frozen=True)
class CodesModel:
    """A topology model of CODES, and its properties that need no machine."""

    name: str
    """Name in the cost model."""
    network: Callable[[Point, Machine], CodesNetwork]
    """Translates a machine and its routing; raises `Unsupported` where the model lacks a feature."""
    burst_bytes: Callable[[Point], float] = lambda point: 0.0
    """Returns the bytes that a node injects at once, each packet an event; 0 if the model needs few events."""
    packet_bytes: Callable[[Point], int] = lambda point: int(point.network.packet_bytes)
    """Returns the size of packets, if it differs from that of the study."""
    job_links: Literal["hops", "alone"] | None = "alone"
    """How the links of each job are found: by the list of all hops of the dragonfly, or by running each job alone."""
    one_process: frozenset[type[Routing]] = frozenset()
    """Routings under which several processes give other times than one."""
    host_latency: bool = False
    """Whether the links of nodes have a latency; otherwise each router has that of a cable."""


def links_to(machine: Machine, router: Integers, neighbour: Integers) -> Integers:
    """Return the directed link from each router to the neighbour; `UNLINKED` where there is none, or it is negative."""
    key = machine.link_tail.astype(np.int64) * machine.routers + machine.link_head
    order = np.argsort(key)
    wanted = np.asarray(router, dtype=np.int64) * machine.routers + neighbour
    row = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    exists = (key[order][row] == wanted) & (np.asarray(neighbour) >= 0)
    return np.where(exists, order[row], UNLINKED)


def check_single_cables(counts: Integers, model: str, links: str) -> None:
    """Raise `Unsupported` if parallel cables join two routers."""
    if counts.max(initial=1) > 1:
        remedy = "set links_per_pair, pair_cables or links_per_local_pair to 1, or use another engine"
        raise Unsupported(f"CODES' {model} has one cable between {links}, not {counts.max()}; {remedy}")


def gib_per_s(bandwidth_Bps: float) -> float:
    """Return a bandwidth in the unit of all models but the fat tree's."""
    return bandwidth_Bps / 2**30


def bandwidths(machine: Machine, local_Bps: float) -> dict[str, float]:
    """Return the keys of models with groups; the last class of cables is the global one."""
    classes = {"local": local_Bps, "global": machine.classes[-1].bandwidth_Bps, "cn": machine.host.bandwidth_Bps}
    return {f"{name}_bandwidth": gib_per_s(bandwidth_Bps) for name, bandwidth_Bps in classes.items()}


def buffers(point: Point) -> dict[str, int]:
    """Return the keys of models with groups."""
    return {f"{name}_vc_size": int(point.network.buffer_bytes) for name in ("local", "global", "cn")}


def one_of(values: list[float], what: str, model: str, links: str = "links between routers") -> float:
    """Return the common value of all `values`; raise `Unsupported` if they differ."""
    if len(set(values)) > 1:
        raise Unsupported(f"CODES' {model} has one {what} for all {links}; give the same for all classes")
    return values[0]
