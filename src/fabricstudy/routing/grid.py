"""Routes on grids by tables of steps in one dimension, over current and goal coordinate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Int32s, Ints
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine

from .base import MemorylessRoutes

NO_STEP = -1


class Steps(NamedTuple):
    """One step from each coordinate (row) to each goal (column), arrays [length, length].

    `to` is the next coordinate or `NO_STEP`, `share` the share of packets, `channel` the virtual channel.
    """

    to: Ints
    share: Floats
    channel: Ints


def dimension_order_steps(dimension: Dimension, tie: str) -> list[Steps]:
    """Return the steps of dimension order; see `dimension_order` for the rules.

    Examples
    --------
    >>> dimension_order_steps(Dimension(6, gap=2), "split")[0].to[0]
    array([-1,  1,  1,  3,  3,  5])
    """
    if dimension.wrap:
        return _around(dimension.length, tie)
    at, goal = np.indices((dimension.length, dimension.length))
    hop = dimension.longest_span(np.abs(goal - at))
    return [_steps(at + np.sign(goal - at) * hop, at != goal)]


def adaptive_steps(dimension: Dimension) -> list[Steps]:
    """Return the candidates of adaptive routing: dimension order with both ways at a tie, and short express hops.

    Examples
    --------
    >>> [steps.to[0].tolist() for steps in adaptive_steps(Dimension(6, gap=2))]
    [[-1, 1, 1, 3, 3, 5], [-1, -1, -1, -1, 1, -1]]
    """
    steps = dimension_order_steps(dimension, "split")
    if dimension.gap is not None and dimension.gap > 1:
        at, goal = np.indices((dimension.length, dimension.length))
        short = at + np.sign(goal - at)
        direct = steps[0].to == goal
        new = (at != goal) & ~direct & (short != steps[0].to)
        steps.append(_steps(short, new))
    return steps


class GridRoutes(MemorylessRoutes):
    """Base class of routes whose next hops are the `steps` of dimensions."""

    def __init__(self, machine: Machine, steps: Callable[[Dimension], list[Steps]]) -> None:
        super().__init__(machine)
        if machine.coordinates is None or not machine.dimensions:
            raise ValueError(f"a grid routing needs a machine with dimensions, not {machine.kind}")
        self._coordinates = machine.coordinates.T.astype(np.int64)
        self._links = link_tables(machine)
        self._steps = list(map(steps, machine.dimensions))

    def hops(self, at: Ints, goal: Ints, first_only: bool) -> tuple[Ints, Ints, Floats, Ints]:
        """Return the columns of `NextHops` for the steps in all unfinished dimensions, or only in the first one."""
        hops: list[tuple[Ints, ...]] = []
        packet = np.arange(len(at))
        for coordinate, links, ways in zip(self._coordinates, self._links, self._steps, strict=True):
            here, there = coordinate[at[packet]], coordinate[goal[packet]]
            for steps in ways:
                to = steps.to[here, there]
                taken = to >= 0
                pair, moving = (here[taken], there[taken]), packet[taken]
                hops.append(
                    (moving, links[at[moving], to[taken]].astype(np.int64), steps.share[pair], steps.channel[pair])
                )
            if first_only:
                packet = packet[here == there]
        moving, link, share, channel = (np.concatenate(column) for column in zip(*hops, strict=True))
        return moving, link, share, channel


def link_tables(machine: Machine) -> list[Int32s]:
    """Return for each dimension the link [routers, length] from each router to each coordinate."""
    assert machine.coordinates is not None
    tail, head = machine.coordinates[machine.link_tail], machine.coordinates[machine.link_head]
    tables = []
    for k, dimension in enumerate(machine.dimensions):
        table = np.full((machine.routers, dimension.length), NO_STEP, dtype=np.int32)
        along = np.flatnonzero(tail[:, k] != head[:, k])
        table[machine.link_tail[along], head[along, k]] = along
        tables.append(table)
    return tables


def _around(length: int, tie: str) -> list[Steps]:
    """Return the steps in both directions of a ring; the channel changes after the wrap-around link."""
    at, goal = np.indices((length, length))
    up, down = (goal - at) % length, (at - goal) % length
    even = (up == down) & (up > 0)
    upwards = (up > 0) & (up < down) | even & ({"positive": True, "split": True, "alternate": at % 2 == 0}[tie])
    downwards = (down > 0) & (down < up) | even & ({"positive": False, "split": True, "alternate": at % 2 == 1}[tie])
    share = np.where(upwards & downwards, 0.5, 1.0)
    return [
        _steps((at + 1) % length, upwards, (at <= goal).astype(np.int64), share),
        _steps((at - 1) % length, downwards, (at >= goal).astype(np.int64), share),
    ]


def _steps(to: Ints, taken: Bools, channel: Ints | None = None, share: Floats | None = None) -> Steps:
    return Steps(
        np.where(taken, to, NO_STEP),
        np.ones(to.shape) if share is None else share,
        np.zeros(to.shape, dtype=np.int64) if channel is None else channel,
    )
