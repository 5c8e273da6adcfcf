"""Routings of extensions on the simulators: built-in ones written again have the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.extensions import load_extensions
from fabricstudy.engine.caminos.channels import channels, hop_classes, routes
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.routing.base import RouteError, Routing
from fabricstudy.routing.base import cached_routes as routes_of
from fabricstudy.routing.listed import PathRoutes, hop_list
from fabricstudy.structure.bound import lower_bound
from fabricstudy.structure.load import link_loads, link_support

from ..machines import DRAGONFLY, place_jobs, point_on

EXTENSIONS = ["furthest_pairing"]

OWN = '''
"""Built-in routings, written again."""

import numpy as np

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, NextHops, ObliviousMemorylessRoutes, Routes, Routing
from fabricstudy.routing.listed import PathRoutes
from fabricstudy.routing.minimal import MinimalRoutes


class AgainRoutes(ObliviousMemorylessRoutes):
    def __init__(self, machine):
        super().__init__(machine)
        self.minimal = MinimalRoutes(machine)

    def next_hops(self, at, goal):
        return self.minimal.next_hops(at, goal)


class Again(Routing, kind="minimal-again"):
    def routes(self, machine: Machine) -> Routes:
        return AgainRoutes(machine)


class Candidates(MemorylessRoutes):
    next_hops = AgainRoutes.next_hops

    def __init__(self, machine):
        super().__init__(machine)
        self.minimal = MinimalRoutes(machine)


class AdaptiveAgain(Routing, kind="adaptive-again"):
    def routes(self, machine: Machine) -> Routes:
        return Candidates(machine)


def minimal_paths(routes, at, goal):
    """All minimal paths with their shares, in the order of the hops."""
    if at == goal:
        yield 1.0, []
        return
    hops = routes.next_hops(np.array([at]), np.array([goal]))
    for link, share in zip(hops.link.tolist(), hops.share.tolist(), strict=True):
        head = int(routes.machine.link_head[link])
        for rest, path in minimal_paths(routes, head, goal):
            yield share * rest, [head, *path]


class MinimalPaths(PathRoutes):
    def __init__(self, machine):
        super().__init__(machine)
        self.minimal = MinimalRoutes(machine)

    def paths(self, source, goal):
        return minimal_paths(self.minimal, source, goal)


class Paths(Routing, kind="minimal-paths"):
    def routes(self, machine: Machine) -> Routes:
        return MinimalPaths(machine)


class ValiantPaths(MinimalPaths):
    def paths(self, source, goal):
        for middle in np.flatnonzero(self.machine.nodes_of_router).tolist():
            for share, first in minimal_paths(self.minimal, source, middle):
                for other, second in minimal_paths(self.minimal, middle, goal):
                    path = [*first, *second]
                    yield share * other, path[: path.index(goal) + 1]


class ValiantAgain(Routing, kind="valiant-again"):
    minimal = False

    def routes(self, machine: Machine) -> Routes:
        return ValiantPaths(machine)


class Uneven(AgainRoutes):
    """Three quarters of the packets take the first of several hops."""

    def next_hops(self, at, goal):
        hops = super().next_hops(at, goal)
        order = np.lexsort((hops.link, hops.packet))
        first = np.diff(hops.packet[order], prepend=-1) > 0
        count = np.bincount(hops.packet, minlength=len(at))[hops.packet[order]]
        share = np.where(count == 1, 1.0, np.where(first, 0.75, 0.25 / np.maximum(count - 1, 1)))
        return NextHops(hops.packet[order], hops.link[order], share)


class UnevenRouting(Routing, kind="uneven"):
    def routes(self, machine: Machine) -> Routes:
        return Uneven(machine)


class OneChannel(AgainRoutes):
    def next_hops(self, at, goal):
        hops = super().next_hops(at, goal)
        return hops._replace(channel=np.zeros_like(hops.link))


class OneChannelRouting(Routing, kind="one-channel"):
    def routes(self, machine: Machine) -> Routes:
        return OneChannel(machine)


class Round(AgainRoutes):
    def next_hops(self, at, goal):
        tail = self.machine.link_tail
        first = np.array([np.flatnonzero(tail == router)[0] for router in at], dtype=np.int64)
        return NextHops(np.arange(len(at)), first, np.ones(len(at)))


class RoundRouting(Routing, kind="loop"):
    def routes(self, machine: Machine) -> Routes:
        return Round(machine)


class Broken(AgainRoutes):
    def next_hops(self, at, goal):
        return [][0]


class BrokenRouting(Routing, kind="broken"):
    def routes(self, machine: Machine) -> Routes:
        return Broken(machine)


class Neither(Routes):
    def support(self, flows):
        return np.ones(self.machine.links, dtype=bool)


class NeitherRouting(Routing, kind="neither"):
    def routes(self, machine: Machine) -> Routes:
        return Neither(machine)
'''

SLIM_FLY = {"kind": "slim-fly", "q": 3, "nodes_per_router": 1, "bandwidth": "1 GB/s"}
RING = {"kind": "torus", "shape": [4], "nodes_per_router": 2, "bandwidth": "1 GB/s"}


@pytest.fixture(autouse=True)
def own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    load_extensions(["own.py"], tmp_path)


def refusal(point: Point) -> str | None:
    return engine_named(point.engine.kind).unsupported(point, point.machine.build())


def simulated(point: Point, folder: Path) -> dict[str, Any]:
    probe = engine_named(point.engine.kind).probe()
    if not probe.found:
        pytest.skip(str(probe.reason))
    found = simulate_in_folder(PlannedPoint(point_id(point), machine_id(point.machine), point), folder, Limits())
    record: dict[str, Any] = found.get("record", found)
    assert record["status"] == "done", record["reason"]
    return record


def same(own: dict[str, Any], built_in: dict[str, Any]) -> bool:
    times = [[job["runtime_ns"] for job in record["jobs"]] for record in (own, built_in)]
    loads = [[{key: row[key] for key in row if key.startswith("load_")} for row in r["links"]] for r in (own, built_in)]
    return times[0] == times[1] and loads[0] == loads[1]


@pytest.mark.parametrize("engine", ["caminos", "flow", "packet", "sst"])
@pytest.mark.parametrize("machine", [SLIM_FLY, RING], ids=["slim-fly", "ring"])
def test_minimal_again_is_minimal(engine: str, machine: dict[str, Any], tmp_path: Path) -> None:
    own, built_in = (point_on(machine, kind, message="8 kB", engine=engine) for kind in ("minimal-again", "minimal"))
    assert same(simulated(own, tmp_path / "own"), simulated(built_in, tmp_path / "built-in"))


@pytest.mark.parametrize("engine", ["caminos", "flow", "packet"])
def test_candidates_are_chosen_as_those_of_adaptive(engine: str, tmp_path: Path) -> None:
    own, built_in = (point_on(SLIM_FLY, kind, message="8 kB", engine=engine) for kind in ("adaptive-again", "adaptive"))
    assert same(simulated(own, tmp_path / "own"), simulated(built_in, tmp_path / "built-in"))


@pytest.mark.parametrize(("kind", "again"), [("minimal", "minimal-paths"), ("valiant", "valiant-again")])
def test_paths_of_sst_are_those_that_it_is_given(kind: str, again: str, tmp_path: Path) -> None:
    """SST draws one of a list of paths; a path of Valiant ends where it meets its destination, and SST's goes on."""
    machine = {"kind": "hyperx", "shape": [4], "nodes_per_router": 2, "bandwidth": "1 GB/s"} | RING
    own, built_in = (point_on(machine, routing, message="8 kB", engine="sst") for routing in (again, kind))
    records = simulated(own, tmp_path / "own"), simulated(built_in, tmp_path / "built-in")
    if kind == "minimal":
        assert same(*records)
    else:
        times = [record["jobs"][0]["runtime_ns"] for record in records]
        assert times[0] == pytest.approx(times[1], rel=0.1)


