"""Destinations of offered traffic, against hand counts and the definitions of the literature."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.offered import Offered
from fabricstudy.workload.traffic.base import Destinations, Traffic

DRAGONFLY = {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
GRID = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}


def config(machine: Mapping[str, Any]) -> Topology:
    return Topology.model_validate(machine, by_alias=True)


def destinations(traffic: Any, machine: Mapping[str, Any], seed: int = 1) -> tuple[Destinations, Machine]:
    kind = Traffic.model_validate(traffic, by_alias=True)
    topology = config(machine)
    kind.check_on(topology)
    built = topology.build()
    return Offered(traffic=kind, load=0.5).destinations(built, seed), built


def matrix(rows: Destinations, nodes: int) -> np.ndarray:
    """The share of each destination in the messages of each node, by counting."""
    shares = np.zeros((nodes, nodes))
    for node, share, first, last in zip(*rows, strict=True):
        goals = [goal for goal in range(first, last + 1) if goal != node]
        shares[node, goals] += share / len(goals)
    return shares


@pytest.mark.parametrize(
    ("traffic", "expected"),
    [
        ({"kind": "shift", "nodes": 3}, lambda i: (i + 3) % 16),
        ("complement", lambda i: 15 - i),
        ("transpose", lambda i: 4 * (i % 4) + i // 4),
        ("bit-reverse", lambda i: int(f"{i:04b}"[::-1], 2)),
        ("shuffle", lambda i: int(f"{i:04b}"[1:] + f"{i:04b}"[0], 2)),
        ({"kind": "tornado", "dimensions": 1}, lambda i: i // 4 * 4 + (i + 1) % 4),
        ("tornado", lambda i: (i // 4 + 1) % 4 * 4 + (i + 1) % 4),
    ],
)
def test_permutations_of_the_literature(traffic: Any, expected: Any) -> None:
    rows, _ = destinations(traffic, GRID)
    found = dict(zip(rows.node.tolist(), rows.first.tolist(), strict=True))
    assert found == {i: expected(i) for i in range(16) if expected(i) != i}
    assert rows.is_single and np.all(rows.share == 1)


def test_uniform_leaves_out_the_sender() -> None:
    rows, _ = destinations("uniform", GRID)
    np.testing.assert_allclose(matrix(rows, 16), (1 - np.eye(16)) / 15)


@pytest.mark.parametrize("fixed", [False, True])
def test_group_shift_goes_to_the_next_group(fixed: bool) -> None:
    rows, _ = destinations({"kind": "group-shift", "fixed": fixed}, DRAGONFLY)
    shares, group = matrix(rows, 20), np.arange(20) // 4
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.all(group[np.nonzero(shares)[1]] == (group[np.nonzero(shares)[0]] + 1) % 5)
    assert np.count_nonzero(shares) == (20 if fixed else 80)


def test_a_hot_spot_has_its_share_and_the_rest_is_uniform() -> None:
    rows, _ = destinations({"kind": "hot-spot", "share": 0.1, "nodes": [3]}, GRID)
    shares = matrix(rows, 16)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0, 3], 0.1 + 0.9 / 15)
    np.testing.assert_allclose(shares[0, 1], 0.9 / 15)
    np.testing.assert_allclose(shares[3, 1], 1 / 15)


def test_neighbours_are_nodes_of_adjacent_routers() -> None:
    rows, _ = destinations("neighbours", GRID)
    shares = matrix(rows, 16)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.flatnonzero(shares[0]).tolist() == [1, 3, 4, 12]


def test_a_mix_weighs_its_parts() -> None:
    parts = [{"weight": 3, "traffic": "complement"}, {"weight": 1, "traffic": {"kind": "shift", "nodes": 1}}]
    shares = matrix(destinations({"kind": "mix", "of": parts}, GRID)[0], 16)
    assert (shares[0, 15], shares[0, 1]) == (0.75, 0.25)


def test_a_matrix_gives_normalised_rows(tmp_path: Path) -> None:
    rows = ["0," * 15 + "0"] * 16
    rows[2] = "10,30," + "0," * 13 + "0"
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    kind = Traffic.model_validate({"kind": "matrix", "file": "m.csv"}, context={"folder": tmp_path})
    kind.check_on(config(GRID))
    shares = matrix(kind.destinations(config(GRID).build(), np.random.default_rng(1)), 16)
    assert shares[2, :2].tolist() == [0.25, 0.75] and shares.sum() == 1
    with pytest.raises(ConfigError) as wrong:
        kind.check_on(config(DRAGONFLY))
    assert wrong.value.code == "does-not-fit"


@given(st.integers(0, 1000))
def test_a_permutation_has_no_fixed_point_and_follows_the_seed(seed: int) -> None:
    rows, _ = destinations("permutation", GRID, seed)
    again, _ = destinations("permutation", GRID, seed)
    assert sorted(rows.first) == list(range(16)) and np.all(rows.first != rows.node)
    np.testing.assert_array_equal(rows.first, again.first)


@pytest.mark.parametrize(
    ("traffic", "machine", "path", "code"),
    [
        ({"kind": "group-shift"}, GRID, ("kind",), "unsupported"),
        ({"kind": "group-shift", "groups": 5}, DRAGONFLY, ("groups",), "does-not-fit"),
        ("tornado", DRAGONFLY, ("kind",), "unsupported"),
        ({"kind": "tornado", "dimensions": 3}, GRID, ("dimensions",), "does-not-fit"),
        ("transpose", {**GRID, "shape": [8, 4]}, ("kind",), "does-not-fit"),
        ("bit-reverse", DRAGONFLY, ("kind",), "does-not-fit"),
        ("shuffle", DRAGONFLY, ("kind",), "does-not-fit"),
        ({"kind": "shift", "nodes": 16}, GRID, ("nodes",), "does-not-fit"),
        ({"kind": "hot-spot", "share": 0.1, "nodes": [16]}, GRID, ("nodes", "0"), "out-of-range"),
        ({"kind": "hot-spot", "share": 0.1, "nodes": [1, 1]}, GRID, ("nodes", "1"), "out-of-range"),
        (
            {"kind": "mix", "of": [{"weight": 1, "traffic": "tornado"}]},
            DRAGONFLY,
            ("of", "0", "traffic", "kind"),
            "unsupported",
        ),
    ],
)
def test_traffic_that_a_machine_cannot_have(traffic: Any, machine: Any, path: tuple[str, ...], code: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        destinations(traffic, machine)
    assert (wrong.value.keys, wrong.value.code) == (path, code)


SPOT = {"kind": "hot-spot", "share": 0.2, "nodes": [3, 5]}


def offered(traffic: Any, **more: Any) -> Offered:
    return Offered.model_validate({"traffic": traffic, "load": 0.5} | more, by_alias=True)


@pytest.mark.parametrize(
    "arrivals", [{"arrivals": "poisson"}, {"arrivals": "periodic"}, {"arrivals": "bursts", "burst": 5}]
)
def test_listed_messages_offer_the_load_and_follow_the_shares(arrivals: Any) -> None:
    rows, machine = destinations(SPOT, GRID)
    found = offered(SPOT, **arrivals).messages(rows, machine.nodes, 0.4, 20_000, 1)
    assert found.time.min() >= 0 and found.time.max() < 20_000
    np.testing.assert_allclose(np.bincount(found.source), 8000, rtol=0.1)
    counts = np.zeros((16, 16))
    np.add.at(counts, (found.source, found.destination), 1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), matrix(rows, 16), atol=0.02)
    gaps = np.diff(np.sort(found.time[found.source == 0]))
    # Coefficient of variation: 1 if exponential, 0 if periodic; in bursts four gaps of five are those of the link.
    variation = {"poisson": 1.0, "periodic": 0.0, "bursts": None}[arrivals["arrivals"]]
    if variation is None:
        assert np.mean(np.abs(gaps - 1) < 1e-9) == pytest.approx(0.8, abs=0.02)
    else:
        assert gaps.std() / gaps.mean() == pytest.approx(variation, abs=0.05)


def test_loads_and_lengths_have_the_same_messages() -> None:
    rows, machine = destinations("uniform", GRID)
    short, long, dense = (
        offered("uniform").messages(rows, machine.nodes, load, end, 1)
        for load, end in ((0.2, 500), (0.2, 5000), (0.4, 250))
    )
    for part, factor in ((long, 1.0), (dense, 2.0)):
        first = part.time * factor < 500
        np.testing.assert_array_equal(part.destination[first], short.destination)
        np.testing.assert_allclose(part.time[first] * factor, short.time)


def test_idle_nodes_have_no_messages() -> None:
    rows, machine = destinations("transpose", GRID)
    found = offered("transpose").messages(rows, machine.nodes, 0.5, 1000, 1)
    assert not np.isin(found.source, [0, 5, 10, 15]).any() and len(found.source) > 0
    none = rows._replace(**{name: column[:0] for name, column in rows._asdict().items()})
    assert len(offered("transpose").messages(none, machine.nodes, 0.5, 1000, 1).time) == 0


def test_the_arrivals_of_a_node_make_an_md1_queue() -> None:
    """The mean wait is load / (2 (1 - load)) services, with 1 for the link (Pollaczek and Khinchine)."""
    rows, machine = destinations("complement", GRID)
    found = offered("complement").messages(rows, machine.nodes, 0.7, 200_000, 1)
    waits = []
    for node in range(4):
        times, free = np.sort(found.time[found.source == node]), 0.0
        for time in times:
            waits.append(max(0.0, free - time))
            free = max(free, time) + 1
    assert np.mean(waits) == pytest.approx(0.7 / 0.6, rel=0.03)


def test_a_window_is_long_in_messages_and_in_latencies() -> None:
    """20,000 messages, 10 of each node, and 20 latencies; the warm-up has a quarter of them, or 10 latencies."""
    offered = Offered.model_validate({"traffic": "uniform", "load": 0.01})

    def lengths(load: float, senders: float, latency: float, factor: int = 1) -> tuple[int, int]:
        longer = offered.long_enough(load, senders, latency, factor)
        return longer.warmup, longer.measured

    assert lengths(0.5, 1000, 50) == (1000, 2000)
    assert lengths(0.5, 1000, 300) == (3000, 6000)
    assert lengths(0.01, 50, 300) == (10_000, 40_000)
    assert lengths(0.01, 50, 300, factor=2) == (20_000, 80_000)
    assert lengths(0.001, 5000, 1) == (2500, 10_000)
