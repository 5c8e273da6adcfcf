"""What detours lead through: done as the study says, or refused; never changed without a word."""

from __future__ import annotations

from typing import Any

import pytest

from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.sst.wiring import wire

from ...machines import DRAGONFLY, point_on

TWO_TO_ONE = DRAGONFLY | {"bandwidth": {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"}}
SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
HYPERX = {"kind": "hyperx", "shape": [4, 3], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
DETOURS = ["valiant", "ugal"]


def point(machine: dict[str, Any], routing: str, via: str | None, engine: str) -> Point:
    this = point_on(machine, routing, message="10 kB", engine=engine)
    if via is None:
        return this
    return this.model_copy(update={"routing": this.routing.model_copy(update={"via": via})})


def refusal(machine: dict[str, Any], routing: str, via: str | None, engine: str) -> str | None:
    this = point(machine, routing, via, engine)
    return engine_named(engine).unsupported(this, this.machine.build())


@pytest.mark.parametrize("routing", DETOURS)
class TestDetours:
    def test_codes_goes_through_groups_of_a_dragonfly_and_routers_of_a_slim_fly(self, routing: str) -> None:
        assert refusal(DRAGONFLY, routing, "group", "codes") is None
        assert "routing.via: group" in (refusal(DRAGONFLY, routing, "router", "codes") or "")
        assert refusal(SLIM_FLY, routing, "router", "codes") is None
        assert "routing.via: router" in (refusal(SLIM_FLY, routing, "group", "codes") or "")

    @pytest.mark.parametrize("machine", [DRAGONFLY, TWO_TO_ONE])
    def test_sst_goes_through_groups_of_a_dragonfly_by_itself(self, routing: str, machine: dict[str, Any]) -> None:
        this = point(machine, routing, "group", "sst")
        assert wire(this, this.machine.build()).component == "merlin.dragonfly"

    def test_sst_goes_through_routers_of_a_dragonfly_by_our_routes(self, routing: str) -> None:
        this = point(DRAGONFLY, routing, "router", "sst")
        assert wire(this, this.machine.build()).component == "merlin.anytopo"
        # That element has one bandwidth for all links.
        assert "bandwidth" in (refusal(TWO_TO_ONE, routing, "router", "sst") or "")

    @pytest.mark.parametrize("machine", [SLIM_FLY, HYPERX])
    def test_sst_goes_through_routers_of_anything_else(self, routing: str, machine: dict[str, Any]) -> None:
        assert refusal(machine, routing, "router", "sst") is None
        assert "routing.via: router" in (refusal(machine, routing, "group", "sst") or "")
