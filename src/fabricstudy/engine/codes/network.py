"""What a topology becomes in CODES: its model, the values of that model's keys, and the ports' links."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing

from ..contract import Unsupported
from ..point import Point

IntArray = npt.NDArray[np.integer]

HOST = -1
"""Stands for a port that leads to a node, or nowhere."""


@dataclass(frozen=True, eq=False)
class PortCounters:
    """Where a model writes the bytes that left each port of each router.

    Parameters
    ----------
    file : str
        Name in the folder of CODES' outputs.
    router : callable
        Gives our number of a router for the numbers that stand before the ports' bytes, int array [rows, columns].
    columns : int
        How many numbers stand before them.
    link_of_port : int array [routers, ports]
        The directed link that a port feeds, or `HOST`.
    bits : int, optional
        Bits of a number as the model writes it; larger ones come out modulo a power of two.
    """

    file: str
    router: Callable[[IntArray], IntArray]
    columns: int
    link_of_port: IntArray
    bits: int = 63


@dataclass(frozen=True)
class HopList:
    """A list of the hops of all packets, as a model writes it if asked: numbers with commas, a hop a line.

    Parameters
    ----------
    key : str
        Key of the configuration that asks for it; its value is a folder.
    file : str
        Where it stands in that folder.
    columns : int
        Numbers of a line.
    router, port, source, packet : int
        Columns of the router, its port, the node that sent the packet, and the bytes of the packet.
    """

    key: str
    file: str
    columns: int
    router: int
    port: int
    source: int
    packet: int


@dataclass(frozen=True, eq=False)
class CodesNetwork:
    """A machine with its routing, in CODES' words.

    Parameters
    ----------
    terminal : str
        CODES' name of its nodes; ranks are attached to them in turn.
    others : dict of str to int
        Further simulated objects (routers) of a repetition, by name.
    repetitions, terminals : int
        How often the layout is repeated, and the nodes in one; nodes are numbered through.
    methods : tuple of str
        CODES' names of the models, nodes first.
    packet : int
        Bytes of a packet.
    parameters : dict
        Keys that this model reads, and their values.
    files : dict of str to bytes
        What the model reads beside them.
    traffic : PortCounters, optional
        Where it tells the bytes on links, if it does.
    fixed_routes : bool, optional
        Whether all packets between two nodes take one path, whatever else is under way.
    hops : HopList, optional
        How to get a list of the hops of all packets, if the model can write one.
    whole_packets : bool, optional
        Whether messages must be multiples of the packet.
    """

    terminal: str
    others: dict[str, int]
    repetitions: int
    terminals: int
    methods: tuple[str, ...]
    packet: int
    parameters: dict[str, object]
    files: dict[str, bytes] = field(default_factory=dict)
    traffic: PortCounters | None = None
    fixed_routes: bool = False
    hops: HopList | None = None
    whole_packets: bool = False


def _nothing(point: Point) -> float:
    return 0.0


def _as_in_the_study(point: Point) -> int:
    return int(point.network.packet_bytes)


@dataclass(frozen=True)
class CodesModel:
    """One of CODES' models of topologies, and what is known of it before a machine is built.

    Parameters
    ----------
    name : str
        Of the model, for the law of its cost.
    network : callable
        Translates a machine and its routing; raises `Unsupported` where the model lacks something.
    burst_bytes : callable, optional
        Gives what a node hands over at once, each packet an event; the others need few events, with any buffer.
    packet_bytes : callable, optional
        Gives the packets that are sent, where these are not those of the study.
    job_links : {"hops", "alone"}, optional
        How it tells the links that each job uses: by a list of all hops, or by running each job alone as well.
    one_process : frozenset of routing classes, optional
        Routings under which several processes find other times than one.
    """

    name: str
    network: Callable[[Point, Machine], CodesNetwork]
    burst_bytes: Callable[[Point], float] = _nothing
    packet_bytes: Callable[[Point], int] = _as_in_the_study
    job_links: Literal["hops", "alone"] | None = "alone"
    one_process: frozenset[type[Routing]] = frozenset()


def links_to(machine: Machine, router: IntArray, neighbour: IntArray) -> IntArray:
    """Return the directed link from each router to the neighbour; `HOST` where there is none.

    Parameters
    ----------
    router, neighbour : int arrays of one shape
        A neighbour below 0 is none.
    """
    key = machine.link_tail.astype(np.int64) * machine.routers + machine.link_head
    order = np.argsort(key)
    wanted = np.asarray(router, dtype=np.int64) * machine.routers + neighbour
    at = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    there = (key[order][at] == wanted) & (np.asarray(neighbour) >= 0)
    return np.where(there, order[at], HOST)


GIBI = float(1 << 30)


def gib_per_s(bandwidth_Bps: float) -> float:
    """Return a bandwidth in the unit of all models but the fat tree's."""
    return bandwidth_Bps / GIBI


def one_of(values: list[float], what: str, model: str, links: str = "links between routers") -> float:
    """Return the value that all `values` have.

    Raises
    ------
    Unsupported
        If they differ.
    """
    if len(set(values)) > 1:
        raise Unsupported(f"CODES' {model} has one {what} for all {links}; give the same for all classes")
    return values[0]
