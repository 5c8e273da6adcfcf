"""Offered traffic on SST: Merlin's `offered_load`, one component a node.

SST runs a list of loads one after the other, and reports the mean latency of each. Here the list repeats one load
without a pause between: the first entries are the warm-up, and each of the others is a batch. A batch ends 1 ps before
the next message of a node is due, since SST restarts the sources with each entry.
"""

import csv
import json
import re
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.machine.graph import Machine

from ..built_point import BuiltPoint
from ..cost_model import WorkCounts, network_traffic, offered_factor
from ..failures import EngineFailure, Unsupported
from ..point import Point
from ..steady_state import SteadyRun
from .links import BITS, read_links
from .result import SECONDS, check_output
from .system import PS_OF_A_NS, RUN, STATISTICS, flit_bytes, run_description
from .wiring import wire
from .wiring.graph import COMPONENT as ANY_GRAPH

NODE, LATENCY_STATISTIC = "node", "packet_latency"

IDLE_LOAD = 1e-6
"""Load of node 0, which collects the latencies of all, where it sends nothing: one message, at time 0."""

MERLIN_SHARE = 0.35
"""Processor time of a packet in a router without Firefly's and Ember's part, over that with it."""

DOUBLING = 0.9
"""How much each doubling of ports adds to the time of a packet in a router."""

_ROW = re.compile(r"^ *\d+\.\d+ +([0-9.eE+-]+) *([a-zA-Z]+)(\*?) *$", re.MULTILINE)


class OfferedWindow(NamedTuple):
    """Lengths of a run in ps, and in messages of a node."""

    interval_ps: int
    batch_messages: int
    warmup_batches: int
    batches: int

    @property
    def batch_ps(self) -> int:
        return self.batch_messages * self.interval_ps - 1


def check_offered(point: Point, machine: Machine) -> None:
    """Raise `Unsupported` for traffic that Merlin's sources cannot offer."""
    offered = point.offered
    assert offered is not None
    if offered.arrivals != "periodic":
        raise Unsupported("SST's sources are periodic; write offered.arrivals: periodic, or take the engine packet")
    if point.engine.processes > 1:
        raise Unsupported("offered traffic runs on one core; leave engine.processes out")
    if offered.message_bytes > point.network.packet_bytes:
        raise Unsupported(
            f"messages of SST's sources are single packets; lower offered.message to {point.network.packet_bytes} B, "
            "or raise network.packet"
        )
    rows = offered.destinations(machine, point.seed)
    if len(np.unique(rows.node)) < len(rows.node) or np.any(rows.share < 1):
        raise Unsupported(
            f"each of SST's sources draws from one range of nodes, and {offered.traffic.kind} has several or nodes "
            "with a part of the load; use the engine packet"
        )
    receives = np.zeros(machine.nodes + 1, dtype=np.int64)
    np.add.at(receives, rows.first, 1)
    np.add.at(receives, rows.last + 1, -1)
    silent = np.setdiff1d(np.flatnonzero(np.cumsum(receives)), rows.node)
    if len(silent):
        raise Unsupported(
            f"SST's nodes that send nothing do not report what they receive, such as node {silent[0]}; use the engine "
            "packet"
        )
    if wire(point, machine).component == ANY_GRAPH:
        raise Unsupported(
            f"Merlin's element for any graph, used for {point.routing.kind} routing on this machine, loses the results "
            "of its sources; use the engine packet"
        )


def offered_window(point: BuiltPoint, load: float) -> OfferedWindow:
    """Return the lengths of a run at a load; a batch has one message of each node at least."""
    offered, message_ps = point.offered, point.message_ns * PS_OF_A_NS
    interval_ps = round(message_ps / load)
    messages = max(1, round(offered.measured / offered.batches * message_ps / interval_ps))
    warmup = ceil(offered.warmup * message_ps / (messages * interval_ps))
    return OfferedWindow(interval_ps, messages, warmup, offered.batches)


def tail_ns(point: BuiltPoint) -> float:
    """Return the time from the arrival of the first flit of a message, where Merlin's latency ends, to the last."""
    flit = flit_bytes(point.point)
    return float((ceil(point.offered.mean_bytes / flit) - 1) * flit / point.machine.host.bandwidth_Bps * 1e9)


def offered_work(point: Point) -> WorkCounts:
    """Count packets in routers, and parts of the machine."""
    machine = point.machine
    in_routers = network_traffic(point, point.network.packet_bytes).in_routers * offered_factor(point, DOUBLING)
    return WorkCounts(
        cpu={"run": 1.0, "cable": float(machine.cables), "packet in a router": MERLIN_SHARE * in_routers},
        memory={"run": 1.0, "router, node or rank": float(machine.nodes + machine.routers)},
    )


def write_offered(folder: Path, point: BuiltPoint) -> None:
    """Write the run file of offered traffic at a load."""
    run = run_description(point.point, point.machine, wire(point.point, point.machine), [])
    (folder / RUN).write_text(json.dumps(run | {"jobs": [], "offered": _described(point, run["interface"]["link_bw"])}))


