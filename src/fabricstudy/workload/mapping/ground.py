"""Tasks and seats in the form in which the compiled loops take them."""

from functools import cache

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.distances import adjacency
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.machine.hops import hops
from fabricstudy.routing.grid import dimension_order_steps, link_tables

from ..messages import WorkloadError
from . import kernels
from .kernels import Graph, Ground, Ways, nearest_with_seats
from .slots import Slots
from .tasks import TaskGraph

Ints = npt.NDArray[np.int64]


def plain(graph: TaskGraph) -> Graph:
    """Return the graph of the ranks as plain arrays."""
    return Graph(graph.first, graph.partner, graph.size_bytes, graph.sent_bytes)


def ground_of(slots: Slots) -> Ground:
    """Return the routers of the seats, and what is around them."""
    machine, router = slots.machine, slots.router_of_core
    links, table = adjacency(machine), hops(machine)
    seats = np.argsort(router, kind="stable")
    seats_first = np.searchsorted(router[seats], np.arange(machine.routers + 1)).astype(np.int64)
    near = nearest_with_seats(links.first, links.head, seats_first)
    joined = links.first, links.head
    of_hops = table.place, table.place[router], table.table, table.first, table.length
    return Ground(*of_hops, router, seats_first, seats, *joined, *near)


def tasks_of(seat: Ints) -> Ints:
    """Return the task of each seat."""
    task = np.empty_like(seat)
    task[seat] = np.arange(len(seat))
    return task


def ways_of(machine: Machine, tie: str) -> Ways:
    """Return the routes of dimension order on a grid, with all parallel cables of a link as one.

    Raises WorkloadError if the machine has no dimensions.
    """
    if machine.coordinates is None or not machine.dimensions:
        raise WorkloadError(f"link loads need a machine with dimensions, not {machine.kind}; take objective: hop-bytes")
    steps = [dimension_order_steps(dimension, tie) for dimension in machine.dimensions]
    to = [
        [ways[way % len(ways)].to.ravel() if way < len(ways) else np.full(ways[0].to.size, -1) for ways in steps]
        for way in (0, 1)
    ]
    share = [[ways[way % len(ways)].share.ravel() for ways in steps] for way in (0, 1)]
    links = link_tables(machine)
    first = np.concatenate([[0], np.cumsum([table.size for table in links])[:-1]]).astype(np.int64)
    return Ways(
        to=np.array([np.concatenate(way) for way in to], dtype=np.int64),
        share=np.array([np.concatenate(way) for way in share]),
        link_first=first,
        link=np.concatenate([table.ravel() for table in links]),
        head=machine.link_head,
        scale=1.0 / np.repeat(machine.cable_count, 2),
    )


@cache
def warm_up() -> None:
    """Run all loops once on two ranks; numba compiles them, or loads what it compiled before."""
    ends, link = np.arange(2, dtype=np.int32), LinkClass("x", 1.0, 1.0)
    cable, place = (ends[:1], ends[1:], ends[:1], ends[1:]), ends[:, None]
    machine = Machine("line", ends, *cable, (link,), link, routers=2, coordinates=place, dimensions=(Dimension(2),))
    slots, graph = Slots(machine, np.arange(2, dtype=np.int32), 1), TaskGraph.of_edges(ends[:1], ends[1:], ends[1:], 2)
    edges, ground, ways, seat = plain(graph), ground_of(slots), ways_of(machine, "split"), np.arange(2)
    task, tie = tasks_of(seat), np.zeros(2)
    kernels.hop_bytes(edges, ground, kernels.grow(edges, ground, 0, 0, tie, tie))
    kernels.exchange_near(edges, ground, seat, task, np.arange(2))
    kernels.exchange_all(edges, ground, seat, task, np.arange(2))
    kernels.near_changes(edges, ground, seat, task, 2, 1)
    kernels.anneal(edges, ground, seat, task, 2, 1.0, 0.1, 1)
    kernels.swap_loads(edges, ground, ways, seat, task, 2, 0.0, 0.0, 1)
