"""A small study with a schedule, and one whose slowdown comes from its own points, with ratios in closed form."""

from __future__ import annotations

from typing import Any

TRACE = {
    "kind": "synthetic", "jobs": 50, "span": "2 days", "sizes": {512: 0.5, 1024: 0.5},
    "runtime": {"median": "1 h", "longest": "12 h"},
}  # fmt: skip
SCHEDULE: dict[str, Any] = {
    "machine": "intrepid", "partitions": "intrepid-mesh", "trace": TRACE, "order": "wfp", "slowdown": {"mesh": 0.05},
}  # fmt: skip
RING = {"kind": "torus", "shape": [8], "bandwidth": "1 GB/s"}
# Labels are sizes of partitions, points are rings of eight nodes: what is compared is what the study says.
COUPLED: dict[str, Any] = {
    "machine": RING,
    "routing": "dimension-order",
    "jobs": [{"share": 1.0, "pattern": {"kind": "bisection", "message": "1 kB"}}],
    "engine": "analysis",
    "experiments": {
        "ratios": {
            "sweep": {
                "pattern": {
                    "set": {
                        "halves": {"jobs.0.pattern": {"kind": "bisection", "message": "1 kB"}},
                        "neighbours": {
                            "jobs.0.pattern": {"kind": "stencil", "shape": [8], "dimensions": 1, "message": "1 kB"}
                        },
                    }
                },
                "size": {"of": "machine.nodes_per_router", "values": {1024: 1}},
                "network": {"of": "machine.wrap", "values": {"torus": True, "mesh": False}},
            }
        }
    },
}
MEASURED = {
    "experiment": "ratios", "metric": "expected_load_ns", "of": {"network": "mesh"}, "against": {"network": "torus"},
    "nodes": "size",
}  # fmt: skip
APPLICATIONS = [
    {"name": "local", "share": 0.5, "where": {"pattern": "neighbours"}, "communication": 0.3},
    {"name": "global", "share": 0.5, "where": {"pattern": "halves"}, "communication": 0.5},
]
# Of the meshes of the machine only those of 1,024 nodes, so that one size has to be known.
ONE_SIZE = [{"shape": [1, 1, 1]}, {"shape": [1, 1, 2], "wrap": [True, True, False]}]


def coupled(**changes: Any) -> dict[str, Any]:
    """A study whose slowdown is measured by its own points; `changes` are those of its schedule."""
    slowdown = {"measured": MEASURED, "applications": APPLICATIONS}
    return {
        **COUPLED,
        "study": "coupled",
        "schedules": {"s": {**SCHEDULE, "partitions": ONE_SIZE, "slowdown": slowdown} | changes},
    }
