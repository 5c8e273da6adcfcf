"""Offered traffic on CODES by traces: sends with pauses between them, for all traffics and most machines.

A send of the replay does not block, and the latency of its message begins with it, so sources are open loop. Each node
has a rank for each batch of the window, whose messages are those of the batch, and one for all other messages. The same
traces run until the begin and the end of the window, which gives the messages that have arrived by then, and half a
window longer, which gives the latencies. No rank posts a receive: CODES keeps what arrives.
"""

import re
import shlex
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import Messages

from ..built_point import BuiltPoint
from ..cost_model import WorkCounts, network_traffic
from ..failures import EngineFailure, Unsupported
from ..point import Point
from ..steady_state import MIN_BATCHES, SteadyRun
from .files import ALLOCATION, CONFIGURATION, JOBS, OUTPUTS, PHANTOM, TRACES, TracedJob, configuration
from .models import codes_model, network_of, torus
from .packet import events_per_object
from .result import COLUMNS, RANKS, numbers, read_link_bytes
from .trace import sends

BATCHES = MIN_BATCHES
"""CODES needs 0.2 MB for each rank."""
RANKS_PER_NODE = BATCHES + 1

DRAIN_SHARE = 0.5
"""Time after the window, over that of the window; messages of the window that arrive later count as lost."""

SENT_MESSAGES = "messages.npy"
"""Batch (0 outside of the window), source and destination of each message; int32 [3, messages]."""

LONGEST_TRACE_NS = 6e13
"""Seconds have 16 bits in DUMPI's format."""

MOST_SPEEDUP = 1000
"""Times in traces are ps: CODES divides pauses by this, and ignores pauses of up to 100 units."""

_LOGS = "iteration-logs"
"""Folder that each run makes, and that must not exist."""

_ROUTED = re.compile(r"(\d+) chunks routed minimally (\d+) chunks routed")

_NO_RANK = np.zeros(1, dtype=np.int32)


def check_replay(point: Point) -> None:
    """Raise `Unsupported` for what the replay would simulate in a different way."""
    if codes_model(point) is torus.MODEL:
        raise Unsupported(
            "on CODES' torus each message after a pause waits 10 ns per byte at its source, so it has no latency under "
            "load; use the engine packet or sst"
        )


def replay_work(point: Point) -> WorkCounts:
    """Count packets in routers, messages, and parts of the machine, of all runs."""
    offered, nodes = point.offered, float(point.machine.nodes)
    assert offered is not None
    ends = _run_times(point)
    times = sum(ends) / (offered.warmup + offered.measured)
    traffic = network_traffic(point, point.network.packet_bytes)
    model = codes_model(point)
    return WorkCounts(
        cpu={
            "run": len(ends),
            "node": len(ends) * nodes,
            "replayed message": times * traffic.units,
            "packet in a router": times * traffic.in_routers,
        },
        memory={
            "run": 1.0,
            f"node: {model.name if model else 'grid'}": nodes,
            "rank": nodes * RANKS_PER_NODE,
            "message": ends[-1] / (offered.warmup + offered.measured) * traffic.units,
        },
    )


def _run_times(point: Point) -> tuple[float, ...]:
    """Return the durations of the runs, in message times."""
    assert point.offered is not None
    warmup, measured = point.offered.warmup, point.offered.measured
    return tuple(warmup + share * measured for share in (0.0, 1.0, 1.0 + DRAIN_SHARE))


def write_replay(folder: Path, point: BuiltPoint, replay: list[str]) -> list[str]:
    """Write configuration and traces; return the command of all runs, each the command `replay` with an end."""
    machine, offered, model = point.machine, point.offered, codes_model(point.point)
    assert point.load is not None and model is not None
    network = network_of(point.point, machine)
    times, ranks = _run_times(point.point), machine.nodes * RANKS_PER_NODE
    sent = offered.messages(point.destinations, machine.nodes, point.load, times[-1], point.seed)
    batch = np.floor((sent.time - offered.warmup) * BATCHES / offered.measured).astype(np.int64) + 1
    batch[(batch < 0) | (batch > BATCHES)] = 0
    np.save(folder / SENT_MESSAGES, np.array([batch, sent.source, sent.destination], dtype=np.int32))
    ends_ns = [time * point.message_ns for time in times]
    speedup = min(MOST_SPEEDUP, 10 ** int(np.log10(LONGEST_TRACE_NS / ends_ns[-1])))
    one = TracedJob(0, _NO_RANK, Messages(_NO_RANK, _NO_RANK, _NO_RANK, np.array([offered.message_bytes])))
    events = events_per_object(point.point, model.burst_bytes(point.point), network.packet)
    text = configuration(network, RANKS_PER_NODE, [one], events, injected=1)
    (folder / CONFIGURATION).write_text(f"{text}    compute_time_speedup: {speedup}\n")
    for name, content in network.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / TRACES).mkdir()
    time_ns = np.rint(sent.time * point.message_ns * speedup).astype(np.int64)
    source, destination = (node * RANKS_PER_NODE + batch for node in (sent.source, sent.destination))
    order = np.lexsort((time_ns, source))
    for rank, own in enumerate(np.split(order, np.searchsorted(source[order], np.arange(1, ranks)))):
        (folder / TRACES / f"{rank:04}.bin").write_bytes(
            sends(time_ns[own], destination[own], round(offered.mean_bytes))
        )
    (folder / JOBS).write_text(f"{ranks} {TRACES}/ 0 0\n{PHANTOM}\n")
    # Slots are numbered by repetition, then by rank on the node, then by node.
    slots = np.arange(ranks).reshape(-1, RANKS_PER_NODE, network.terminals).swapaxes(1, 2).ravel()
    (folder / ALLOCATION).write_text(" ".join(map(str, slots.tolist())) + "\n")
    program, *options = replay
    runs = (
        f"{shlex.join([program, f'--end={end_ns!r}', *options])} && mv {OUTPUTS} {_outputs(run)} && rm -r {_LOGS}"
        for run, end_ns in enumerate(ends_ns)
    )
    return ["sh", "-c", " && ".join(runs)]