@pytest.mark.parametrize("engine", ["caminos", "flow", "packet"])
@pytest.mark.parametrize(("kind", "again"), [("minimal", "minimal-paths"), ("valiant", "valiant-again")])
def test_paths_have_the_times_and_loads_of_the_built_in_kind(
    engine: str, kind: str, again: str, tmp_path: Path
) -> None:
    settings = {"kind": engine} | ({"phit": "2 kB"} if engine == "caminos" else {})
    pattern = {"kind": "all-to-all", "order": "random"}
    own, built_in = (point_on(RING, routing, pattern, "32 kB", engine=settings) for routing in (again, kind))
    records = simulated(own, tmp_path / "own"), simulated(built_in, tmp_path / "built-in")
    times = [record["jobs"][0]["runtime_ns"] for record in records]
    assert times[0] == pytest.approx(times[1], rel=0.08)
    loads = [record["links"][0]["load_mean_bytes"] for record in records]
    assert loads[0] == pytest.approx(loads[1], rel=0.03)


@pytest.mark.parametrize("engine", ["caminos", "flow", "packet", "sst"])
def test_uneven_shares_are_the_loads(engine: str, tmp_path: Path) -> None:
    """Router 0 sends to router 2 of a ring of 4, three quarters of it by one side."""
    point = point_on(RING, "uneven", {"kind": "furthest-pairing"}, "4 MB", engine=engine)
    record = simulated(point, tmp_path / "run")
    machine = point.machine.build()
    (job,) = place_jobs(point, machine)
    ends = job.node_of_rank[job.messages.source], job.node_of_rank[job.messages.destination]
    expected = link_loads(machine, *ends, job.messages.size_bytes, point.routing).link_bytes
    assert record["links"][0]["load_max_bytes"] == pytest.approx(expected.max(), rel=0.05)
    assert expected.max() == pytest.approx(2 * expected[expected > 0].mean(), rel=0.6)


