"""What offered traffic costs on each engine, and how close saturation loads come to their bounds.

The cost is in CPU seconds per million packet-hops, and for a curve of 20 loads on CAMINOS.

A packet-hop is a packet that crosses a cable between routers. Those of the warm-up count, those after the window do
not. CAMINOS has one phit a packet here; the default of four takes about twice as long.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.store import Record
from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.definitions import built
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.routing.base import cached_routes
from fabricstudy.structure.saturation import offered_rates

LINKS = {"bandwidth": "25 GB/s"}
MACHINES: dict[str, tuple[dict[str, Any], str]] = {
    "dragonfly": ({"groups": 9, "routers_per_group": 4, "nodes_per_router": 2, **LINKS}, "minimal"),
    "torus": ({"shape": [8, 8], **LINKS}, "dimension-order"),
    "hyperx": ({"shape": [6, 6], "nodes_per_router": 2, **LINKS}, "dimension-order"),
}
ENGINES: dict[str, dict[str, Any]] = {
    "caminos": {"kind": "caminos", "phit": "256 B"},
    "sst": {"kind": "sst"},
    "codes": {"kind": "codes"},
}
LOADS = (0.5, 0.7)
GROUP, UGAL = {"kind": "valiant", "via": "group"}, {"kind": "ugal", "via": "group"}
SEARCHES: tuple[tuple[str, Any, Any], ...] = (
    ("dragonfly", "minimal", "uniform"),
    ("dragonfly", "minimal", "group-shift"),
    ("dragonfly", GROUP, "uniform"),
    ("dragonfly", GROUP, "group-shift"),
    ("dragonfly", "valiant", "uniform"),
    ("dragonfly", "valiant", "group-shift"),
    ("dragonfly", UGAL, "uniform"),
    ("dragonfly", UGAL, "group-shift"),
    ("torus", "dimension-order", "uniform"),
    ("torus", "dimension-order", {"kind": "tornado", "dimensions": 1}),
    ("torus", "dimension-order", "complement"),
    ("torus", "dimension-order", "transpose"),
)
CURVE = np.linspace(0.045, 0.9, 20).tolist()


def point(kind: str, load: float | str, engine: dict[str, Any], routing: Any = None, traffic: Any = "uniform") -> Point:
    """Traffic of one packet a message, with the warm-up and window that studies have by default."""
    sizes, usual = MACHINES[kind]
    return Point.model_validate(
        {
            "machine": {"kind": kind, **sizes},
            "routing": routing or usual,
            "engine": engine,
            "seed": 1,
            "network": {"packet": "256 B", "buffer": "16 kB"},
            "offered": {"traffic": traffic, "load": load, "arrivals": "periodic"},
        }
    )


def simulate(this: Point) -> Record:
    """Return the record of a point."""
    with tempfile.TemporaryDirectory() as folder:
        return attempt_point(this, engine_named(this.engine.kind), built(this.machine), Limits(), Path(folder))


def packet_hops(this: Point) -> float:
    """Return the packets created until the end of the window, times the mean hops of their pairs."""
    machine, offered = built(this.machine).machine, this.offered
    assert offered is not None and isinstance(offered.load, float)
    rates = offered_rates(machine, *offered.destinations(machine, this.seed))
    hops = float(cached_routes(machine, this.routing).loads_between(rates.between).sum())
    return hops * offered.load * (offered.warmup + offered.measured)


def main() -> None:
    """Print a line for each engine, machine and load, and one for the curve."""
    for name, settings in ENGINES.items():
        if not engine_named(name).probe().found:
            print(f" {name}: left out, it is not installed", flush=True)
            continue
        for kind in MACHINES:
            for load in LOADS:
                this = point(kind, load, settings)
                found = simulate(this)
                took = f"{found['cpu_s'] / packet_hops(this) * 1e6:5.2f} s CPU per million packet-hops"
                row = took if found["status"] == "done" else f"{found['status']}: {found['reason']}"
                print(f" {name:<8}{kind:<10} load {load}: {row}", flush=True)
    records = [simulate(point("dragonfly", load, ENGINES["caminos"])) for load in CURVE]
    took_s = sum(record["cpu_s"] + record["overhead_cpu_s"] for record in records)
    print(f" caminos, 20 loads on the dragonfly of 72 nodes: {took_s:.1f} s CPU")
    for kind, routing, traffic in SEARCHES:
        found = simulate(point(kind, "saturation", ENGINES["caminos"], routing, traffic))
        row = found["latency"]
        print(
            f" caminos, {kind}, {routing}, {traffic}: saturation {row['saturation_load']:.3f}, bound "
            f"{row['saturation_bound']:.3f} ({row['over_bound']:.2f}), {found['cpu_s']:.1f} s CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