def _outputs(run: int) -> str:
    return f"{OUTPUTS}-{run}"


def read_replay(folder: Path, point: BuiltPoint) -> SteadyRun:
    """Read the outputs of runs that ended with 0; raise `EngineFailure` unless they are those of these messages."""
    machine = point.machine
    batch, source, destination = np.load(folder / SENT_MESSAGES).astype(np.int64)
    times, size_bytes = _run_times(point.point), point.offered.mean_bytes
    shape = (machine.nodes, RANKS_PER_NODE, 3)
    of_runs = np.stack([_of_ranks(folder / _outputs(run) / RANKS, shape) for run in range(len(times))])
    messages = np.rint(of_runs[..., :2] / size_bytes).astype(np.int64)
    sent, received, latency_ns = messages[..., 0], messages[..., 1], of_runs[-1, :, 1:, 2]
    created = np.bincount(batch, minlength=RANKS_PER_NODE)[1:]
    if np.any(sent[-1, :, 1:].sum(axis=0) != created):
        raise EngineFailure(f"CODES sent {sent[-1, :, 1:].sum()} messages of {created.sum()}")
    source, destination = source[batch > 0], destination[batch > 0]
    # CODES counts arrivals at destinations; those of a source follow from what it sent to each of them.
    arrived = (received[1] - received[0]).sum(axis=1)
    ratio = arrived / np.maximum(1, np.bincount(destination, minlength=machine.nodes))
    node_arrived = np.bincount(source, weights=ratio[destination], minlength=machine.nodes)
    routed = routed_packets((folder / "stdout").read_text(errors="replace"))
    waiting = (sent - received)[:2].sum(axis=(1, 2))
    measured, window_ns = received[-1, :, 1:].sum(axis=0), (times[1] - times[0]) * point.message_ns
    return SteadyRun(
        window_ns=window_ns,
        message_ns=point.message_ns,
        node_created=np.bincount(source, minlength=machine.nodes),
        node_arrived=np.rint(node_arrived).astype(np.int64),
        measured=measured,
        latency_sum_ns=latency_ns.sum(axis=0),
        created=created,
        outer_backlog=(int(waiting[0]), int(waiting[1])),
        lost=int(created.sum() - measured.sum()),
        routed=routed[1] - routed[0] if len(routed) == len(times) else None,
        link_bytes=_link_bytes(folder, point.point, machine, float(sent[1].sum() * size_bytes)),
    )


def routed_packets(output: str) -> Ints:
    """Return the packets on minimal paths and on detours of each run, where CODES counts them; int64 [runs, 2]."""
    return np.array(_ROUTED.findall(output), dtype=np.int64).reshape(-1, 2)


def _of_ranks(path: Path, shape: tuple[int, ...]) -> Floats:
    """Return bytes sent, bytes received, and the sum of latencies in ns of each rank."""
    rows = numbers(path, COLUMNS)
    rows = rows[rows[:, 2] == 0]  # not of the phantom job
    if len(rows) != shape[0] * shape[1]:
        raise EngineFailure(f"{path.name} is of another machine")
    columns: Floats = rows[np.argsort(rows[:, 3]), 6:9].reshape(shape)
    return columns


def _link_bytes(folder: Path, point: Point, machine: Machine, sent_bytes: float) -> Floats | None:
    """Return the bytes that crossed each link in the window; None where CODES does not count them."""
    traffic = network_of(point, machine).traffic
    if traffic is None:
        return None
    before, after = (read_link_bytes(folder / _outputs(run), traffic, machine, sent_bytes) for run in (0, 1))
    return None if before is None or after is None else after - before
