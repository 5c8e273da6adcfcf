"""Inputs of the compiled loops."""

from functools import cache

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.distances import adjacency
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.machine.hops import hop_distances
from fabricstudy.routing.grid import dimension_order_steps, link_tables

from ..messages import WorkloadError
from . import kernels
from .kernels import MappingState, RouteTable, SlotTopology, nearest_routers_with_slots
from .slots import Slots
from .tasks import TaskGraph


def slot_topology(slots: Slots) -> SlotTopology:
    """Return the routers of the seats, and their surroundings."""
    machine, router = slots.machine, slots.router_of_core
    links, table = adjacency(machine), hop_distances(machine)
    seats = np.argsort(router, kind="stable")
    seats_first = np.searchsorted(router[seats], np.arange(machine.routers + 1)).astype(np.int64)
    near = nearest_routers_with_slots(links.first, links.head, seats_first)
    distances = table.place, table.place[router], table.table, table.first, table.length
    return SlotTopology(*distances, router, seats_first, seats, links.first, links.head, *near)


def mapping_state(slots: Slots, graph: TaskGraph, seat: Ints) -> MappingState:
    """Return the state of a mapping, whose loops change `seat` in place."""
    return MappingState(graph, slot_topology(slots), seat, np.argsort(seat))


def route_table(machine: Machine, tie: str) -> RouteTable:
    """Return the dimension-order routes on a grid, with parallel cables merged into one link.

    Raises WorkloadError if the machine has no dimensions.
    """
    if machine.coordinates is None or not machine.dimensions:
        raise WorkloadError(f"link loads need a machine with dimensions, not {machine.kind}; use objective: hop-bytes")
    steps = [dimension_order_steps(dimension, tie) for dimension in machine.dimensions]
    to = [
        [ways[way % len(ways)].to.ravel() if way < len(ways) else np.full(ways[0].to.size, -1) for ways in steps]
        for way in (0, 1)
    ]
    share = [[ways[way % len(ways)].share.ravel() for ways in steps] for way in (0, 1)]
    links = link_tables(machine)
    first = np.concatenate([[0], np.cumsum([table.size for table in links])[:-1]]).astype(np.int64)
    return RouteTable(
        to=np.array([np.concatenate(way) for way in to], dtype=np.int64),
        share=np.array([np.concatenate(way) for way in share]),
        link_first=first,
        link=np.concatenate([table.ravel() for table in links]),
        head=machine.link_head,
        scale=1.0 / np.repeat(machine.cable_count, 2),
    )


@cache
def compile_kernels() -> None:
    """Run all loops once on two ranks, so that numba compiles or loads them."""
    ends, link = np.arange(2, dtype=np.int32), LinkClass("x", 1.0, 1.0)
    cable, place = (ends[:1], ends[1:], ends[:1], ends[1:]), ends[:, None]
    machine = Machine("line", ends, *cable, (link,), link, routers=2, coordinates=place, dimensions=(Dimension(2),))
    slots, graph = Slots(machine, np.arange(2, dtype=np.int32), 1), TaskGraph.of_edges(ends[:1], ends[1:], ends[1:], 2)
    state, tie = mapping_state(slots, graph, np.arange(2)), np.zeros(2)
    seat = kernels.grow(state.graph, state.topology, 0, 0, tie, tie)
    kernels.mapping_hop_bytes(state.graph, state.topology, seat)
    kernels.exchange_near(state, np.arange(2))
    kernels.exchange_all(state, np.arange(2))
    kernels.near_changes(state, 2, 1)
    kernels.anneal(state, 2, 1.0, 0.1, 1)
    kernels.anneal_link_load(state, route_table(machine, "split"), 2, 0.0, 0.0, 1)
