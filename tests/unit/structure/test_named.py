"""Named analyses: rows have the columns that their models declare, and the numbers that theory gives."""

from __future__ import annotations

from typing import Any

import pytest

from fabricstudy.analysis.base import Analysis

EXTENSIONS = [
    "caps", "contention", "design", "express_lines", "isoperimetry", "packings", "partition_lists", "printed",
]  # fmt: skip

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "partitions", "machines": {"J": "juqueen", "cube": {"kind": "hypercube", "dimensions": 3,
     "bandwidth": "1 GB/s"}}, "message": "1 MB"},
    {"kind": "isoperimetry", "shapes": [[4, 3], [3, 2]], "exact": True},
    {"kind": "isoperimetry", "graph": "hyperx", "shapes": [[4, 2]], "weights": [1, 3], "exact": True},
    {"kind": "isoperimetry", "family": {"dimensions": [2], "lengths": [3, 4], "max_vertices": 12}},
    {"kind": "design", "families": {"SF": "slim-fly", "EM": {"kind": "express-mesh", "gap": 2}}, "ports": [11, 13]},
    {"kind": "caps", "runs": {"a": {"ranks": 4802, "nodes": 2048, "dimension": 9408}}},
    {"kind": "topologies", "families": {"HyperX": [{"kind": "hyperx", "shape": [4, 3], "nodes_per_router": 2,
     "bandwidth": "1 GB/s"}], "tree": [{"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}]}},
    {"kind": "express-lines", "lengths": [2, 9], "gaps": [1, 3]},
    {"kind": "deadlock", "machines": {"mesh": {"kind": "mesh", "shape": [3, 3], "bandwidth": "1 GB/s"},
     "ring": {"kind": "torus", "shape": [5], "bandwidth": "1 GB/s"},
     "tree": {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}},
     "routings": {"adaptive": "adaptive", "in order": "dimension-order", "by digits": "d-mod-k", "valiant": "valiant"}},
    {"kind": "packings", "machine": "intrepid", "lists": {"torus": "intrepid-torus", "mesh": "intrepid-mesh"},
     "given": {"half a row": {4096: 1}}},
    {"kind": "partition-lists", "machine": "mira", "sizes": {2048: 2, 8192: 1}, "communication": 0.5},
    {"kind": "contention", "cases": {"ring": {"machine": {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"},
     "pattern": {"kind": "all-to-all", "message": "1 kB"}}}},
    {"kind": "cost", "machines": {"ring": {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}}},
    {"kind": "resilience", "percent": [0, 25],
     "machines": {"ring": {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}}},
    {"kind": "candidates", "nodes": 16, "radix": 8, "families": ["hyperx", "fat-tree"]},
    {"kind": "printed", "tables": {"steps": {"oblivious": {512: 10.5, 1024: 6}, "aware": {512: 9}}}},
]  # fmt: skip


def config(description: dict[str, Any]) -> Any:
    return Analysis.model_validate(description)


@pytest.mark.parametrize("description", EXAMPLES, ids=lambda description: description["kind"])
def test_rows_have_the_declared_columns_and_distinct_keys(description: dict[str, Any]) -> None:
    asked = config(description)
    rows = asked.rows()
    assert rows and all(set(row) == set(asked.columns()) for row in rows)
    keys = [tuple(row[key] for key in asked.keys) for row in rows]
    assert len(set(keys)) == len(keys)


def test_every_kind_has_an_example() -> None:
    assert {example["kind"] for example in EXAMPLES} == set(Analysis.FAMILY.kinds)


def test_the_time_of_an_exchange_is_that_of_the_longest_dimension() -> None:
    """Furthest pairs put L / 4 messages on each link and direction, so 2 GiB take 4.29 s where L is 16."""
    asked = config({"kind": "partitions", "machines": {"m": "mira"}, "allowed": "mira", "message": "2 GiB"})
    for row in asked.rows():
        assert row["exchange_ns"] == pytest.approx(row["longest"] / 4 * 2**31 / 2)
        assert row["crossing_per_link"] == row["longest"] / 4


def test_a_family_has_all_shapes_up_to_its_size() -> None:
    rows = config(EXAMPLES[3]).rows()
    assert {row["shape"]: row["vertices"] for row in rows} == {"4x3": 12, "3x3": 9}


@pytest.mark.parametrize(
    ("ranks", "dimension", "expected"),
    [(31213, 32928, (13, 4, 0, 0)), (117649, 21952, (1, 6, 1, 1)), (9604, 9408, (4, 4, 1, 1)), (7, 9408, (1, 1, 1, 1)),
     (6, 12, (6, 0, 1, 1)), (7**3, 7, (1, 3, 1, 0))],
)  # fmt: skip
def test_rules_of_caps(ranks: int, dimension: int, expected: tuple[int, ...]) -> None:
    (row,) = config({"kind": "caps", "runs": {"a": {"ranks": ranks, "nodes": 1, "dimension": dimension}}}).rows()
    assert tuple(row[name] for name in ("factor", "power", "ranks_fit", "dimension_fits")) == expected
    assert row["memory_bytes"] is None


def test_memory_of_caps() -> None:
    run = {"ranks": 7, "nodes": 7, "dimension": 100, "steps": 2}
    (row,) = config({"kind": "caps", "runs": {"a": run}}).rows()
    # Each step splits three matrices into 7 times three of a quarter of the size.
    assert row["memory_bytes"] == 3 * 8 * 100**2 * 49 / 16


def by_label(rows: list[dict[str, Any]], key: str) -> dict[Any, dict[str, Any]]:
    return {row[key]: row for row in rows}


def test_topologies_against_closed_forms() -> None:
    """HyperX of 4 x 3 routers with 2 nodes each; the tree of radix 4 of Al-Fares et al."""
    found = by_label(example("topologies").rows(), "family")
    hyperx, tree = found["HyperX"], found["tree"]
    assert (hyperx["nodes"], hyperx["routers"], hyperx["cables"], hyperx["radix"]) == (24, 12, 4 * 3 + 3 * 6, 7)
    assert hyperx["router_ports"] == 84 and hyperx["ports_per_node"] == 3.5 and hyperx["cables_per_node"] == 30 / 24
    # A router has 3 + 2 neighbours and 6 routers two hops away.
    assert hyperx["diameter"] == 2 and hyperx["mean_hops"] == pytest.approx((5 + 2 * 6) / 11)
    # Half of 4 routers by the other half in each of 3 lines: 12 cables of 1 GB/s.
    assert hyperx["bisection_lower_Bps"] == hyperx["bisection_upper_Bps"] == 12e9
    assert hyperx["bisection_per_node_Bps"] == pytest.approx(0.5e9)
    assert (tree["nodes"], tree["routers"], tree["cables"], tree["diameter"]) == (16, 20, 32, 4)
    assert tree["valiant_hops"] is tree["detour"] is None


def test_valiant_goes_twice_as_far_less_early_arrivals() -> None:
    """On a clique of n all hops are 1: 2 hops by n - 2 of n middles, 1 where the middle is an end."""
    clique = {"kind": "hyperx", "shape": [5], "bandwidth": "1 GB/s"}
    (row,) = config({"kind": "topologies", "valiant": True, "families": {"clique": [clique]}}).rows()
    assert row["valiant_hops"] == row["detour"] == pytest.approx((2 * 3 + 2) / 5)


def test_two_routers_have_one_hop_by_whatever_middle() -> None:
    one = {"kind": "dragonfly", "groups": 2, "routers_per_group": 1, "nodes_per_router": 1, "bandwidth": "1 GB/s"}
    (row,) = config({"kind": "topologies", "valiant": True, "families": {"pair": [one]}}).rows()
    assert row["mean_hops"] == row["valiant_hops"] == 1


def test_express_lines_are_machines_of_one_dimension() -> None:
    rows = example("express-lines").rows()
    assert {(row["length"], row["gap"]) for row in rows} == {
        (k, g) for k in range(2, 10) for g in (1, 2, 3) if g <= k - 2
    }
    for row in rows:
        line = {"kind": "express-mesh", "shape": [row["length"]], "gap": row["gap"], "bandwidth": "1 GB/s"}
        (built,) = config({"kind": "topologies", "families": {"line": [line]}}).rows()
        assert (row["diameter"], row["links"] + 1) == (built["diameter"], built["radix"])
        assert row["mean_hops"] == pytest.approx(built["mean_hops"])
        assert row["over_gap"] == row["diameter"] - row["gap"]


def test_lines_that_are_a_clique_and_a_ring() -> None:
    """A gap of 1 joins all of 9 routers; of 7, only the two ends."""
    found = by_label(config({"kind": "express-lines", "lengths": [9, 9], "gaps": [1, 7]}).rows(), "gap")
    assert (found[1]["diameter"], found[1]["links"], found[1]["over_gap"], found[1]["over_rule"]) == (1, 8, 0, 0)
    assert (found[7]["diameter"], found[7]["links"], found[7]["over_gap"], found[7]["over_rule"]) == (4, 2, -3, 0)


def test_which_routings_are_free_of_deadlock() -> None:
    rows = {(row["machine"], row["routing"]): row for row in example("deadlock").rows()}
    assert set(rows) == {
        ("mesh", "adaptive"), ("mesh", "in order"), ("mesh", "valiant"), ("ring", "adaptive"), ("ring", "in order"),
        ("ring", "valiant"), ("tree", "adaptive"), ("tree", "by digits"), ("tree", "valiant"),
    }  # fmt: skip
    assert all(row["free"] == 1 for row in rows.values())
    with_one = {pair: row["free_with_one_channel"] for pair, row in rows.items()}
    # Dimension order on a mesh and up, then down a tree need one channel; a ring needs two, free turns a second one.
    assert with_one["mesh", "in order"] == with_one["tree", "by digits"] == with_one["tree", "adaptive"] == 1
    assert with_one["ring", "in order"] == with_one["mesh", "adaptive"] == 0
    assert with_one["mesh", "valiant"] is None


def example(kind: str) -> Any:
    return config(next(description for description in EXAMPLES if description["kind"] == kind))