def _described(point: BuiltPoint, link_bw: str) -> dict[str, Any]:
    assert point.load is not None
    window, destinations = offered_window(point, point.load), point.destinations
    entries, batch = window.warmup_batches + window.batches, f"{window.batch_ps}ps"
    # SST divides the transmission time by the load, and rounds to ps.
    load = point.message_ns * PS_OF_A_NS / window.interval_ps
    rows = zip(*(column.tolist() for column in (destinations.node, destinations.first, destinations.last)), strict=True)
    nodes = {
        str(node): {"pattern": "merlin.targetgen.uniform", "pattern.min": first, "pattern.max": last}
        for node, first, last in rows
    }
    nodes.setdefault(
        "0",
        {
            "pattern": "merlin.targetgen.shift",
            "pattern.shift": 1,
            "offered_load": [IDLE_LOAD] * entries,
            # All of an entry is its pause, so that this node is never behind.
            "collect_time": "0ps",
            "drain_time": batch,
        },
    )
    return {
        "window": window._asdict(),
        "batch": batch,
        "statistics": {
            "startat": f"{window.warmup_batches * window.batch_ps}ps",
            "stopat": f"{entries * window.batch_ps}ps",
        },
        "all_nodes": {
            "num_peers": point.machine.nodes,
            "link_bw": link_bw,
            "message_size": f"{point.offered.message_bytes}B",
            "offered_load": [load] * entries,
            "warmup_time": "0ps",
            "collect_time": batch,
            "drain_time": "0ps",
        },
        "nodes": nodes,
    }


def read_offered_result(point: BuiltPoint, folder: Path) -> SteadyRun:
    """Read the result of a run that ended with 0; raise `EngineFailure` unless it is of this traffic and machine."""
    machine = point.machine
    out = (folder / "stdout").read_text(errors="replace")
    check_output(out, (folder / "stderr").read_text(errors="replace"))
    described = json.loads((folder / RUN).read_text())["offered"]
    window = OfferedWindow(**described["window"])
    table = _ROW.findall(out)
    if len(table) != window.warmup_batches + window.batches:
        raise EngineFailure(f"SST reported {len(table)} loads of {window.warmup_batches + window.batches}")
    measured = table[window.warmup_batches :]
    mean_ns = np.array([float(number) * SECONDS[unit] * 1e9 for number, unit, _ in measured]) + tail_ns(point)
    behind = sum(star == "*" for *_, star in measured)
    counts, sums, sent_bits = _of_nodes(folder / STATISTICS, machine, window)
    sends = np.array([str(node) in described["nodes"] for node in range(machine.nodes)])
    sends[0] &= described["nodes"]["0"].get("offered_load") is None
    created = sends * window.batch_messages
    arrived = counts.sum(axis=0)
    shares = sent_bits * sends / max(1.0, float(sent_bits @ sends))
    return SteadyRun(
        window_ns=window.batches * window.batch_ps / PS_OF_A_NS,
        message_ns=point.message_ns,
        node_created=created * window.batches,
        # SST counts arrivals at destinations; those of a source follow from what it sent.
        node_arrived=divided(int(arrived.sum()), shares),
        measured=arrived,
        latency_sum_ns=mean_ns * arrived,
        network_sum_ns=sums.sum(axis=0) + tail_ns(point) * arrived,
        created=np.full(window.batches, created.sum()),
        arrived=arrived,
        # A source that is behind drops the messages that wait when SST restarts it.
        lost=behind if 2 * behind > window.batches else 0,
        link_bytes=read_links(folder / STATISTICS, point.point, machine).link_bytes,
    )


def divided(total: int, shares: Floats) -> Ints:
    """Return whole numbers with this sum, each within one of its share.

    Examples
    --------
    >>> divided(7, np.full(4, 0.25)).tolist()
    [2, 2, 1, 2]
    """
    return np.diff(np.rint(np.cumsum(shares) * total), prepend=0).astype(np.int64)


def _of_nodes(path: Path, machine: Machine, window: OfferedWindow) -> tuple[Ints, Floats, Floats]:
    """Return packets received and their latencies in ns [nodes, batches], and the bits sent in the window [nodes]."""
    counts = np.zeros((machine.nodes, window.warmup_batches + window.batches), dtype=np.int64)
    sums, sent_bits = np.zeros(counts.shape), np.zeros(machine.nodes)
    try:
        with path.open(newline="") as file:
            for row in csv.DictReader(file, skipinitialspace=True):
                if not row["ComponentName"].startswith(NODE):
                    continue
                node = int(row["ComponentName"].removeprefix(NODE).split(":")[0])
                if row["StatisticName"] == LATENCY_STATISTIC:
                    entry = -(-int(row["SimTime"]) // window.batch_ps) - 1
                    counts[node, entry] += int(row["Count.u64"])
                    sums[node, entry] += int(row["Sum.u64"])
                elif row["StatisticName"] == BITS:
                    sent_bits[node] += int(row["Sum.u64"])
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise EngineFailure(f"{path.name} is no file of statistics of this run ({type(error).__name__})") from None
    return counts[:, window.warmup_batches :], sums[:, window.warmup_batches :], sent_bits
