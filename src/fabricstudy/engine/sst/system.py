"""The run file: a point in the words of ``engines/sst/model.py``."""

import json
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.engine.sst.settings import SstSettings
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from ..contract import Unsupported
from ..point import Point
from .motifs import map_file, native_motif
from .traces import RankLayout, rank_layout, write_traces
from .wiring import wire
from .wiring.base import Wiring, cable_ends, link_of_cable

UGAL_BIAS_FLITS = 50
"""What Merlin's dragonfly adds to twice the queue of a detour; fixed (`bias` in its topology/dragonfly.cc)."""

RUN, STATISTICS = "run.json", "links.csv"

# SST-Core counts time in picoseconds.
PS_OF_A_NS = 1000
# Firefly's default, beside one for each message.
SPARE_BUFFERS = 512

NO_COSTS: dict[str, Any] = {
    "ctrl.matchDelay_ns": 0,
    "ctrl.regRegionBaseDelay_ns": 0,
    "ctrl.regRegionPerPageDelay_ns": 0,
    "ctrl.txSetupModParams.base": "0ps",
    "ctrl.rxSetupModParams.base": "0ps",
    "ctrl.txMemcpyModParams.base": "0ps",
    "ctrl.rxMemcpyModParams.base": "0ps",
    "functionsm.defaultEnterLatency": 0,
    "functionsm.defaultReturnLatency": 0,
}
"""MPI that costs nothing."""

NO_NIC_COSTS: dict[str, Any] = {"nic2host_lat": "1ps", "rxMatchDelay_ns": 0, "txDelay_ns": 0, "hostReadDelay_ns": 0}
"""A network interface that costs nothing."""


