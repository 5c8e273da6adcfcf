"""Offered traffic on CODES: its synthetic program for dragonflies, where that has the traffic; else replayed traces.

The synthetic program reports one mean latency a run, so a point is several independent runs, each with its own warm-up
and seeds; each is a batch (replication and deletion; Law and Kelton: Simulation Modeling and Analysis, 2000, section
9.5.2). The accepted load follows from the messages received: the one that the program reports subtracts the warm-up
twice.
"""

import re
import shlex
import shutil
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import Messages
from fabricstudy.workload.traffic.base import Destinations

from ..built_point import BuiltPoint
from ..cost_model import WorkCounts, network_traffic, offered_factor
from ..failures import EngineFailure, Unsupported
from ..point import Point
from ..steady_state import MIN_BATCHES, SteadyRun
from .files import CONFIGURATION, TracedJob, configuration
from .models import codes_model, dragonfly, network_of
from .offered_replay import check_replay, read_replay, replay_work, routed_packets, write_replay
from .packet import MIN_EVENTS_PER_OBJECT

SYNTHETIC_PROGRAM = "model-net-synthetic-dragonfly-all"

RUNS = MIN_BATCHES

DOUBLING = 0.3
"""How much each doubling of ports adds to the time of a packet in a router."""

UNIFORM, NEXT_GROUP, NEXT_NODE = 1, 3, 4
"""Traffics of the program."""

UNLIMITED_MESSAGES = 2**30

_ROW = re.compile(
    r"Mean Message Latency: ([0-9.]+) us,\s+Maximum Message Latency: ([0-9.]+) us, Total Messages Received: (\d+)"
)


class OfferedWindow(NamedTuple):
    """Lengths of a run; in its window each node creates `messages`."""

    interval_ns: float
    begin_ns: float
    end_ns: float
    messages: int


def check_offered(point: Point, machine: Machine) -> None:
    """Raise `Unsupported` for traffic that neither the synthetic program nor the replay can offer."""
    if point.engine.processes > 1:
        raise Unsupported("offered traffic runs on one core; leave engine.processes out")
    if point.offered is not None and not has_sources(point, machine):
        check_replay(point)


def has_sources(point: Point, machine: Machine) -> bool:
    """Return whether the synthetic program offers the traffic of a point; elsewhere traces are replayed."""
    offered = point.offered
    if offered is None or not may_have_sources(point):
        return False
    return _traffic(machine, offered.destinations(machine, point.seed)) is not None


def may_have_sources(point: Point) -> bool:
    """Return whether the synthetic program has the machine and the arrivals of a point."""
    assert point.offered is not None
    return codes_model(point) is dragonfly.MODEL and point.offered.arrivals == "periodic"


