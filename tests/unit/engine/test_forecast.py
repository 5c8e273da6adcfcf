"""Forecasts: the law by hand, its inputs against exact distances, and the laws that come with the engines."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.codes.adapter import Codes
from fabricstudy.engine.cost_model import load_cost_model, messages_of, network_traffic, weighted_sum
from fabricstudy.engine.job_traffic import NEAR, traffic_by_job
from fabricstudy.engine.point import Point
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import distances

from ...machines import point_on


def point(pattern: str = "ring", mapping: str = "linear", routing: str = "dimension-order", **more: Any) -> Point:
    """A torus of 16 nodes; two routers drawn at random are 2 hops apart."""
    torus = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}
    job = {"share": 1.0, "pattern": {"kind": pattern, "message": "5 kB"}, "mapping": mapping}
    return point_on(torus, routing, jobs=[job], **more)


class TestCounts:
    def test_units_and_routers_by_hand(self) -> None:
        # Each of 16 ranks sends 5 kB to both its neighbours; a way of 2 hops and in and out.
        assert messages_of(point()) == 32
        assert network_traffic(point(), 1000.0) == (32 * 5, 32 * 5 * 4, 32 * 5 * 4)
        assert network_traffic(point(), 2000.0).units == 32 * 3
        assert network_traffic(point(), inf).units == 32

    def test_a_detour_has_two_ways(self) -> None:
        assert network_traffic(point(routing="valiant"), inf).in_routers == 32 * (2 + 2 * 2)
        assert network_traffic(point(routing="ugal"), inf).in_routers == 32 * (2 + 1.5 * 2)

    def test_ranks_with_places_are_near_unless_they_stand_at_random(self) -> None:
        near, far = point("stencil"), point("stencil", "random")
        assert [job.hops for one in (near, far) for job in traffic_by_job(one)] == [NEAR, 1.0]
        assert network_traffic(near, inf).global_in_routers == 0 < network_traffic(far, inf).global_in_routers

    def test_in_the_background_a_job_sends_as_long_as_the_others(self) -> None:
        ring = {"pattern": {"kind": "ring", "message": "10 kB"}, "nodes": 8}
        jobs = [ring | {"pattern": {"kind": "ring", "message": "10 kB", "iterations": 5}}, ring | {"background": True}]
        first, second = traffic_by_job(point().model_copy(update={"jobs": point_on(TORUS, jobs=jobs).jobs}))
        assert first.classes[0].messages == second.classes[0].messages

    def test_what_has_no_constant_takes_nothing(self) -> None:
        assert weighted_sum({"run": 2.0, "unheard of": 9.0}, {"run": 0.5}) == 1.0


TORUS = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}


@pytest.mark.parametrize(
    ("shape", "message", "crowded", "uncached"),
    [([8, 8], "100 kB", 0.1, 0.0), ([8, 8], "20 MB", 1.0, 0.0), ([80, 80], "100 kB", 0.1, (32_000 - 7000) / 40_000)],
)
def test_caminos_takes_longer_for_phits_in_a_crowd_and_in_large_networks(
    shape: list[int], message: str, crowded: float, uncached: float
) -> None:
    torus = {"kind": "torus", "shape": shape, "bandwidth": "1 GB/s"}
    this = point_on(torus, "dimension-order", "ring", message, engine={"kind": "caminos", "phit": "2 kB"})
    counts = Caminos().work(this).cpu
    phits = counts["phit in a router"]
    assert counts["phit in a router, in a crowd"] == pytest.approx(crowded * phits)
    assert counts["phit in a router, not cached"] == pytest.approx(uncached * phits)


@pytest.mark.parametrize(
    "machine",
    [
        {"kind": "torus", "shape": [8, 6, 4]},
        {"kind": "mesh", "shape": [8, 6, 4]},
        {"kind": "express-mesh", "shape": [6, 6, 6], "gap": 1, "nodes_per_router": 2},
        {"kind": "express-mesh", "shape": [8, 7, 6], "gap": 2, "nodes_per_router": 2},
        {"kind": "hypercube", "dimensions": 6},
        {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2},
        {"kind": "dragonfly", "groups": 33, "routers_per_group": 8, "nodes_per_router": 4},
        {"kind": "slim-fly", "q": 5, "nodes_per_router": 4},
        {"kind": "fat-tree", "radix": 8},
    ],
)
def test_typical_hops_are_near_the_mean_distance(machine: dict[str, Any]) -> None:
    topology: Topology = Topology.model_validate({**machine, "bandwidth": "1 GB/s"})
    assert topology.typical_hops == pytest.approx(float(distances(topology.build()).mean()), rel=0.3)


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes", "flow"])
def test_laws_say_what_they_were_fitted_to(engine: str) -> None:
    law = load_cost_model(f"fabricstudy.engine.{engine}")
    for fit in (law.cpu_fit, law.memory_fit):
        assert fit.records > 100 and fit.programs and fit.source and fit.date and fit.processor
        middle, low, high = fit.ratio["all"]
        assert 0 < low <= middle <= high
    assert 0.8 < law.cpu_fit.ratio["all"][0] < 1.25
    assert all(value > 0 for value in (*law.cpu_s.values(), *law.memory_bytes.values()))


def test_memory_of_codes_goes_by_the_packets_that_it_sends() -> None:
    """On a torus they are parts of the study's packets. CODES 65f91189 took 380 MB here."""
    bandwidth = {"links": "1 GB/s", "host": "6 GB/s"}
    jobs = [{"share": 1.0, "pattern": {"kind": "ring", "message": "10 kB"}, "mapping": "random"}]
    torus = {"kind": "torus", "shape": [8, 8, 8], "bandwidth": bandwidth}
    needed = Codes().predict_memory_bytes(point_on(torus, "dimension-order", jobs=jobs, engine="codes"))
    assert 380e6 / 1.5 < needed < 380e6 * 1.5