def write_run(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> None:
    """Write the run file and what it names."""
    wiring = wire(point, machine)
    described = [_job(folder, number, job, point) for number, job in communicating(jobs)]
    _check_nodes_are_not_shared(described)
    run = run_description(point, machine, wiring, jobs) | {"jobs": described}
    (folder / RUN).write_text(json.dumps(run))


def communicating(jobs: list[PlacedJob]) -> list[tuple[int, PlacedJob]]:
    """Jobs that send something, with their numbers; SST gets no others."""
    return [(number, job) for number, job in enumerate(jobs) if len(job.messages)]


def has_no_foreground_traffic(jobs: list[PlacedJob]) -> bool:
    """Return whether no job sends something, or only those that would end with others."""
    return all(job.background for _, job in communicating(jobs))


def log_name(number: int) -> str:
    """Name of a job's log, without suffix."""
    return f"job{number}"


def settings(point: Point) -> SstSettings:
    """Return the engine's part of the point."""
    assert isinstance(point.engine, SstSettings)
    return point.engine


def flit_bytes(point: Point) -> int:
    """Return the flit of a point: what the study says, or a quarter of a packet."""
    given = settings(point).flit_bytes
    return int(given) if given is not None else max(1, ceil(int(point.network.packet_bytes) / 4))


def run_description(point: Point, machine: Machine, wiring: Wiring, jobs: list[PlacedJob]) -> dict[str, Any]:
    """Return the run file of a point, without the description of its jobs."""
    buffers = _buffers(point)
    tail, head = cable_ends(machine)
    latencies = machine.cable_class[link_of_cable(machine)]
    free = settings(point).mpi == "none"
    return {
        "topology": {
            "component": wiring.component,
            "parameters": wiring.parameters,
            "of_router": {str(router): given for router, given in wiring.of_router.items()},
        },
        "router": _router(point, machine, wiring) | buffers,
        "ports": wiring.ports.tolist(),
        "cables": np.stack(
            [tail, wiring.cable_ports[:, 0], head, wiring.cable_ports[:, 1], latencies], axis=1
        ).tolist(),
        "latencies": [_time(link.latency_ns) for link in machine.classes],
        "hosts": np.stack([machine.node_router, wiring.host_ports], axis=1).tolist(),
        "host_latency": _time(machine.host.latency_ns),
        "interface": {"link_bw": _bandwidth(machine.host), **buffers},
        "nic": {"packetSize": _size(point.network.packet_bytes)} | (NO_NIC_COSTS if free else {}),
        "mpi": NO_COSTS | _all_at_once(jobs) if free else {},
        "statistics": STATISTICS,
        **({} if wiring.routes is None else {"routes": wiring.routes}),
    }


def _all_at_once(jobs: list[PlacedJob]) -> dict[str, Any]:
    """Send messages without asking, and post a buffer for each that may come.

    SST's ranks take up that much memory. With fewer buffers a rank's messages wait for each other, or for ever.
    """
    longest = max((int(job.messages.size_bytes.max(initial=0)) for job in jobs), default=0)
    return {
        "ctrl.shortMsgLength": longest,
        "ctrl.pqs.maxPostedShortBuffers": SPARE_BUFFERS + max(map(_most_receives, jobs), default=0),
    }


def _most_receives(job: PlacedJob) -> int:
    """Messages that a rank gets in one phase, at most."""
    key = job.messages.phase.astype(np.int64) * job.ranks + job.messages.destination
    return int(np.unique(key, return_counts=True)[1].max(initial=0))


def _router(point: Point, machine: Machine, wiring: Wiring) -> dict[str, Any]:
    classes = {link.name: link for link in (*machine.classes, machine.host)}
    fastest = max(classes.values(), key=lambda link: link.bandwidth_Bps)
    groups = {f"link_bw:{group}": _bandwidth(classes[name]) for group, name in wiring.class_of_group.items()}
    return {
        # Merlin refuses a crossbar slower than this, and is silently slower with one slower than a group.
        "link_bw": _bandwidth(machine.classes[0] if machine.classes else machine.host),
        **groups,
        "xbar_bw": f"{fastest.bandwidth_Bps * settings(point).crossbar:.0f}B/s",
        "flit_size": f"{flit_bytes(point)}B",
        "input_latency": _time(point.network.router_latency_ns),
        "output_latency": "0ps",
        "num_vns": wiring.virtual_networks,
    }


def _buffers(point: Point) -> dict[str, str]:
    """Buffers of a virtual channel: what the study says at the input, half as much at the output."""
    size = int(point.network.buffer_bytes)
    return {"input_buf_size": f"{size}B", "output_buf_size": f"{size // 2}B"}


def check_that_ugal_can_choose(point: Point) -> None:
    """Refuse UGAL on a dragonfly where outputs hold so few flits that it would always be minimal.

    Raises
    ------
    Unsupported
        With what to choose.
    """
    held = int(point.network.buffer_bytes) // 2 // flit_bytes(point)
    if held <= UGAL_BIAS_FLITS:
        largest = int(point.network.buffer_bytes) // 2 // (UGAL_BIAS_FLITS + 1)
        raise Unsupported(
            f"SST's UGAL detours only if {UGAL_BIAS_FLITS} flits more wait for the minimal path, and an output holds "
            f"{held}: it would be minimal; choose an engine.flit of {largest} B at most, or a larger network.buffer"
        )


def padded_packet_bytes(point: Point) -> int:
    """Bytes of a packet as SST stores it, in whole flits."""
    flit = flit_bytes(point)
    return ceil(int(point.network.packet_bytes) / flit) * flit


def _bandwidth(link: LinkClass) -> str:
    return f"{link.bandwidth_Bps:.0f}B/s"


def _time(time_ns: float) -> str:
    # A link needs some latency.
    return f"{max(1, round(time_ns * PS_OF_A_NS))}ps"


def _size(size_bytes: float) -> str:
    return f"{int(size_bytes)}B"


def _job(folder: Path, number: int, job: PlacedJob, point: Point) -> dict[str, Any]:
    """Describe a job, and write its traces, or where its tasks stand."""
    seats = rank_layout(job)
    described: dict[str, Any] = {"nodes": seats.nodes.tolist(), "cores": seats.cores, "log": log_name(number)}
    described |= {"background": True} if job.background else {}
    if settings(point).motifs == "native":
        _check_all_seats_are_taken(job, seats)
        name = f"{log_name(number)}.map"
        (folder / name).write_text(map_file(number, seats))
        return described | {"number": number, "motifs": [native_motif(point.jobs[number], job.ranks)], "map": name}
    traces = folder / f"{log_name(number)}.traces"
    traces.mkdir()
    write_traces(traces / "rank", job, seats)
    return described | {"number": number, "motifs": [f"SIRIUSTrace traceprefix={traces.name}/rank"]}


def _check_all_seats_are_taken(job: PlacedJob, seats: RankLayout) -> None:
    if seats.seats != job.ranks:
        raise WorkloadError(
            f"job {job.name} has not the same number of ranks on each of its nodes, as Ember's motifs need; "
            "leave engine.motifs out"
        )


def _check_nodes_are_not_shared(jobs: list[dict[str, Any]]) -> None:
    nodes = [node for job in jobs for node in job["nodes"]]
    if len(set(nodes)) < len(nodes):
        raise WorkloadError(
            "in SST a node belongs to one job, and here some belong to two; give jobs nodes of their own"
        )
