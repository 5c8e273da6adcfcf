"""Where routers stand in pictures of machines, and that lines are as many as cables or bundles counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.report.layouts import WITHIN, Layout, lay_out
from fabricstudy.report.machine_picture import cables_of_lines, load_of_lines
from fabricstudy.study.file import validate_machine

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2}
MEGAFLY = {
    "kind": "megafly", "groups": 5, "leaves_per_group": 4, "spines_per_group": 4, "nodes_per_leaf": 4,
    "links_per_group_pair": 4,
}  # fmt: skip
FAT_TREE = {"kind": "fat-tree", "radix": 8}


def drawn(written: dict[str, Any]) -> tuple[Machine, Layout]:
    machine = validate_machine({"bandwidth": "1 GB/s", **written}).build()
    return machine, lay_out(machine)


def around(layout: Layout) -> np.ndarray:
    """Spots clockwise from the top, by number."""
    x, y = layout.positions.T
    return np.argsort(np.arctan2(x, y) % (2 * np.pi - 1e-9), kind="stable")


ARIES = {"kind": "aries", "groups": 4, "chassis_per_group": 3, "blades_per_chassis": 4}
PERCS = {"kind": "percs", "supernodes": 5, "drawers_per_supernode": 2, "hubs_per_drawer": 4}


@pytest.mark.parametrize(
    "written", [DRAGONFLY, MEGAFLY, {"kind": "slim-fly", "q": 5, "nodes_per_router": 4}, ARIES, PERCS]
)
def test_routers_of_a_group_are_neighbours_on_the_circle(written: dict[str, Any]) -> None:
    machine, layout = drawn(written)
    assert machine.group is not None
    groups = machine.group[around(layout)]
    changes = int((groups != np.roll(groups, 1)).sum())
    assert changes == machine.group.max() + 1


def test_leaves_of_a_megafly_stand_outside_its_spines() -> None:
    machine, layout = drawn(MEGAFLY)
    distance, leaf = np.hypot(*layout.positions.T), machine.nodes_of_router > 0
    assert distance[leaf].min() > distance[~leaf].max()


@pytest.mark.parametrize(
    ("written", "spots", "lines", "cables"),
    [
        # 9 groups of a clique of 4, each two joined once
        (DRAGONFLY, 36, 9 * 6 + 36, 1),
        # 100 groups: too many cables, so one line for each two of them
        ({**DRAGONFLY, "groups": 100, "routers_per_group": 16}, 100, 100 * 99 // 2, 1),
        ({**DRAGONFLY, "groups": 60, "routers_per_group": 16, "links_per_group_pair": 3}, 60, 60 * 59 // 2, 3),
        # 4 groups: 3 rows of cliques of 4, 4 columns of cliques of 3, and two pairs of routers for each cable
        (ARIES, 48, 4 * (3 * 6 + 4 * 3) + 6 * 2, None),
        # one group: a grid
        ({**ARIES, "groups": 1}, 12, 3 * 6 + 4 * 3, None),
        # 15 groups with 24 links between each two, as on Edison
        ({"kind": "aries", "groups": 15, "cables_per_group_pair": 6}, 15, 15 * 14 // 2, 24),
        (PERCS, 40, 5 * 28 + 10, 1),
        # 8 pods of 4 leaves and 4 aggregation routers, all joined, and as many cables again to the core
        (FAT_TREE, 80, 128 + 128, 1),
        # 24 pods of 12 + 12 routers and a core of 144: leaves to aggregation, and that to the core
        ({**FAT_TREE, "radix": 24}, 24 + 24 + 1, 24 + 24, 144),
        ({"kind": "torus", "shape": [8, 8, 8]}, 512, 3 * 512, 1),
        # two cables between the routers of a ring of two
        ({"kind": "bluegene-q", "midplanes": [1, 1, 1, 1]}, 512, 4 * 512 + 256, None),
        ({"kind": "hyperx", "shape": [4, 5]}, 20, 5 * 6 + 4 * 10, 1),
        ({"kind": "jellyfish", "routers": 64, "degree": 6, "nodes_per_router": 2}, 64, 192, 1),
        # 32 accelerators, each joined to one of 4 and one of 8 switches, and these by 4 cables each to the spine
        ({"kind": "rails", "domains": 4, "accelerators": 8}, 45, 32 + 32 + 8, None),
        # 128 accelerators: one spot for those of each of 16 nodes, its switch, 8 rail switches and the spine
        ({"kind": "rails", "domains": 16, "accelerators": 8}, 16 + 16 + 8 + 1, 16 + 16 * 8 + 8, None),
    ],
)
def test_lines_are_as_many_as_cables_or_bundles(
    written: dict[str, Any], spots: int, lines: int, cables: int | None
) -> None:
    machine, layout = drawn(written)
    assert (len(layout.positions), layout.lines) == (spots, lines)
    assert {line for line, _ in layout.paths} == set(range(lines))
    counts = cables_of_lines(machine, layout)
    inside = machine.cable_count[layout.line_of_row == WITHIN].sum()
    assert counts.sum() + inside == machine.cables
    assert cables is None or set(counts) == {cables}


def test_a_cable_that_closes_a_ring_or_leaves_a_slice_is_two_stubs_and_another_one_joins_its_routers() -> None:
    machine, layout = drawn({"kind": "torus", "shape": [4, 3, 3]})
    strokes = {line: [path for number, path in layout.paths if number == line] for line in range(layout.lines)}
    assert machine.coordinates is not None
    for row, own in enumerate(layout.line_of_row):
        ends = machine.coordinates[[machine.cable_tail[row], machine.cable_head[row]]]
        near = np.abs(ends[1] - ends[0]).sum() == 1 and ends[0][2] == ends[1][2]
        places = layout.positions[[machine.cable_tail[row], machine.cable_head[row]]]
        if near:
            assert len(strokes[own]) == 1 and np.allclose(strokes[own][0], places)
        else:
            assert np.allclose([stroke[0] for stroke in strokes[own]], places)


def test_slices_of_a_grid_do_not_overlap() -> None:
    machine, layout = drawn({"kind": "torus", "shape": [4, 3, 5, 2]})
    assert machine.coordinates is not None
    assert len(np.unique(layout.positions, axis=0)) == machine.routers
    for corner in np.unique(machine.coordinates[:, 2:], axis=0):
        own = (machine.coordinates[:, 2:] == corner).all(axis=1)
        low, high = layout.positions[own].min(axis=0), layout.positions[own].max(axis=0)
        inside = ((layout.positions >= low) & (layout.positions <= high)).all(axis=1)
        assert (inside == own).all()


def test_levels_of_a_tree_are_rows() -> None:
    machine, layout = drawn({"kind": "xgft", "down": [4, 3, 2], "up": [2, 2]})
    height = layout.positions[:, 1]
    assert machine.level is not None
    assert [len(set(height[machine.level == level])) for level in range(3)] == [1, 1, 1]
    assert height[machine.level == 0].max() < height[machine.level == 1].min() < height[machine.level == 2].min()


def test_a_tree_of_unknown_levels_is_drawn_as_one_with_the_routers_of_a_pod_side_by_side() -> None:
    tree = validate_machine({**FAT_TREE, "bandwidth": "1 GB/s"}).build()
    assert tree.level is not None and tree.group is not None
    new = np.random.default_rng(1).permutation(tree.routers).astype(np.int32)
    cables = {name: new[getattr(tree, name)] for name in ("cable_tail", "cable_head")}
    unknown = replace(tree, level=None, group=None, node_router=np.sort(new[tree.node_router]), **cables)
    place = lay_out(unknown).positions[lay_out(unknown).spot_of_router[new]]
    for level in range(3):
        of_level = np.flatnonzero(tree.level == level)
        assert len(np.unique(place[of_level, 1])) == 1
        pods = tree.group[of_level[np.argsort(place[of_level, 0])]]
        assert (pods[1:] != pods[:-1]).sum() == len(np.unique(pods)) - 1


def test_a_large_tree_of_unknown_levels_is_drawn_in_bundles() -> None:
    tree = validate_machine({**FAT_TREE, "radix": 24, "bandwidth": "1 GB/s"}).build()
    layout = lay_out(replace(tree, level=None, group=None))
    assert (len(layout.positions), layout.lines) == (24 + 24 + 1, 24 + 24)


def test_a_graph_is_drawn_by_its_hops() -> None:
    """A ring that nobody calls one comes out as one: hops and distances are in the same order."""
    ends = np.arange(12)
    order = np.random.default_rng(1).permutation(12)
    ring = validate_machine({"kind": "torus", "shape": [12], "bandwidth": "1 GB/s"}).build()
    unknown = Machine(
        kind="ring", node_router=ends.astype(np.int32), cable_tail=order.astype(np.int32),
        cable_head=np.roll(order, 1).astype(np.int32), cable_class=np.zeros(12, np.int32),
        cable_count=np.ones(12, np.int32), classes=ring.classes, host=ring.host, routers=12,
    )  # fmt: skip
    place = lay_out(unknown).positions[order]
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    hops = np.minimum((ends[:, None] - ends) % 12, (ends - ends[:, None]) % 12)
    assert apart[hops == 1].max() < apart[hops == 2].min() < apart[hops == 6].min()


@pytest.mark.parametrize(
    "written",
    [
        {**DRAGONFLY, "groups": 170, "routers_per_group": 43},
        {"kind": "torus", "shape": [16, 16, 16]},
        {"kind": "jellyfish", "routers": 1000, "degree": 8, "nodes_per_router": 2},
    ],
)
def test_what_could_not_be_read_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as error:
        drawn(written)
    assert error.value.code == "out-of-range" and error.value.remedy


def test_a_line_has_the_load_of_its_fullest_direction() -> None:
    machine, layout = drawn({"kind": "fat-tree", "radix": 24})
    load = np.arange(machine.links, dtype=np.float64)
    told = load_of_lines(load, layout)
    for line in (0, layout.lines - 1):
        rows = np.flatnonzero(layout.line_of_row == line)
        assert told[line] == 2 * rows.max() + 1
