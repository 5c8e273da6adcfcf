"""Routers that store much of a message before they forward it are named when a study is planned."""

from __future__ import annotations

import pytest

from fabricstudy.engine.packet_remarks import packet_remarks
from fabricstudy.engine.point import Point


def _point(engine: str, packet: str, message: str) -> Point:
    return Point.model_validate(
        {
            "machine": {"kind": "torus", "shape": [8, 8], "nodes_per_router": 1, "bandwidth": "1 GB/s"},
            "routing": "dimension-order", "engine": engine, "network": {"packet": packet}, "seed": 1,
            "jobs": [{"name": "app", "share": 1, "pattern": {"kind": "ping-pong", "message": message}}],
        },
        by_alias=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "packet", "message", "times"),
    [
        # Two routers drawn at random are 4 hops apart: a message passes 5 routers.
        ("caminos", "2 kB", "2 kB", "0.6"),  # 5 x 250 B / 2 kB
        ("caminos", "200 B", "2 kB", None),
        ("caminos", "2 kB", "100 B", "5.0"),  # a router stores no more than the message
        ("codes", "2 kB", "25 kB", "0.4"),
        ("sst", "2 kB", "6250 B", "0.4"),
        ("packet", "2 kB", "2 kB", None),
        ("flow", "2 kB", "2 kB", None),
    ],
)
def test_storing_routers_are_named(engine: str, packet: str, message: str, times: str | None) -> None:
    remarks = packet_remarks([_point(engine, packet, message)] * 2)
    assert list(remarks.values()) == ([] if times is None else [2])
    assert times is None or f"{times} times" in next(iter(remarks))