def _traffic(machine: Machine, rows: Destinations) -> int | None:
    """Return the program's number of a traffic pattern; None if the program does not offer it."""
    nodes = machine.nodes
    if len(rows.node) == nodes and np.all(rows.share == 1):
        if np.all(rows.first == 0) and np.all(rows.last == nodes - 1):
            return UNIFORM
        assert machine.group is not None
        shifts = np.unique((rows.first - rows.node) % nodes).tolist()
        known = {nodes // (int(machine.group.max()) + 1): NEXT_GROUP, 1: NEXT_NODE}
        if rows.is_single and len(shifts) == 1 and shifts[0] in known:
            return known[shifts[0]]
    return None


def offered_window(point: BuiltPoint, load: float) -> OfferedWindow:
    """Return the lengths of a run at a load; both ends are half an interval after a message."""
    offered, interval_ns = point.offered, point.message_ns / load
    messages = max(1, round(offered.measured / RUNS * load))
    begin_ns = (ceil(offered.warmup * load) + 0.5) * interval_ns
    return OfferedWindow(interval_ns, begin_ns, begin_ns + messages * interval_ns, messages)


def offered_work(point: Point) -> WorkCounts:
    """Count packets in routers, and parts of the machine, of all runs."""
    if not may_have_sources(point):
        return replay_work(point)
    offered, nodes = point.offered, float(point.machine.nodes)
    assert offered is not None
    longer = (RUNS * offered.warmup + offered.measured) / (offered.warmup + offered.measured)
    in_routers = network_traffic(point, point.network.packet_bytes).in_routers * offered_factor(point, DOUBLING)
    return WorkCounts(
        cpu={"run": RUNS, "node": RUNS * nodes, "packet in a router": longer * in_routers},
        memory={"run": 1.0, f"node: {dragonfly.MODEL.name}": nodes, "rank": nodes},
    )


def write_offered(folder: Path, point: BuiltPoint, replay: list[str]) -> list[str]:
    """Write what the program reads; return the command of all runs. `replay` is the command of a replay.

    Raises `EngineFailure` if there is no synthetic program, and the point needs it.
    """
    machine, size_bytes = point.machine, point.offered.message_bytes
    if not has_sources(point.point, machine):
        return write_replay(folder, point, replay)
    program = shutil.which(SYNTHETIC_PROGRAM)
    if program is None:
        raise EngineFailure(f"{SYNTHETIC_PROGRAM} is not on PATH; it is built with CODES, so put it there")
    assert point.load is not None
    network = network_of(point.point, machine)
    rank = np.zeros(1, dtype=np.int32)
    message = Messages(rank, rank, rank, np.array([size_bytes]))
    sent = [TracedJob(0, rank, message)]
    (folder / CONFIGURATION).write_text(configuration(network, 1, sent, MIN_EVENTS_PER_OBJECT))
    for name, content in network.files.items():
        (folder / name).write_bytes(content)
    window = offered_window(point, point.load)
    options = [
        "--sync=1",
        f"--traffic={_traffic(machine, point.destinations)}",
        f"--payload_sz={size_bytes}",
        f"--arrival_time={window.interval_ns!r}",
        f"--num_messages={UNLIMITED_MESSAGES}",
        f"--warm_up_time={window.begin_ns!r}",
        f"--end={window.end_ns!r}",
    ]
    for run in range(RUNS):
        shutil.rmtree(folder / _outputs(run), ignore_errors=True)
    commands = (
        [program, *options, *seed_options([point.seed, run]), f"--lp-io-dir={_outputs(run)}", "--", CONFIGURATION]
        for run in range(RUNS)
    )
    return ["sh", "-c", " && ".join(map(shlex.join, commands))]


def _outputs(run: int) -> str:
    return f"lpio-{run}"


def seed_options(entropy: int | list[int]) -> list[str]:
    """Return the options that seed ROSS' four generators, each with a number from 1 to about 2 to the 31."""
    seeds = np.random.SeedSequence(entropy).generate_state(4) % 2_147_483_000 + 1
    return [f"--rng-seed{number}={seed}" for number, seed in enumerate(seeds.tolist(), start=1)]


def read_offered_result(point: BuiltPoint, folder: Path) -> SteadyRun:
    """Read the results of runs that ended with 0; raise `EngineFailure` unless they are those of this machine."""
    machine, rows = point.machine, point.destinations
    if not has_sources(point.point, machine):
        return read_replay(folder, point)
    reports = _ROW.findall((folder / "stdout").read_text(errors="replace"))
    if len(reports) != RUNS:
        raise EngineFailure(f"CODES reported {len(reports)} latencies of {RUNS} runs")
    received = np.stack([_received(folder / _outputs(run) / "synthetic-stats", machine) for run in range(RUNS)])
    arrived = received.sum(axis=1)
    if arrived.tolist() != [int(count) for *_, count in reports]:
        raise EngineFailure("CODES' mean latency is not that of the messages that its nodes received")
    sent = _sent(folder, point)
    of_node = received.sum(axis=0)
    routed = routed_packets((folder / "stdout").read_text(errors="replace"))
    return SteadyRun(
        window_ns=RUNS * sent.messages * sent.interval_ns,
        message_ns=point.message_ns,
        node_created=np.full(machine.nodes, RUNS * sent.messages),
        # Where destinations are drawn, messages are counted at these.
        node_arrived=of_node[rows.first] if rows.is_single else of_node,
        measured=arrived,
        latency_sum_ns=np.array([float(mean_us) * 1e3 for mean_us, *_ in reports]) * arrived,
        max_ns=max(float(longest_us) * 1e3 for _, longest_us, _ in reports),
        created=np.full(RUNS, machine.nodes * sent.messages),
        arrived=arrived,
        routed=routed.sum(axis=0) if len(routed) else None,
    )


def _sent(folder: Path, point: BuiltPoint) -> OfferedWindow:
    """Return the lengths of the runs, from the interval with which the program was started."""
    match = re.search(r"--arrival_time=(\S+)", (folder / "stdout").read_text(errors="replace"))
    if match is None:
        raise EngineFailure("CODES did not repeat its command")
    return offered_window(point, point.message_ns / float(match[1]))


def _received(path: Path, machine: Machine) -> Ints:
    """Return the messages that each node received in the window; int64 [nodes]."""
    try:
        rows = np.loadtxt(path, usecols=(0, 2), dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        raise EngineFailure(f"{path.name} is not a table of numbers ({type(error).__name__})") from None
    if len(rows) != machine.nodes:
        raise EngineFailure(f"{path.name} is of another machine")
    counts: Ints = rows[np.argsort(rows[:, 0]), 1]
    return counts
