"""IBM PERCS against published counts, hand counts, brute force and networkx."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabricstudy.machine.graph import Machine
from fabricstudy.machine.percs import PercsConfig
from fabricstudy.structure.bisection import bisection_bounds

PUBLISHED = {"local": "24 GB/s", "remote": "5 GB/s", "global": "10 GB/s", "host": "24 GB/s"}
LOCAL, REMOTE, D = range(3)


def percs(supernodes: int, **more: Any) -> PercsConfig:
    return PercsConfig.model_validate({"supernodes": supernodes, "bandwidth": "1 GB/s"} | more)


def small(
    supernodes: int, drawers: int, hubs: int, links: int = 1, arrangement: str = "absolute", **more: Any
) -> PercsConfig:
    sizes = {"drawers_per_supernode": drawers, "hubs_per_drawer": hubs}
    return percs(supernodes, **sizes, links_per_supernode_pair=links, arrangement=arrangement, **more)


SMALL: list[tuple[Any, ...]] = [
    (1, 2, 3), (1, 1, 4), (2, 2, 2, 3), (3, 2, 2), (4, 3, 2, 4, "relative"),
    (5, 1, 3, 2, "circulant"), (6, 2, 1, 2),
]  # fmt: skip


def links_of_hubs(machine: Machine, kind: int) -> list[int]:
    """Return the links of a class of each router."""
    rows = machine.cable_class == kind
    ends = np.concatenate([machine.cable_tail[rows], machine.cable_head[rows]])
    count = np.bincount(ends, np.tile(machine.cable_count[rows], 2), machine.routers)
    return [int(links) for links in count]


def test_the_published_counts() -> None:
    """7 L-local, 24 L-remote and 16 D links a hub, 32 hubs a supernode (Arimilli et al., HOTI 2010).

    512 supernodes have 2,048 drawers and 524,288 cores (IBM Power Systems 775, SG24-8003, section 1.1).
    """
    config = percs(512, cores_per_node=32)
    machine = config.build()
    assert (config.group_nodes, config.nodes * config.cores_per_node) == (32, 524_288)
    assert config.supernodes * config.drawers_per_supernode == 2048
    assert set(links_of_hubs(machine, LOCAL)) == {7} and set(links_of_hubs(machine, REMOTE)) == {24}
    # 47 copper and optical links a hub (Rajamony et al., ICS 2013), and a node.
    assert machine.radix == 47 + 1
    # One supernode has 511 others, so one of its hubs has a D link less.
    assert links_of_hubs(machine, D) == ([16] * 31 + [15]) * 512


@pytest.mark.parametrize("shape", SMALL)
def test_d_links_per_hub(shape: tuple[Any, ...]) -> None:
    config = small(*shape)
    assert max(links_of_hubs(config.build(), D)) == config.d_links_per_hub


@pytest.mark.parametrize("shape", SMALL)
def test_drawers_supernodes_and_their_pairs(shape: tuple[Any, ...]) -> None:
    config = small(*shape)
    machine = config.build()
    hub = np.arange(machine.routers)
    drawer, supernode = hub // config.hubs_per_drawer, hub // config.group_nodes
    joined = np.zeros((3, machine.routers, machine.routers), dtype=int)
    np.add.at(joined, (machine.cable_class, machine.cable_tail, machine.cable_head), machine.cable_count)
    joined += joined.transpose(0, 2, 1)
    apart, together = hub[:, None] != hub, drawer[:, None] == drawer
    assert np.array_equal(joined[LOCAL], apart & together)
    assert np.array_equal(joined[REMOTE], ~together & (supernode[:, None] == supernode))
    between = np.zeros((config.supernodes, config.supernodes), dtype=int)
    np.add.at(between, (supernode[:, None], supernode), joined[D])
    expected = config.links_per_supernode_pair * (1 - np.eye(config.supernodes, dtype=int))
    assert np.array_equal(between, expected)


def test_bisection_of_a_supernode() -> None:
    """Two drawers against two: 16 x 16 L-remote links of 5 GB/s."""
    bounds = bisection_bounds(percs(1, bandwidth=PUBLISHED).build())
    assert bounds.exact and bounds.upper_Bps == 16 * 16 * 5e9
