"""Dragonflies: who is joined to whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.machine.arrangement import ARRANGEMENTS
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.graph import Machine


def config(groups: int, routers_per_group: int, arrangement: str = "absolute", **more: Any) -> DragonflyConfig:
    description = {
        "groups": groups,
        "routers_per_group": routers_per_group,
        "nodes_per_router": 2,
        "arrangement": arrangement,
        "bandwidth": {"local": "1 GB/s", "global": "3 GB/s", "host": "2 GB/s"},
        "latency": {"local": "10 ns", "global": "100 ns", "host": "20 ns"},
    }
    return DragonflyConfig.model_validate(description | more)


@st.composite
def configs(draw: st.DrawFn) -> DragonflyConfig:
    groups, routers = draw(st.integers(2, 11)), draw(st.integers(1, 6))
    arrangement, links = draw(st.sampled_from(sorted(ARRANGEMENTS))), draw(st.integers(1, 6))
    local = draw(st.integers(1, 3))
    try:
        return config(groups, routers, arrangement, links_per_group_pair=links, links_per_local_pair=local)
    except ValidationError:
        assume(False)
        raise


def cables_between(machine: Machine, part: np.ndarray, kind: int) -> np.ndarray:
    """Cables of one class between parts of the machine, [parts, parts], each way."""
    parts = int(part.max()) + 1
    counted = np.zeros((parts, parts), dtype=int)
    rows = machine.cable_class == kind
    np.add.at(counted, (part[machine.cable_tail[rows]], part[machine.cable_head[rows]]), machine.cable_count[rows])
    return counted + counted.T


@given(configs())
def test_every_pair_of_groups_is_joined_as_often_as_stated(config: DragonflyConfig) -> None:
    machine = config.build()
    assert machine.group is not None
    expected = config.links_per_group_pair * (1 - np.eye(config.groups, dtype=int))
    assert np.array_equal(cables_between(machine, machine.group, kind=1), expected)


@given(configs())
def test_groups_are_complete_and_local_cables_stay_inside(config: DragonflyConfig) -> None:
    machine = config.build()
    routers = np.arange(machine.routers)
    assert machine.group is not None
    same_group = machine.group[:, None] == machine.group[None, :]
    expected = same_group & (routers[:, None] != routers[None, :])
    assert np.array_equal(cables_between(machine, routers, kind=0), expected * config.links_per_local_pair)


@given(configs())
def test_no_router_has_more_global_ports_than_planned_and_the_config_counts_right(config: DragonflyConfig) -> None:
    machine = config.build()
    global_ports = cables_between(machine, np.arange(machine.routers), kind=1).sum(axis=1)
    assert global_ports.max() <= config.global_ports_per_router
    assert (machine.routers, machine.nodes, machine.cables) == (config.routers, config.nodes, config.cables)


@given(configs())
def test_a_machine_is_the_same_each_time(config: DragonflyConfig) -> None:
    one, other = config.build(), config.build()
    for name in ("cable_tail", "cable_head", "cable_class", "cable_count", "node_router"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


SYMMETRIC = [(4, 2), (4, 4), (8, 2), (6, 3)]


@pytest.mark.parametrize("arrangement", sorted(ARRANGEMENTS))
@pytest.mark.parametrize(("a", "h"), SYMMETRIC)
def test_arrangements_are_symmetric_and_complete(a: int, h: int, arrangement: str) -> None:
    if arrangement == "circulant" and h % 2:
        with pytest.raises(ValidationError, match="circulant"):
            config(a * h + 1, a, arrangement)
        return
    groups = a * h + 1
    group, port = np.divmod(np.arange(groups * (groups - 1)), groups - 1)
    ends = ARRANGEMENTS[arrangement](group, port, groups)
    back = ARRANGEMENTS[arrangement](*ends, groups)
    assert np.array_equal(back, (group, port))
    assert len({*zip(group.tolist(), ends[0].tolist(), strict=True)}) == groups * (groups - 1)
    assert not np.any(group == ends[0])
    machine = config(groups, a, arrangement).build()
    degree = cables_between(machine, np.arange(machine.routers), kind=1).sum(axis=1)
    assert np.array_equal(degree, np.full(machine.routers, h))


# The group at the far end of ports 0..7 of group 3 of 9, as link maps of another simulator give them.
OWN, GROUPS = 3, 9
RAW = range(GROUPS - 1)
FAR_GROUPS = {
    "absolute": [raw + (raw >= OWN) for raw in RAW],
    "relative": [(OWN + raw + 1) % GROUPS for raw in RAW],
    "circulant": [(OWN + raw + 1) % GROUPS for raw in (0, 7, 1, 6, 2, 5, 3, 4)],
}


@pytest.mark.parametrize("arrangement", sorted(FAR_GROUPS))
def test_ports_lead_to_the_groups_of_the_literature(arrangement: str) -> None:
    far, _ = ARRANGEMENTS[arrangement](np.full(GROUPS - 1, OWN), np.arange(GROUPS - 1), GROUPS)
    assert far.tolist() == FAR_GROUPS[arrangement]
    machine = config(GROUPS, 4, arrangement).build()
    assert machine.group is not None
    for port, group in enumerate(far.tolist()):
        router = OWN * 4 + port // 2
        joined = (machine.link_tail == router) & (machine.group[machine.link_head] == group)
        assert np.count_nonzero(joined & (machine.link_class == 1)) == 1


def test_parallel_cables_between_two_routers_share_a_row() -> None:
    # Groups of one router: all cables of a group pair run between the same two routers.
    machine = config(3, 1, links_per_group_pair=4).build()
    assert machine.cable_tail.tolist() == [0, 0, 1] and machine.cable_head.tolist() == [1, 2, 2]
    assert machine.cable_count.tolist() == [4, 4, 4] and machine.cables == 12
    assert machine.link_capacity_Bps.tolist() == [12e9] * 6
    assert machine.radix == 8 + 2


def test_copies_use_the_next_ports() -> None:
    # 3 groups of 2 routers with 2 cables a pair: 4 ports a group, copy 0 on router 0 and copy 1 on router 1.
    machine = config(3, 2, "relative", links_per_group_pair=2).build()
    rows = machine.cable_class == 1
    tail, head = machine.cable_tail[rows], machine.cable_head[rows]
    assert np.array_equal(tail % 2, head % 2) and machine.cable_count[rows].tolist() == [1] * 6


def test_classes_nodes_and_weights() -> None:
    machine = config(9, 4, cores_per_node=3).build()
    assert [(c.name, c.bandwidth_Bps, c.latency_ns) for c in (*machine.classes, machine.host)] == [
        ("local", 1e9, 10.0),
        ("global", 3e9, 100.0),
        ("host", 2e9, 20.0),
    ]
    assert machine.node_router.tolist() == [r for r in range(36) for _ in range(2)]
    assert machine.group is not None
    assert machine.group.tolist() == [g for g in range(9) for _ in range(4)]
    assert machine.hop_weight == (1, 100) and machine.cores_per_node == 3
    assert machine.radix == 3 + 2 + 2
