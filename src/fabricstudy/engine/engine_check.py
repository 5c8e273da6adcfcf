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

from fabricstudy.core.store import Record

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
    """One property: its name, the closed form in words, what was measured, and the verdict."""

    name: str
    expected: str
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
        self._settings, self._machine = settings, LINE
        if self.record(jobs=[_send("2 kB", 2, 0)])["status"] == "unsupported":
            refused = self.record(machine=TREE, jobs=[_send("2 kB", 2, 0)])["status"] == "unsupported"
            self._machine = LINE if refused else TREE
        self.cables = 1 if self._machine is LINE else 2
        """Cables between the routers of neighbours."""

    def record(self, command: list[str] | None = None, **parts: Any) -> Record:
        """Return the record of a point, with the bytes on all links as `links_bytes`."""
        kind = type(self._settings)
        engine = Engine(kind) if command is None else _Replaced(kind, command)
        network = {"packet": "2 kB", "router_latency": "100 ns"}
        point = Point.model_validate(
            {"machine": self._machine, "routing": "minimal", "network": network, "engine": self._settings, "seed": 1}
            | parts
        )
        limits = Limits.model_validate({"time": f"{HANG_S if command else 60} s"})
        with tempfile.TemporaryDirectory() as folder:
            record = attempt_point(point, engine, built(point.machine), limits, Path(folder))
            links = Path(folder, LINKS)
            record["links_bytes"] = float(np.load(links).sum()) if links.exists() else None
        return record

    def done(self, **parts: Any) -> Record:
        """Return the record of a point that the engine has to finish."""
        record = self.record(**parts)
        if record["status"] == "unsupported":
            raise _Refused(record["reason"])
        if record["status"] != "done":
            raise ValueError(f"{record['status']}: {record['reason']}")
        return record

    def runtime_ns(self, *jobs: dict[str, Any]) -> float:
        """Return the runtime of the first job."""
        return float(self.done(jobs=list(jobs))["jobs"][0]["runtime_ns"])


def _send(message: str, *nodes: int, name: str = "app") -> dict[str, Any]:
    """Return a job in which each node sends one message to the first one."""
    pattern = {"kind": "gather", "algorithm": "linear", "message": message}
    return {"name": name, "pattern": pattern, "allocation": {"kind": "explicit", "nodes": list(nodes)}}


_Property = tuple[str, str, Callable[[_Trial], float | None], float, float]
"""Name, closed form, measurement, least and greatest value."""


def check_engine(settings: Simulator) -> Iterator[Check]:
    """Yield the verdict on each property; a point that the engine refuses counts for none."""
    trial, engine = _Trial(settings), Engine(type(settings))
    checks: list[_Property] = [*_OFFERED] if engine.runs_offered else []
    if engine.runs_jobs:
        checks = [_one_packet(trial.cables), *_TIMES, *checks]
    for name, expected, measure, low, high in checks:
        try:
            value = measure(trial)
            if value is None:
                raise _Refused("not measured")
            verdict = "holds" if low <= value <= high else "does not hold"
            yield Check(name, expected, f"{value:.6g}", verdict)
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


def _slowdown(trial: _Trial) -> float:
    alone, other = _send("1 MB", 2, 0), _send("1 MB", 6, 4, name="other")
    return trial.runtime_ns(alone, other) / trial.runtime_ns(alone)


def _over_bound(trial: _Trial) -> float:
    job = {"name": "app", "share": 1.0, "pattern": {"kind": "all-to-all", "message": "64 kB"}}
    of_job = trial.done(jobs=[job])["jobs"][0]
    return float(of_job["runtime_ns"] / of_job["bound_ns"])


def _bytes_of_a_cable(trial: _Trial) -> float | None:
    links_bytes = trial.done(jobs=[_send("1 MB", 2, 0)])["links_bytes"]
    return None if links_bytes is None else links_bytes / trial.cables


def _one_packet(cables: int) -> _Property:
    links = cables + 2
    low, high = PACKET_NS + links * LATENCY_NS, links * (PACKET_NS + 2 * LATENCY_NS)
    expected = f"1 packet time and {links} latencies, to {links} packet times and {2 * links} latencies"
    return "one packet", expected, lambda trial: trial.runtime_ns(_send("2 kB", 2, 0)), low, high


_TIMES: tuple[_Property, ...] = (
    ("two cables more", "2 latencies, to 2 packet times and 5 latencies",
     lambda trial: trial.runtime_ns(_send("2 kB", 6, 0)) - trial.runtime_ns(_send("2 kB", 2, 0)),
     2 * LATENCY_NS, 2 * PACKET_NS + 5 * LATENCY_NS),
    ("a stream of 1 MB", "1 ms, and up to 10 % more",
     lambda trial: trial.runtime_ns(_send("1 MB", 2, 0)), MEGABYTE_NS, 1.1 * MEGABYTE_NS),
    ("twice the bytes", "twice the time, 10 % less to 3 % more",
     lambda trial: trial.runtime_ns(_send("2 MB", 2, 0)) / trial.runtime_ns(_send("1 MB", 2, 0)), 1.8, 2.06),
    ("two streams on a cable", "2 ms for the last, and up to 15 % more",
     lambda trial: max(
         job["runtime_ns"]
         for job in trial.done(jobs=[_send("1 MB", 2, 0), _send("1 MB", 3, 1, name="other")])["jobs"]
     ), 2 * MEGABYTE_NS, 2.3 * MEGABYTE_NS),
    ("three senders to one node", "3 ms, and up to 20 % more",
     lambda trial: trial.runtime_ns(_send("1 MB", 2, 0, 1, 3)), 3 * MEGABYTE_NS, 3.6 * MEGABYTE_NS),
    ("all-to-all", "1 to 3 times the lower bound", _over_bound, 1.0, 3.0),
    ("slowdown where nothing is shared", "0.99 to 1.01", _slowdown, 0.99, 1.01),
    ("conservation", "1 MB on each cable, and up to 10 % of headers", _bytes_of_a_cable, 1e6, 1.1e6),
    ("same seed", "the same runtime",
     lambda trial: trial.runtime_ns(_send("64 kB", 2, 0, 1)) / trial.runtime_ns(_send("64 kB", 2, 0, 1)), 1.0, 1.0),
)  # fmt: skip

_STEADY = {"traffic": "uniform", "load": 0.1, "message": "2 kB", "measured": 1000}

_SHORT = LINE | {"latency": "25 ns"}
"""A quarter of the latency of a router, so that simulators with one cycle per link and four per router have it."""

_OFFERED: tuple[_Property, ...] = (
    ("accepted load", "0.1, within 5 %",
     lambda trial: trial.done(machine=_SHORT, offered=_STEADY)["latency"]["accepted_load"], 0.095, 0.105),
    ("latency at low load", "0.95 to 3 times that of a message alone",
     lambda trial: (latency := trial.done(machine=_SHORT, offered=_STEADY)["latency"])["latency_mean_ns"]
     / latency["zero_load_ns"], 0.95, 3.0),
)  # fmt: skip

_FAILURES = (
    ("a program that hangs", ["sleep", str(10 * HANG_S)], "timeout"),
    ("a program that does nothing, with exit code 0", ["true"], "failed"),
    ("a program that fails", ["false"], "failed"),
)
