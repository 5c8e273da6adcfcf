"""Allocation `slurm`: best fit by hand, and the state of a machine in use against invariants of its schedule."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.schedule.best_fit import SwitchTree, best_fit, switch_tree
from fabricstudy.schedule.block_fit import block_fit
from fabricstudy.schedule.fragmented import Fragmented, arrivals
from fabricstudy.schedule.slurm import Slurm
from fabricstudy.workload.allocation.base import NO_JOB, Request
from fabricstudy.workload.messages import WorkloadError

LEAVES = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3])
FLAT = SwitchTree(LEAVES, np.arange(4)[None, :])
PAIRS = SwitchTree(LEAVES, np.array([[0, 1, 2, 3], [0, 0, 1, 1]]))


@pytest.mark.parametrize(
    ("tree", "used", "wanted", "nodes"),
    [
        (FLAT, [], 2, [4, 5]),  # the first of the two leaves that suffice with the fewest
        (FLAT, [], 3, [6, 7, 8]),
        (FLAT, [4], 1, [5]),
        (FLAT, [], 5, [0, 1, 2, 3, 4]),  # the largest, then the least that suffices
        (FLAT, [], 7, [0, 1, 2, 3, 6, 7, 8]),
        (PAIRS, [], 5, [6, 7, 8, 9, 10]),  # below the switch that suffices with the fewest
        (PAIRS, [6, 7, 8], 5, [0, 1, 2, 3, 4]),
        (PAIRS, [0, 1], 3, [6, 7, 8]),
    ],
)
def test_nodes_by_hand(tree: SwitchTree, used: list[int], wanted: int, nodes: list[int]) -> None:
    free = np.ones(len(LEAVES), dtype=np.bool_)
    free[used] = False
    assert best_fit(tree, free, wanted).tolist() == nodes


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=60)
def test_on_one_level_as_few_leaves_as_possible_and_the_tightest(sizes: list[int], data: st.DataObject) -> None:
    leaf = np.repeat(np.arange(len(sizes)), sizes)
    free = np.array(data.draw(st.lists(st.booleans(), min_size=len(leaf), max_size=len(leaf))))
    if not free.any():
        return
    wanted = data.draw(st.integers(1, int(free.sum())))
    nodes = best_fit(SwitchTree(leaf, np.arange(len(sizes))[None, :]), free, wanted)
    left = np.bincount(leaf[free], minlength=len(sizes))
    assert len(nodes) == wanted and free[nodes].all()
    fewest = int(np.searchsorted(np.cumsum(np.sort(left)[::-1]), wanted)) + 1
    assert len(np.unique(leaf[nodes])) == fewest
    if fewest == 1:
        assert left[leaf[nodes[0]]] == left[left >= wanted].min()


def machine_of(**keys: Any) -> Machine:
    return Topology.model_validate({"bandwidth": "1 GB/s", **keys}).build()


def test_switches_above_the_leaves_are_subtrees_or_groups() -> None:
    tree = switch_tree(machine_of(kind="xgft", down=[2, 3, 2], up=[2, 2]))
    assert tree.above.tolist() == [[0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1]] and tree.leaf.tolist() == [
        leaf for leaf in range(6) for _ in range(2)
    ]
    groups = switch_tree(machine_of(kind="dragonfly", groups=3, routers_per_group=2, nodes_per_router=1))
    assert groups.above.tolist() == [[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2]]
    assert switch_tree(machine_of(kind="torus", shape=[4, 2])).above.tolist() == [list(range(8))]


MACHINE = machine_of(kind="xgft", down=[6, 12], up=[3])
TRACE = {
    "kind": "synthetic", "jobs": 3000, "span": "10 days", "load": 0.9, "sizes": {1: 4, 4: 3, 10: 2, 30: 1},
    "runtime": {"median": "1 h", "longest": "8 h"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "used", "wanted", "nodes"),
    [
        ([4], [], 2, [12, 13]),  # of equal blocks the last; nodes in order
        ([4], [0], 3, [1, 2, 3]),  # of those that suffice, that with the fewest free nodes
        ([4], [0, 4, 8, 12], 4, None),  # no block of four is free
        ([4], [0, 4, 8, 12], 5, [9, 10, 13, 14, 15]),  # larger than every size: as few base blocks as possible
        ([4, 8], [0, 4, 8, 12], 5, [9, 10, 13, 14, 15]),  # of the last block of eight
        ([4, 8], [0, 1], 7, [8, 9, 10, 12, 13, 14, 15]),
        ([4, 8], [0, 1], 6, [2, 3, 4, 5, 6, 7]),
        ([4, 8], [0, 1, 8, 9], 7, None),
        ([4, 8], [0], 11, [1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]),
    ],
)
def test_blocks_by_hand(sizes: list[int], used: list[int], wanted: int, nodes: list[int] | None) -> None:
    free = np.ones(16, dtype=np.bool_)
    free[used] = False
    found = block_fit(sizes, free, wanted)
    assert nodes == (None if found is None else sorted(found.tolist()))


@given(st.integers(1, 4), st.sampled_from([[1], [1, 2], [1, 4], [1, 2, 8]]), st.integers(1, 9), st.data())
@settings(deadline=None, max_examples=150)
def test_a_job_has_as_few_blocks_as_can_hold_it(base: int, widths: list[int], blocks: int, data: st.DataObject) -> None:
    """Against all blocks of the least size that can hold it, with all choices of smaller ones."""
    free = np.array(data.draw(st.lists(st.booleans(), min_size=base * blocks, max_size=base * blocks)))
    wanted = data.draw(st.integers(1, base * blocks))
    found = block_fit([base * width for width in widths], free, wanted)
    width = next((width for width in widths if width * base >= wanted), blocks)
    part = base * max((smaller for smaller in widths if smaller * base < wanted), default=1)
    most = -(-wanted // part)

    def left(first: int, length: int) -> int:
        return int(free[first : first + length].sum())

    sufficing = {}
    for first in range(0, len(free), width * base):
        last = min(first + width * base, len(free))
        parts = sorted((int(free[at : min(at + part, last)].sum()) for at in range(first, last, part)), reverse=True)
        if sum(parts[:most]) >= wanted:
            sufficing[first] = left(first, width * base)
    assert (found is None) == (not sufficing)
    if found is not None:
        assert free[found].all() and len(set(found.tolist())) == wanted
        (first,) = set((found // (width * base) * (width * base)).tolist())
        assert sufficing[first] == min(sufficing.values()) and len(set((found // part).tolist())) <= most


def granted(allocation: Slurm | Fragmented, sizes: list[int], seed: int = 2) -> list[list[int]]:
    holder = np.full(MACHINE.nodes, NO_JOB, np.int32)
    for job, wanted in enumerate(sizes):
        rng = np.random.default_rng(seed)
        nodes = allocation.allocate(Request(MACHINE, holder.copy(), wanted, rng, np.random.default_rng(seed))).nodes
        assert len(nodes) == wanted and (holder[nodes] == NO_JOB).all()
        holder[nodes] = job
    return [np.flatnonzero(holder == job).tolist() for job in range(len(sizes))]


def gaps(jobs: list[list[int]]) -> int:
    """Return how often the nodes of jobs are not consecutive."""
    return sum(int(np.count_nonzero(np.diff(nodes) > 1)) for nodes in jobs)


def test_jobs_that_fill_the_machine_are_scattered_as_a_busy_machine_leaves_them() -> None:
    slurm, drained = (kind.model_validate({"trace": TRACE}) for kind in (Slurm, Fragmented))
    sizes = [12] * 6
    by_slurm, by_drained = granted(slurm, sizes), granted(drained, sizes)
    assert sorted(chain(*by_slurm)) == list(range(72)) == sorted(chain(*by_drained))
    assert gaps(by_slurm) > 2 * gaps(by_drained)
    assert granted(slurm, sizes) == by_slurm != granted(slurm, sizes, seed=3)
    assert granted(slurm, sizes[:3]) == by_slurm[:3]


def test_on_an_idle_machine_the_nodes_are_those_of_best_fit() -> None:
    idle = Slurm.model_validate({"trace": TRACE | {"jobs": 2, "load": 1e-3}, "after": "1 min"})
    (nodes,) = granted(idle, [10])
    assert nodes == best_fit(switch_tree(MACHINE), np.ones(72, dtype=np.bool_), 10).tolist()


def test_another_allocation_before_it_is_refused() -> None:
    holder = np.full(MACHINE.nodes, NO_JOB, np.int32)
    holder[::7] = 0
    rng = np.random.default_rng(1)
    with pytest.raises(WorkloadError):
        Slurm.model_validate({"trace": TRACE}).allocate(Request(MACHINE, holder, 4, rng, rng))


def test_with_blocks_each_job_waits_for_one_that_holds_it() -> None:
    slurm = Slurm.model_validate({"trace": TRACE, "block_sizes": [12, 24]})
    jobs = granted(slurm, [12, 9, 20])
    assert len({node // 12 for node in jobs[0]}) == len({node // 12 for node in jobs[1]}) == 1
    assert len({node // 24 for node in jobs[2]}) == 1
    assert jobs != granted(Slurm.model_validate({"trace": TRACE}), [12, 9, 20])


@pytest.mark.parametrize("sizes", [[6, 9], [6, 6], [6, 18], [12, 6]])
def test_sizes_of_blocks_are_doubled(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="block_sizes"):
        Slurm.model_validate({"trace": TRACE, "block_sizes": sizes})


def test_blocks_that_do_not_divide_the_machine_are_refused() -> None:
    machine = Topology.model_validate({"kind": "torus", "shape": [4, 5], "bandwidth": "1 GB/s"})
    with pytest.raises(ConfigError) as refusal:
        Slurm.model_validate({"trace": TRACE, "block_sizes": [8]}).reserved_nodes(machine, 4)
    assert refusal.value.code == "does-not-fit" and refusal.value.path == "block_sizes.0"


LOG = "; a log\n" + "".join(
    f"{number} {submit} 0 {run} {nodes} -1 -1 {nodes} {run} -1 1 1 1 1 1 1 -1 -1\n"
    for number, (submit, run, nodes) in enumerate([(5000, 9000, 10), (5100, 20, 30), (5200, 9000, 7), (9000, 5, 1)], 1)
)


def test_the_machine_is_kept_busy_by_a_log(tmp_path: Path) -> None:
    """300 s after the first submission, jobs of 10 and of 7 nodes run; that of 30 has ended."""
    (tmp_path / "x.swf").write_text(LOG)
    keys = {"trace": {"kind": "swf", "file": "x.swf"}, "after": "300 s"}
    slurm = Slurm.model_validate(keys, context={"folder": str(tmp_path)})
    free, tree = np.ones(72, dtype=np.bool_), switch_tree(MACHINE)
    for wanted in (10, 7):
        free[best_fit(tree, free, wanted)] = False
    assert granted(slurm, [8]) == [best_fit(tree, free, 8).tolist()]
    (tmp_path / "x.swf").write_text(LOG.replace("9000", "9001"))
    changed = Slurm.model_validate(keys, context={"folder": str(tmp_path)})
    assert changed.physics() != slurm.physics() and str(tmp_path) not in str(slurm.physics())
    arrivals.cache_clear()
    with pytest.raises(WorkloadError):
        granted(slurm, [8])
