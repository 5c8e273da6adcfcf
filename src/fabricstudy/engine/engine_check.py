"""Tiny points whose results are closed forms, by which the engine of an extension is checked.

A result has to be between two limits: what no network can beat, and what a network that stores each packet at each
router, or shares links a little unfairly, still reaches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Record
from fabricstudy.machine.base import Topology

from .attempt import attempt_point
from .built_point import BuiltPoint
from .definitions import built
from .engine import Engine
from .outcome import LINKS
from .point import Point
from .settings import Limits
from .simulator import Simulator

PACKET_NS, LATENCY_NS = 2000.0, 100.0
"""Transmission time of the packet of 2 kB at 1 GB/s; latency of cables, host links and routers."""

MEGABYTE_NS = 1e6
"""Transmission time of 1 MB."""

LINE: dict[str, Any] = {
    "kind": "mesh", "shape": [4], "nodes_per_router": 2, "bandwidth": "1 GB/s", "latency": "100 ns",
}  # fmt: skip
"""Routers 0 to 3 in a row; router r has the nodes 2r and 2r+1."""

TREE: dict[str, Any] = {
    "kind": "xgft", "down": [2, 2, 2], "up": [1, 1], "bandwidth": "1 GB/s", "latency": "100 ns",
}  # fmt: skip
"""For engines that refuse the line: router r has the nodes 2r and 2r+1 here, too, with one cable more between them."""

HANG_S = 2.0


class Check(NamedTuple):
    """One property, what was measured, and the verdict."""

    name: str
    expected: str
    """The interval of results, and the closed form in words."""
    measured: str
    verdict: str
    """holds, does not hold, or refused."""


class _Refused(Exception):
    """The engine does not support a point; the message is the reason."""


class _Replaced(Engine):
    """The engine with another program."""

    def __init__(self, kind: type[Simulator], command: list[str]) -> None:
        super().__init__(kind)
        self._command = command

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        super().write(point, folder)
        return self._command


class _Trial:
    """Runs points on an engine."""

    def __init__(self, settings: Simulator) -> None:
        self._settings, self.machine = settings, LINE
        if self.record(jobs=[_send("2 kB", 2, 0)])["status"] == "unsupported":
            refused = self.record(machine=TREE, jobs=[_send("2 kB", 2, 0)])["status"] == "unsupported"
            self.machine = LINE if refused else TREE
        self.cables = 1 if self.machine is LINE else 2
        """Cables between the routers of neighbours."""

    def record(self, command: list[str] | None = None, **parts: Any) -> Record:
        """Return the record of a point, with the bytes on each link as `links_bytes`, or None."""
        kind = type(self._settings)
        engine = Engine(kind) if command is None else _Replaced(kind, command)
        network = {"packet": "2 kB", "router_latency": "100 ns"}
        point = Point.model_validate(
            {"machine": self.machine, "routing": "minimal", "network": network, "engine": self._settings, "seed": 1}
            | parts
        )
        limits = Limits.model_validate({"time": f"{HANG_S if command else 60} s"})
        with tempfile.TemporaryDirectory() as folder:
            record = attempt_point(point, engine, built(point.machine), limits, Path(folder))
            links = Path(folder, LINKS)
            record["links_bytes"] = np.load(links) if links.exists() else None
        return record

    def done(self, **parts: Any) -> Record:
        """Return the record of a point that the engine has to finish."""
        record = self.record(**parts)
        if record["status"] == "unsupported":
            raise _Refused(record["reason"])
        if record["status"] != "done":
            raise ValueError(f"{record['status']}: {record['reason']}")
        return record

    def runtimes_ns(self, *jobs: dict[str, Any], **parts: Any) -> list[float]:
        """Return the runtime of each job."""
        return [float(job["runtime_ns"]) for job in self.done(jobs=list(jobs), **parts)["jobs"]]

    def runtime_ns(self, *jobs: dict[str, Any]) -> float:
        """Return the runtime of the first job."""
        return self.runtimes_ns(*jobs)[0]

    def links_bytes(self) -> Floats:
        """Return the bytes on each link after 1 MB from node 0 to node 2."""
        found = self.done(jobs=[_send("1 MB", 2, 0)])["links_bytes"]
        if found is None:
            raise _Refused("not measured")
        return np.asarray(found, dtype=np.float64)


def _send(message: str, *nodes: int, name: str = "app", **more: Any) -> dict[str, Any]:
    """Return a job in which each node sends one message to the first one."""
    pattern = {"kind": "gather", "algorithm": "linear", "message": message}
    return {"name": name, "pattern": pattern, "allocation": {"kind": "explicit", "nodes": list(nodes)}, **more}


_Property = tuple[str, str, Callable[[_Trial], float], float, float]
"""Name, closed form, measurement, least and greatest value; those above 1000 are in ns or bytes."""


def check_engine(settings: Simulator) -> Iterator[Check]:
    """Yield the verdict on each property; a point that the engine refuses counts for none."""
    engine = Engine(type(settings))
    if settings.processes > 1 and not engine.shares_cores:
        raise FabricstudyError(f"{engine.name} simulates a point on one core; leave processes out", "unsupported")
    trial = _Trial(settings)
    checks: list[_Property] = [*_OFFERED] if engine.runs_offered else []
    if engine.runs_jobs:
        checks = [_one_packet(trial.cables), *_TIMES, *checks]
    for name, words, measure, low, high in checks:
        expected = f"{low:g} to {high:g}: {words}"
        try:
            value = measure(trial)
            yield Check(name, expected, f"{value:.6g}", "holds" if low <= value <= high else "does not hold")
        except _Refused as refusal:
            yield Check(name, expected, str(refusal), "refused")
        except ValueError as error:
            yield Check(name, expected, str(error), "does not hold")
    for name, command, wanted in _FAILURES:
        parts: dict[str, Any] = {"jobs": [_send("2 kB", 2, 0)]}
        if not engine.runs_jobs:
            parts = {"machine": _SHORT, "offered": _STEADY}
        record = trial.record(command, **parts)
        state = "refused" if record["status"] == "unsupported" else record["status"]
        verdict = {wanted: "holds", "refused": "refused"}.get(state, "does not hold")
        yield Check(name, f"status {wanted}", f"{record['status']}: {record.get('reason')}", verdict)


def _slowdown(trial: _Trial, *nodes: int, **more: Any) -> float:
    alone, other = _send("1 MB", 2, 0), _send("1 MB", *nodes, name="other", **more)
    return trial.runtime_ns(alone, other) / trial.runtime_ns(alone)


def _over_bound(trial: _Trial) -> float:
    job = {"name": "app", "share": 1.0, "pattern": {"kind": "all-to-all", "message": "64 kB"}}
    of_job = trial.done(jobs=[job])["jobs"][0]
    return float(of_job["runtime_ns"] / of_job["bound_ns"])


def _bytes_into_last(trial: _Trial) -> float:
    """Return the bytes into the router of node 2, less those out of it, of which there are none."""
    machine, links_bytes = Topology.model_validate(trial.machine).build(), trial.links_bytes()
    at = machine.node_router[2]
    return float(links_bytes[machine.link_head == at].sum() - links_bytes[machine.link_tail == at].sum())


def _slow_cables(trial: _Trial) -> float:
    slow = trial.machine | {"bandwidth": {"links": "0.5 GB/s", "host": "1 GB/s"}}
    return trial.runtimes_ns(_send("1 MB", 2, 0), machine=slow)[0]


def _parallel_cables(trial: _Trial) -> float:
    two = {"kind": "hyperx", "shape": [2], "nodes_per_router": 2, "links_per_pair": 2} | {
        key: LINE[key] for key in ("bandwidth", "latency")
    }
    return max(trial.runtimes_ns(_send("1 MB", 2, 0), _send("1 MB", 3, 1, name="other"), machine=two))


def _one_packet(cables: int) -> _Property:
    links = cables + 2
    low, high = PACKET_NS + links * LATENCY_NS, links * (PACKET_NS + 2 * LATENCY_NS)
    expected = f"1 packet time and {links} latencies, to {links} packet times and {2 * links} latencies, in ns"
    return "one packet", expected, lambda trial: trial.runtime_ns(_send("2 kB", 2, 0)), low, high


_TIMES: tuple[_Property, ...] = (
    ("two cables more", "2 latencies, to 2 packet times and 5 latencies, in ns",
     lambda trial: trial.runtime_ns(_send("2 kB", 6, 0)) - trial.runtime_ns(_send("2 kB", 2, 0)),
     2 * LATENCY_NS, 2 * PACKET_NS + 5 * LATENCY_NS),
    ("a stream of 1 MB", "1 ms, and up to 10 % more, in ns",
     lambda trial: trial.runtime_ns(_send("1 MB", 2, 0)), MEGABYTE_NS, 1.1 * MEGABYTE_NS),
    ("twice the bytes", "twice the time",
     lambda trial: trial.runtime_ns(_send("2 MB", 2, 0)) / trial.runtime_ns(_send("1 MB", 2, 0)), 1.8, 2.06),
    ("two streams on a cable", "2 ms for the last, and up to 15 % more, in ns",
     lambda trial: max(trial.runtimes_ns(_send("1 MB", 2, 0), _send("1 MB", 3, 1, name="other"))),
     2 * MEGABYTE_NS, 2.3 * MEGABYTE_NS),
    ("two streams on parallel cables", "1 ms for the last, and up to 15 % more, in ns", _parallel_cables,
     MEGABYTE_NS, 1.15 * MEGABYTE_NS),
    ("a stream on slow cables", "2 ms, and up to 10 % more, in ns", _slow_cables, 2 * MEGABYTE_NS, 2.2 * MEGABYTE_NS),
    ("three senders to one node", "3 ms, and up to 20 % more, in ns",
     lambda trial: trial.runtime_ns(_send("1 MB", 2, 0, 1, 3)), 3 * MEGABYTE_NS, 3.6 * MEGABYTE_NS),
    ("all-to-all", "over the lower bound", _over_bound, 1.0, 3.0),
    ("slowdown where nothing is shared", "none", lambda trial: _slowdown(trial, 6, 4), 0.99, 1.01),
    ("slowdown by a job that starts 5 ms later", "none",
     lambda trial: _slowdown(trial, 3, 1, start="5 ms"), 0.99, 1.01),
    ("conservation", "1 MB on each cable, and up to 10 % of headers, in bytes",
     lambda trial: float(trial.links_bytes().sum()) / trial.cables, 1e6, 1.1e6),
    ("direction of links", "the same into the last router, none out of it, in bytes", _bytes_into_last, 1e6, 1.1e6),
    ("same seed", "the ratio of two runtimes",
     lambda trial: trial.runtime_ns(_send("64 kB", 2, 0, 1)) / trial.runtime_ns(_send("64 kB", 2, 0, 1)), 1.0, 1.0),
)  # fmt: skip

_STEADY = {"traffic": "uniform", "load": 0.1, "message": "2 kB", "measured": 1000}

_SHORT = LINE | {"latency": "25 ns"}
"""A quarter of the latency of a router, so that simulators with one cycle per link and four per router have it."""

_OFFERED: tuple[_Property, ...] = (
    ("accepted load", "the offered one, within 5 %",
     lambda trial: trial.done(machine=_SHORT, offered=_STEADY)["latency"]["accepted_load"], 0.095, 0.105),
    ("latency at low load", "over that of a message alone",
     lambda trial: (latency := trial.done(machine=_SHORT, offered=_STEADY)["latency"])["latency_mean_ns"]
     / latency["zero_load_ns"], 0.95, 3.0),
)  # fmt: skip

_FAILURES = (
    ("a program that hangs", ["sleep", str(10 * HANG_S)], "timeout"),
    ("a program that does nothing, with exit code 0", ["true"], "failed"),
    ("a program that fails", ["false"], "failed"),
)
