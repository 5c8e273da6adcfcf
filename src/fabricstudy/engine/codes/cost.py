"""What a point takes on CODES, from closed forms fitted to runs: processor time, and memory before it starts.

Fitted to runs with 50 to 8,448 nodes; the processor was not noted. Checked on two cores of a busy AMD EPYC with CODES
a5958cfa and all to all on 64 to 272 nodes, 2 to 16 s: built with ``-O1`` the processor time was 1.0 to 1.8 times the
predicted one (2.6 times where messages are only 10 kB), without optimisation 2.0 to 3.5 times. Memory was 0.8 to 1.0
times the predicted one.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from fabricstudy.engine.codes.settings import CodesSettings
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.grid import GridConfig
from fabricstudy.machine.slim_fly import SlimFlyConfig

from ..loads import loads_of
from ..point import Point
from .packet import LEAST_EVENTS_EACH, TORI, events_each

START_CPU_S, START_BYTES = 0.05, 35e6
CPU_S_OF_A_MESSAGE = 1.5e-5
# What listing all hops adds.
LISTED = 1.4
BYTES_OF_A_RANK, BYTES_OF_A_MESSAGE = 0.19e6, 1100.0
BYTES_OF_AN_EVENT = 1000.0
# A node of the torus takes all packets of its messages at once.
BYTES_OF_A_TORUS_PACKET = 230.0


class Node(NamedTuple):
    """What a node takes beside its ranks: memory, processor time, this for each other node, and for a packet's hop."""

    memory_bytes: float
    cpu_s: float
    cpu_s_with_each: float
    cpu_s_of_a_hop: float


NODES = {
    "dragonfly": Node(0.18e6, 3e-4, 2.8e-7, 3.9e-6),
    "torus": Node(0.07e6, 2e-4, 2.6e-7, 2.0e-6),
    "grid": Node(4.1e6, 2.5e-3, 0.0, 3.0e-6),
    "slim-fly": Node(1.1e6, 1.1e-3, 0.0, 3.9e-6),
    "fat-tree": Node(0.16e6, 4e-4, 0.0, 2.8e-6),
}
"""As measured with 50 to 8,448 nodes: express mesh and Slim Fly hold a large table for each node."""

OTHER = NODES["dragonfly"]
"""Of a topology that CODES has no model of: it is planned like any other, and refused before it is simulated."""


def predict_cpu_s(point: Point) -> float:
    """Predict the processor time of a point."""
    nodes, node = point.machine.nodes, NODES.get(_model(point), OTHER)
    loads = loads_of(point)
    messages = sum(load.messages for load in loads)
    hops = sum(load.messages * ceil(load.message_bytes / _packet(point)) for load in loads) * (1 + _mean_hops(point))
    once = START_CPU_S + nodes * (node.cpu_s + node.cpu_s_with_each * nodes)
    traffic = node.cpu_s_of_a_hop * hops + CPU_S_OF_A_MESSAGE * messages
    if len(loads) < 2 or not (isinstance(point.engine, CodesSettings) and point.engine.job_links):
        return once + traffic
    if point.machine.kind == "dragonfly":
        return once + LISTED * traffic
    alone = point.routing.kind in ("minimal", "dimension-order", "d-mod-k") and point.machine.kind not in TORI
    # Jobs that are run alone as well send as much again.
    return once * (1 + len(loads)) + 2 * traffic if alone else once + traffic


def predict_memory_bytes(point: Point) -> float:
    """Predict the memory of a point; nodes have places for as many ranks as the fullest has."""
    nodes, loads = point.machine.nodes, loads_of(point)
    if not loads:
        return 0.0
    ranks = max((job.ranks_per_node or point.machine.cores_per_node for job in point.jobs), default=1)
    messages = sum(load.messages for load in loads)
    packets = sum(load.messages * ceil(load.message_bytes / _packet(point)) for load in loads)
    objects = nodes * (1 + ranks) + point.machine.routers
    return (
        START_BYTES
        + objects * (events_each(point, _packet(point)) - LEAST_EVENTS_EACH) * BYTES_OF_AN_EVENT
        + nodes * (NODES.get(_model(point), OTHER).memory_bytes + ranks * BYTES_OF_A_RANK)
        + messages * BYTES_OF_A_MESSAGE
        + (packets * BYTES_OF_A_TORUS_PACKET if point.machine.kind in TORI else 0.0)
    )


def _model(point: Point) -> str:
    kind = point.machine.kind
    if kind in TORI:
        return "torus"
    return "grid" if isinstance(point.machine, GridConfig) else kind


def _packet(point: Point) -> int:
    return int(point.network.packet_bytes)


def _mean_hops(point: Point) -> float:
    """Hops between routers of a packet, about."""
    machine, detour = point.machine, 1.8 if point.routing.kind == "valiant" else 1.0
    if isinstance(machine, GridConfig):
        reach = [(along.length / (4 if along.wrap else 3), along.gap) for along in machine.grid]
        return sum(min(1.0 + (gap - 1) / 2, along) if gap else along for along, gap in reach)
    if isinstance(machine, FatTreeConfig):
        return 3.7
    if isinstance(machine, SlimFlyConfig):
        return 1.9 * detour
    return 2.4 * detour
