"""Cables that are slower than their peers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.structure.slow_cables import slow_cables, slow_rows
from fabricstudy.study.file import validate_machine

FAST, MEDIUM, SLOW = (
    LinkClass(name, bandwidth_Bps, 40.0) for name, bandwidth_Bps in (("a", 4.0), ("b", 2.0), ("c", 1.0))
)


def two_levels(rows: list[tuple[int, int, int, int]], leaves: int, spines: int) -> Machine:
    """Leaves with a node each below spines; rows are leaf, spine, class, cables."""
    columns = np.array(rows, dtype=np.int32).T
    return Machine(
        kind="graph", node_router=np.arange(leaves, dtype=np.int32), cable_tail=columns[0],
        cable_head=columns[1] + np.int32(leaves), cable_class=columns[2], cable_count=columns[3],
        classes=(SLOW, FAST, MEDIUM), host=FAST, routers=leaves + spines,
    )  # fmt: skip


def test_slow_cables_of_a_tree_are_those_below_the_most_frequent_bandwidth() -> None:
    """Against a count by hand, of random cables between two levels."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pairs = [(leaf, spine) for leaf in range(4) for spine in range(3)]
        rows = [
            (*pair, int(link), int(rng.integers(1, 4)))
            for pair in pairs for link in rng.choice(3, rng.integers(1, 4), replace=False)
        ]  # fmt: skip
        machine = two_levels(rows, 4, 3)
        bandwidth_Bps = [machine.classes[link].bandwidth_Bps for *_, link, _ in rows]
        cables: Counter[float] = Counter()
        for speed, (*_, count) in zip(bandwidth_Bps, rows, strict=True):
            cables[speed] += count
        usual = max(cables, key=lambda speed: (cables[speed], speed))
        expected = [number for number, speed in enumerate(bandwidth_Bps) if speed < usual]
        assert slow_rows(machine)[0].tolist() == sorted(expected, key=lambda number: bandwidth_Bps[number])


@pytest.mark.parametrize(
    "written",
    [
        {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2,
         "bandwidth": {"local": "4 GB/s", "global": "1 GB/s", "host": "1 GB/s"}},
        {"kind": "xgft", "down": [2, 3, 2], "up": [4, 1],
         "bandwidth": {"links": ["4 GB/s", "1 GB/s"], "host": "1 GB/s"}},
    ],
)  # fmt: skip
def test_classes_that_differ_by_design_are_no_slow_cables(written: dict[str, Any]) -> None:
    assert not len(slow_rows(validate_machine(written).build())[0])


def test_of_parallel_cables_of_any_fabric_the_slow_one_is_listed(tmp_path: Path) -> None:
    """A ring of three routers with nodes is no tree; between a and b two cables are fast and one is slow."""
    lines = [
        "from,to,class,count,bandwidth",
        "a,b,fast,2,100 Gb/s",
        "a,b,slow,1,25 Gb/s",
        "b,c,slow,,25 Gb/s",
        "c,a,slow,,25 Gb/s",
    ]
    lines += [f"n{name},{name},host,,100 Gb/s" for name in "abc"]
    (tmp_path / "ring.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "ring.yaml").write_text("{kind: graph, file: ring.csv}\n")
    from fabricstudy.study.file import load_machine

    assert slow_cables(load_machine(tmp_path / "ring.yaml").build()) == [
        {
            "routers": ["a", "b"],
            "class": "slow",
            "cables": 1,
            "bandwidth_Bps": 25e9 / 8,
            "usual_bandwidth_Bps": 100e9 / 8,
        }
    ]


def test_a_single_switch_has_no_cables() -> None:
    single = validate_machine({"kind": "hyperx", "shape": [1], "nodes_per_router": 4, "bandwidth": "1 GB/s"}).build()
    assert slow_cables(single) == []


@pytest.mark.parametrize("spine", ["full", "none"])
def test_classes_of_rails_differ_by_design(spine: str) -> None:
    """Links to a domain's switch have nine times the bandwidth of rails; one degraded rail is slow."""
    written = {
        "kind": "rails", "domains": 3, "accelerators": 4, "spine": spine,
        "bandwidth": {"scale_up": "450 GB/s", "rail": "50 GB/s"},
    }  # fmt: skip
    assert slow_cables(validate_machine(written).build()) == []
    faults = {"degraded": {"cables": 2, "to": 0.5}, "of": ["rail"]}
    slow = slow_cables(validate_machine(written | {"faults": faults}).build())
    assert sum(row["cables"] for row in slow) == 2
    assert {(row["bandwidth_Bps"], row["usual_bandwidth_Bps"]) for row in slow} == {(25e9, 50e9)}
