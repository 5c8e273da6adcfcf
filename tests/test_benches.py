"""The benches: each is there under its name, and what the one of the front end simulates can be planned today."""

from __future__ import annotations

import importlib

import pytest
from benches import __main__ as benches
from benches import front_end


@pytest.mark.parametrize("name", [*benches.BENCHES, "scale", "large", "busy", "stages"])
def test_each_bench_can_be_called(name: str) -> None:
    assert callable(importlib.import_module(f"benches.{name}").main)


def test_inputs_of_the_front_end_are_points() -> None:
    for kind, (sizes, routings) in front_end.MACHINES.items():
        for routing in routings:
            assert front_end.point(kind, sizes, routing).machine.nodes > 0
