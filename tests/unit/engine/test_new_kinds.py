"""Kinds that no engine has heard of: planned like any others, and refused as a row by engines that cannot have them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from fabricstudy.core.kinds import Kind
from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.batch import make_batches
from fabricstudy.engine.definitions import AnalysedMachine
from fabricstudy.engine.point import PlannedPoint, Point
from fabricstudy.engine.registry import engine_named, engines
from fabricstudy.engine.settings import Limits
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grids import HypercubeConfig, TorusConfig
from fabricstudy.routing.base import Routes, Routing
from fabricstudy.routing.minimal import MinimalRoutes
from fabricstudy.workload.pattern.base import MessagePattern, Pattern, Sends

from ...machines import DRAGONFLY, FourRouters, point_on

KNOWN: dict[str, dict[str, Any]] = {
    "dragonfly": DRAGONFLY,
    "torus": {"kind": "torus", "shape": [3, 3], "bandwidth": "1 GB/s"},
    "mesh": {"kind": "mesh", "shape": [3, 3], "bandwidth": "1 GB/s"},
    "hyperx": {"kind": "hyperx", "shape": [3, 3], "bandwidth": "1 GB/s"},
    "fat-tree": {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"},
    "slim-fly": {"kind": "slim-fly", "q": 5, "nodes_per_router": 1, "bandwidth": "1 GB/s"},
}
ENGINES = sorted(engines())


class Wormhole(FourRouters):
    kind: Literal["wormhole"] = "wormhole"

    def build(self) -> Machine:
        return replace(HypercubeConfig.model_validate(CUBE).build(), kind=self.kind)


CUBE = {"kind": "hypercube", "dimensions": 2, "bandwidth": "1 GB/s"}


class Teleport(Routing):
    kind: Literal["teleport"] = "teleport"

    def routes(self, machine: Machine) -> Routes:
        return MinimalRoutes(machine)


class Gossip(MessagePattern):
    kind: Literal["gossip"] = "gossip"

    def traffic_messages(self, ranks: int) -> float:
        return float(ranks)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        return Sends(np.zeros(ranks, dtype=np.int32), rank, np.roll(rank, 1))


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    families: dict[type[Kind], Any] = {Wormhole: Topology.FAMILY, Teleport: Routing.FAMILY, Gossip: Pattern.FAMILY}
    for member, family in families.items():
        assert family.kinds
        family.add(member)
    yield
    for member, family in families.items():
        family.remove(str(member.model_fields["kind"].default))


def planned(engine: str, machine: str, routing: str, pattern: str) -> Point:
    """A point as a plan has it: what it will cost is predicted, and it is put into a batch."""
    described = KNOWN.get(machine, {"kind": machine})
    point = point_on(described, routing, pattern, "8 kB", engine=engine)
    (batch,) = make_batches([PlannedPoint("p0", "m0", point)], Limits(), 60.0)
    assert 0 < batch.cpu_s < 60
    needed = engine_named(engine).predict_memory_bytes(point)
    assert math.isfinite(needed) and (0 < needed < 1e9 or (engine == "analysis" and needed == 0))
    return point


def refusal(point: Point) -> str | None:
    return engine_named(point.engine.kind).unsupported(point, point.machine.build())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("machine", sorted(KNOWN))
def test_a_routing(engine: str, machine: str) -> None:
    point = planned(engine, machine, "teleport", "all-to-all")
    # SST takes the routes on any graph that has nodes on each router.
    if engine == "codes":
        assert "teleport" in (refusal(point) or "")
    else:
        assert (refusal(point) is not None) == (engine == "sst" and machine == "fat-tree")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_topology(engine: str) -> None:
    point = planned(engine, "wormhole", "minimal", "all-to-all")
    # SST takes any graph that has nodes on each router, with our routes.
    assert ("wormhole" in (refusal(point) or "")) == (engine == "codes")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("machine", sorted(KNOWN))
def test_a_pattern(engine: str, machine: str, tmp_path: Path) -> None:
    routing = {"torus": "dimension-order", "mesh": "dimension-order", "hyperx": "dimension-order"}.get(machine)
    point = planned(engine, machine, routing or ("d-mod-k" if machine == "fat-tree" else "minimal"), "gossip")
    if engine != "codes" or machine != "torus":
        assert refusal(point) is None


@pytest.mark.parametrize("pattern", ["gossip", "ring"])
def test_a_pattern_without_a_motif_is_refused_where_motifs_are_asked_for(pattern: str) -> None:
    point = point_on(DRAGONFLY, "minimal", pattern, engine={"kind": "sst", "motifs": "native"})
    assert pattern in (refusal(point) or "")


@pytest.mark.parametrize(
    ("engine", "machine", "routing"),
    [("codes", "wormhole", "minimal"), ("codes", "dragonfly", "teleport"), ("sst", "fat-tree", "teleport")],
)
def test_what_an_engine_lacks_is_a_row_with_a_reason(engine: str, machine: str, routing: str, tmp_path: Path) -> None:
    point = planned(engine, machine, routing, "gossip")
    built = point.machine.build()
    analysed = AnalysedMachine(built, np.arange(built.routers) < built.routers // 2)
    record = attempt_point(point, engine_named(engine), analysed, Limits(), tmp_path)
    assert record["status"] == "unsupported" and record["reason"]


@pytest.mark.parametrize(
    ("base", "described", "routing"),
    [
        (DragonflyConfig, KNOWN["dragonfly"], "minimal"),
        (TorusConfig, KNOWN["torus"] | {"shape": [4]}, {"kind": "dimension-order", "tie": "positive"}),
        (FatTreeConfig, KNOWN["fat-tree"], "adaptive"),
    ],
)
def test_what_is_derived_from_a_topology_and_wired_otherwise_is_not_taken_for_it(
    base: type[Topology], described: dict[str, Any], routing: Any
) -> None:
    """SST must not wire a twisted machine as the straight one from which it is derived."""
    from fabricstudy.engine.failures import Unsupported
    from fabricstudy.engine.sst.wiring import wire

    class Twisted(base):  # type: ignore[misc, valid-type]
        kind: Literal["twisted"] = "twisted"

        def build(self) -> Machine:
            straight: Machine = super().build()
            return replace(straight, kind="twisted")

    Topology.FAMILY.add(Twisted)
    try:
        point = point_on(described | {"kind": "twisted"}, routing, engine="sst")
        straight = point_on(described, routing, engine="sst")
        assert wire(straight, straight.machine.build()).component != "merlin.anytopo"
        try:
            component = wire(point, point.machine.build()).component
        except Unsupported:
            return
        assert component == "merlin.anytopo"
    finally:
        Topology.FAMILY.remove("twisted")
