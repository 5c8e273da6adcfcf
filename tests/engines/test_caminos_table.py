"""Routes by a table in CAMINOS: those of d-mod-k again, and tables along which a circle could close."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.channels import FREE_CHANNELS, channels, routes
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, Routing
from fabricstudy.routing.base import cached_routes as routes_of
from fabricstudy.structure.load import link_loads

from ..machines import place_jobs, point_on
from .run_caminos import ends, simulate

PROBE = Engine(Caminos).probe()
pytestmark = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
RING = {"kind": "torus", "shape": [5], "nodes_per_router": 2, "bandwidth": "1 GB/s"}


def table_routing(folder: Path, rows: list[tuple[int, int, int]]) -> Routing:
    """Routing by a table of router, node and next router."""
    text = "\n".join(["router,destination,next", *(",".join(map(str, row)) for row in rows)])
    (folder / "table.csv").write_text(text)
    return Routing.model_validate({"kind": "table", "file": "table.csv"}, context={"folder": folder})


def table_of(folder: Path, machine: Machine, routing: Any) -> Routing:
    """The table of a routing that has one way for each destination."""
    way = routes_of(machine, routing)
    assert isinstance(way, MemorylessRoutes) and way.by_destination_node
    rows = []
    for router in range(machine.routers):
        goal = np.flatnonzero(machine.node_router != router)
        hops = way.next_hops(np.full(len(goal), router), goal)
        rows += [(router, int(goal[p]), int(machine.link_head[link])) for p, link in zip(*hops[:2], strict=True)]
    return table_routing(folder, rows)


def with_table(this: Point, table: Routing) -> Point:
    """Return the point with a table for its routing."""
    return this.model_copy(update={"routing": table})


def test_a_table_of_d_mod_k_takes_its_time_to_the_last_digit(tmp_path: Path) -> None:
    this = point_on(TREE, "d-mod-k", message="20 kB")
    machine = this.machine.build()
    jobs = place_jobs(this, machine)
    own, raw = simulate(tmp_path / "own", this, jobs, machine)
    by_table = with_table(this, table_of(tmp_path, machine, this.routing))
    assert (channels(by_table, machine), routes(by_table, machine)[:22]) == (FREE_CHANNELS, 'Routes { kind: "table"')
    table, raw_of_table = simulate(tmp_path / "table", by_table, jobs, machine)
    assert table.job_runtime_ns == own.job_runtime_ns and raw_of_table == raw


def test_where_a_circle_could_close_hops_have_channels_of_their_own(tmp_path: Path) -> None:
    """All packets go round a ring the same way, many at once, in buffers of four packets."""
    this = point_on(RING, message="40 kB", network={"buffer": "8 kB"})
    machine = this.machine.build()
    rows = [(router, node, (router + 1) % 5) for router in range(5) for node in range(10) if node // 2 != router]
    this = with_table(this, table_routing(tmp_path, rows))
    # The longest way has four hops.
    assert (channels(this, machine), "by_hops: true" in routes(this, machine)) == (4, True)
    jobs = place_jobs(this, machine)
    result, _ = simulate(tmp_path / "run", this, jobs, machine)
    assert result.link_bytes is not None
    assert np.allclose(result.link_bytes, link_loads(machine, *ends(jobs), this.routing).link_bytes, rtol=1e-12)


def test_parallel_cables_and_rows_of_cables_carry_by_their_number(tmp_path: Path) -> None:
    """Router 0 to 1 by three cables of one class and one of another, as fast: each has a quarter."""
    head = "from,to,class,count,bandwidth\nn,a,host,,4 GB/s\nm,b,host,,4 GB/s\n"
    (tmp_path / "f.csv").write_text(head + "a,b,up,3,1 GB/s\na,b,slow,1,1 GB/s\n")
    (tmp_path / "table.csv").write_text("router,destination,next\na,m,b\nb,n,a\n")
    job = {"share": 1.0, "pattern": {"kind": "ring", "message": "1 MB"}}
    sections = {"machine": {"kind": "graph", "file": "f.csv"}, "routing": {"kind": "table", "file": "table.csv"},
                "jobs": [job], "engine": "caminos", "seed": 1}  # fmt: skip
    this = Point.model_validate(sections, context={"folder": tmp_path})
    machine = this.machine.build()
    result, _ = simulate(tmp_path / "run", this, place_jobs(this, machine), machine)
    assert result.link_bytes is not None
    share = np.sort(result.link_bytes)[[0, 1, 2, 3]] / 2e6
    assert share == pytest.approx([0.25, 0.25, 0.75, 0.75], abs=0.03)