@pytest.mark.parametrize("again", ["minimal-again", "minimal-paths"])
@pytest.mark.parametrize("machine", [SLIM_FLY, DRAGONFLY], ids=["slim-fly", "dragonfly"])
def test_loads_links_and_bounds_are_those_of_minimal(machine: dict[str, Any], again: str) -> None:
    built = point_on(machine).machine.build()
    source, goal = np.nonzero(~np.eye(built.nodes, dtype=np.bool_))
    size, routings = np.full(len(source), 100.0), [Routing.model_validate(kind) for kind in (again, "minimal")]
    loads = [link_loads(built, source, goal, size, routing).link_bytes for routing in routings]
    assert np.allclose(loads[0], loads[1], rtol=1e-12)
    support = [link_support(built, source, goal, routing) for routing in routings]
    assert np.array_equal(support[0], support[1])
    half = np.arange(built.routers) < built.routers // 2
    bounds = [lower_bound(built, source, goal, size, half, routing).time_ns for routing in routings]
    assert bounds[0] <= bounds[1] * (1 + 1e-9)


def test_hop_k_has_channel_k_unless_the_routing_states_one() -> None:
    built = point_on(SLIM_FLY).machine.build()
    point = point_on(SLIM_FLY, "minimal-again")
    assert (channels(point, built), hop_classes(point.routing, built)) == (2, 2)
    assert "by_hops: true" in routes(point, built)
    full = {"kind": "hyperx", "shape": [4], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
    point, built = point_on(full, "one-channel"), point_on(full).machine.build()
    assert (channels(point, built), hop_classes(point.routing, built)) == (4, 1)
    assert "virtual channels" in str(refusal(point_on(RING, "one-channel")))


@pytest.mark.parametrize("engine", ["caminos", "flow", "packet", "sst"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [("loop", "the next hops"), ("neither", "neither next hops nor paths"), ("broken", "own.py, line")],
)
def test_what_cannot_be_had_is_refused_by_name(engine: str, kind: str, said: str) -> None:
    reason = refusal(point_on(RING, kind, engine=engine))
    assert kind in str(reason) and said in str(reason)


def test_engines_refuse_what_they_cannot_take() -> None:
    tree = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
    assert "minimal-again" in str(refusal(point_on(DRAGONFLY, "minimal-again", engine="codes")))
    assert "nodes on each router" in str(refusal(point_on(tree, "minimal-again", engine="sst")))
    assert "adaptive-again routing decides at each hop" in str(refusal(point_on(RING, "adaptive-again", engine="sst")))
    assert refusal(point_on(tree, "minimal-again", engine="caminos")) is None


class OnePath(PathRoutes):
    """A path for each pair, whatever a test wants."""

    def __init__(self, machine: Any, path: list[int], weight: float) -> None:
        super().__init__(machine)
        self._path, self._weight = path, weight

    def paths(self, source: int, goal: int) -> list[tuple[float, list[int]]]:
        return [(self._weight, self._path)]


@pytest.mark.parametrize(
    ("path", "weight", "said"),
    [
        ([1], 0.0, "no weights"),
        ([1], float("nan"), "no weights"),
        ([3], 1.0, "does not end"),
        ([], 1.0, "does not end"),
    ],
)
def test_paths_that_are_none(path: list[int], weight: float, said: str) -> None:
    with pytest.raises(RouteError, match=said):
        _ = OnePath(point_on(RING).machine.build(), path, weight).all_paths


def test_longest_route_is_that_of_the_machine() -> None:
    built = point_on(DRAGONFLY).machine.build()
    routes: Any = routes_of(built, Routing.model_validate("minimal"))
    listed = hop_list(routes)
    assert listed.longest_route == 3 and listed.channel is None and not listed.share.any()
