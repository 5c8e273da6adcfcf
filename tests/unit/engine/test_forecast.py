"""Forecasts: the law by hand, its inputs against exact distances, and the laws that come with the engines."""

from __future__ import annotations

from typing import Any

import pytest

from fabricstudy.engine.codes.adapter import Codes
from fabricstudy.engine.forecast import Fit, Law, Work, cpu_s, law_of, memory_bytes, slowness
from fabricstudy.engine.loads import traffic_by_job
from fabricstudy.engine.point import Point
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import distances

from ...machines import point_on

FIT = Fit(records=1, programs=["x"], processor="x", cpu_error_median=1, cpu_error_95=1, memory_error_95=1)
LAW = Law(
    once_s={"run": 0.5, "message": 0.25},
    unit_s=2.0,
    crowd_power=0.5,
    slow_power=1.0,
    port_power=0.0,
    size_power=1.0,
    routing={"minimal": 3.0},
    topology={"torus": 5.0},
    pattern={"ring": 7.0},
    memory_bytes={"run": 100.0, "message": 10.0},
    fit=FIT,
)


def point(routing: str = "dimension-order", bandwidth: Any = "1 GB/s", mapping: str = "linear") -> Point:
    """A torus of 16 nodes; two routers drawn at random are 2 hops apart."""
    return Point.model_validate(
        {
            "machine": {"kind": "torus", "shape": [4, 4], "bandwidth": bandwidth},
            "routing": {"kind": routing},
            "jobs": [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}, "mapping": {"kind": mapping}}],
            "engine": {"kind": "caminos"},
            "seed": 1,
        }
    )


class TestLaw:
    def test_processor_time_by_hand(self) -> None:
        work = Work({"ring": 16.0, "stencil": 48.0}, 1.0, {"run": 1.0, "message": 2.0, "unheard of": 9.0}, {})
        # 1 second once; 7 x 16 + 48 units pass 2 + 2 routers; 4 units a node make it twice as long.
        assert cpu_s(point(), work, LAW) == pytest.approx(1 + 2 * (7 * 16 + 48) * 4 * 5 * 2)

    def test_kinds_that_were_measured_have_factors(self) -> None:
        work = Work({"ring": 16.0}, 1.0, {}, {})
        assert cpu_s(point("minimal"), work, LAW) == pytest.approx(3 * cpu_s(point(), work, LAW))

    def test_slow_links_make_packets_wait(self) -> None:
        slow = point(bandwidth={"links": ["1 GB/s", "0.5 GB/s"], "host": "2 GB/s"})
        assert slowness(slow) == 4 and slowness(point()) == 1
        assert slowness(point(bandwidth={"links": "2 GB/s", "host": "1 GB/s"})) == 1
        work = Work({"ring": 16.0}, 1.0, {}, {})
        assert cpu_s(slow, work, LAW) == pytest.approx(4 * cpu_s(point(), work, LAW))

    def test_ports_cost_time(self) -> None:
        wide, work = LAW.model_copy(update={"port_power": 1.0}), Work({"ring": 16.0}, 1.0, {}, {})
        # Four cables and a node on each router.
        assert cpu_s(point(), work, wide) == pytest.approx(5 * cpu_s(point(), work, LAW))

    def test_larger_units_cost_more(self) -> None:
        small, large = (Work({"ring": 16.0}, size, {}, {}) for size in (1.0, 8.0))
        assert cpu_s(point(), large, LAW) == pytest.approx(8 * cpu_s(point(), small, LAW))

    def test_ranks_at_random_have_a_factor_of_their_own_or_that_of_the_pattern(self) -> None:
        near, far = Work({"ring": 16.0}, 1.0, {}, {}), Work({"ring at random": 16.0}, 1.0, {}, {})
        assert cpu_s(point(), far, LAW) == cpu_s(point(), near, LAW)
        known = LAW.model_copy(update={"pattern": {"ring": 7.0, "ring at random": 14.0}})
        assert cpu_s(point(), far, known) == pytest.approx(2 * cpu_s(point(), near, known))

    @pytest.mark.parametrize(("mapping", "work"), [("linear", "ring"), ("random", "ring at random")])
    def test_what_a_job_sends_is_named_by_where_its_ranks_stand(self, mapping: str, work: str) -> None:
        assert [traffic.work for traffic in traffic_by_job(point(mapping=mapping))] == [work]

    def test_memory_by_hand(self) -> None:
        assert memory_bytes(Work({}, 1.0, {}, {"run": 1.0, "message": 3.0, "unheard of": 9.0}), LAW) == 130

    def test_nothing_sent_costs_what_is_done_once(self) -> None:
        assert cpu_s(point(), Work({}, 1.0, {"run": 1.0}, {}), LAW) == 0.5


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


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
def test_laws_say_what_they_were_fitted_to(engine: str) -> None:
    fit = law_of(f"fabricstudy.engine.{engine}").fit
    assert fit.records > 100 and fit.programs and 1 <= fit.cpu_error_median <= fit.cpu_error_95


def test_memory_of_codes_goes_by_the_packets_that_it_sends() -> None:
    """On a torus they are parts of the study's packets. CODES 65f91189 took 380 MB here."""
    bandwidth = {"links": "1 GB/s", "host": "6 GB/s"}
    jobs = [{"share": 1.0, "pattern": {"kind": "ring", "message": "10 kB"}, "mapping": "random"}]
    torus = {"kind": "torus", "shape": [8, 8, 8], "bandwidth": bandwidth}
    needed = Codes().predict_memory_bytes(point_on(torus, "dimension-order", jobs=jobs, engine="codes"))
    assert 380e6 / 1.5 < needed < 380e6 * 1.5
