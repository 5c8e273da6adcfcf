"""What a record says of a job's mapping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.records import loads_by_routes, mapping_record
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder

from ...machines import place_jobs, point_on

EXTENSIONS = ["furthest_pairing"]

TORUS = {"kind": "torus", "shape": [8, 8, 8], "bandwidth": {"links": "1 GB/s", "host": "1 GB/s"}}


def record_of(
    pattern: dict[str, Any], mapping: Any = "linear", machine: dict[str, Any] = TORUS, routing: Routing | None = None
) -> dict[str, Any]:
    point = point_on(machine, jobs=[{"share": 1.0, "pattern": {"message": "1 kB"} | pattern, "mapping": mapping}])
    built = point.machine.build()
    job, half = place_jobs(point, built)[0], np.arange(built.routers) < built.routers // 2
    loads = loads_by_routes(job, built, routing or DimensionOrder())
    return mapping_record(job, point.jobs[0].pattern, built, loads, half)


def test_the_numbers_of_the_source_for_random_pairs() -> None:
    """8x8x8: most are 12 hops apart; the mean link carries the hops of all messages."""
    found = record_of({"kind": "pairs"}, "random")
    assert found["hops_max"] <= 12 and 5.5 < found["hop_bytes"] / 512_000 < 6.5
    assert found["link_rms_bytes"] >= found["hop_bytes"] / 3072 and found["link_max_bytes"] >= found["link_rms_bytes"]


def test_a_stencil_on_its_torus_reaches_the_least() -> None:
    found = record_of({"kind": "stencil", "shape": [8, 8, 8], "periodic": True}, "orb")
    assert found["hop_bytes"] == found["hop_bytes_bound"] and found["hop_bound_method"] == "partners"
    assert (found["hops_max"], found["link_max_bytes"], found["link_rms_bytes"]) == (1, 1000.0, 1000.0)
    assert found["bound_any_mapping_ns"] == pytest.approx(6000.0)  # six messages over the host link


def test_the_record_names_the_start_of_a_mapping_that_tries_several() -> None:
    stencil = {"kind": "stencil", "shape": [8, 8, 8], "periodic": True, "numbering": "shuffled"}
    found = record_of(stencil, {"kind": "best", "starts": ["random", "orb"], "moves_per_task": 1})
    assert found["mapping_start"] == "orb" and "mapping_start" not in record_of(stencil)


def test_under_adaptive_routing_the_loads_are_those_of_minimal_routing() -> None:
    way = record_of({"kind": "pairs"}, "random", routing=Adaptive())
    assert way["link_max_bytes"] < record_of({"kind": "pairs"}, "random")["link_max_bytes"]


def test_no_other_mapping_where_the_traffic_follows_the_placement() -> None:
    found = record_of({"kind": "furthest-pairing"})
    assert found["hops_max"] == 12 and "hop_bytes_bound" not in found


def test_who_sends_nothing_has_no_quality() -> None:
    point = point_on(TORUS, jobs=[{"share": 1.0, "pattern": "idle"}])
    built = point.machine.build()
    job = place_jobs(point, built)[0]
    loads, half = loads_by_routes(job, built, DimensionOrder()), np.zeros(built.routers, dtype=bool)
    found = mapping_record(job, point.jobs[0].pattern, built, loads, half)
    assert set(found) == {"hop_bytes"} and found["hop_bytes"] == 0.0
