"""What engines make of a fabric from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.analysis.deadlock import Deadlock
from fabricstudy.engine.caminos import Caminos
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.sst.wiring import wire
from fabricstudy.machine.base import Topology
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.summary import describe_machine

from ..machines import place_jobs, point_on
from .run_caminos import ends, simulate


def petersen(folder: Path, **keys: Any) -> Topology:
    graph = nx.relabel_nodes(nx.petersen_graph(), str)
    nx.write_graphml(graph, folder / "petersen.graphml")
    written = {"kind": "graph", "file": "petersen.graphml", "bandwidth": "1 GB/s", "nodes_per_router": 2} | keys
    return Topology.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


def test_the_petersen_graph_is_described(tmp_path: Path) -> None:
    # It has diameter 2, girth 5 and a bisection of 5 edges; between two routers there is one shortest path.
    found = describe_machine(petersen(tmp_path).build())
    assert (found.diameter, found.radix) == (2, 5) and found.mean_hops == pytest.approx(5 / 3)
    assert found.bisection.exact and found.bisection.upper_Bps == 5e9


def test_deadlock_is_looked_for(tmp_path: Path) -> None:
    # Any two edges at a router are on the shortest path of their ends, so one channel closes the rings of five.
    analysis = Deadlock(machines={"petersen": petersen(tmp_path)}, routings={"minimal": "minimal", "ugal": "ugal"})
    assert [(row["free"], row["free_with_one_channel"]) for row in analysis.rows()] == [(1, 0), (1, None)]


@pytest.mark.skipif(Caminos.program_path() is None, reason="fabricstudy-caminos is not built")
@pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
def test_caminos_carries_all_to_all(tmp_path: Path, routing: str) -> None:
    point = point_on(petersen(tmp_path), routing, message="4 kB")
    machine = point.machine.build()
    jobs = place_jobs(point, machine)
    result, _ = simulate(tmp_path / "run", point, jobs, machine)
    assert result.job_runtime_ns[0] is not None and result.link_bytes is not None
    if routing == "minimal":
        assert np.array_equal(result.link_bytes, link_loads(machine, *ends(jobs), point.routing).link_bytes)
    else:
        assert (
            result.link_bytes.sum() > link_loads(machine, *ends(jobs), point_on(point.machine).routing).link_bytes.sum()
        )


@pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
def test_sst_takes_it_by_our_routes_and_codes_refuses_it(tmp_path: Path, routing: str) -> None:
    point = point_on(petersen(tmp_path), routing)
    assert wire(point, point.machine.build()).component == "merlin.anytopo"
    on_codes = point_on(point.machine, routing, engine="codes")
    assert "topology graph" in str(engine_named("codes").unsupported(on_codes, point.machine.build()))
    (tmp_path / "f.csv").write_text("from,to,class\nn,a,host\nm,b,host\na,c,\nb,c,\n")
    bare = point_on(petersen(tmp_path, file="f.csv", nodes_per_router=None), routing)
    with pytest.raises(Unsupported):
        wire(bare, bare.machine.build())
