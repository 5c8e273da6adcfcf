"""Keys of SST, and the run file: a point in the format of ``engines/sst/model.py``."""

import json
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Number
from fabricstudy.core.quantities import Size
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from ..failures import Unsupported
from ..point import Point
from ..settings import EngineSettings
from .traces import map_file, native_motif, rank_layout, write_traces
from .wiring import wire
from .wiring.base import Wiring, cable_ends, link_of_cable

UGAL_BIAS_FLITS = 50
"""What Merlin's dragonfly adds to twice the queue of a detour; fixed (`bias` in its topology/dragonfly.cc)."""

RUN, STATISTICS = "run.json", "links.csv"

# SST-Core counts time in picoseconds.
PS_OF_A_NS = 1000
# Firefly's default, in addition to one for each message.
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
"""Free MPI."""

UNLIMITED = 2**30

NO_NIC_COSTS: dict[str, Any] = {
    "nic2host_lat": "1ps", "rxMatchDelay_ns": 0, "txDelay_ns": 0, "hostReadDelay_ns": 0,
    "maxActiveRecvStreams": UNLIMITED, "maxPendingRecvPkts": UNLIMITED,
}  # fmt: skip
"""A free network interface.

By default it receives 16 messages at once and buffers 64 packets of further messages. When this buffer is full, it
accepts no packets, not even of those 16, so that backpressure stalls the network, possibly forever.
"""


class SstSettings(EngineSettings):
    """Keys of SST."""

    motifs: Literal["messages", "native"] = Field(
        "messages",
        description="what the jobs do: the message list that every engine gets, or Ember's own Alltoall and Halo3D",
    )
    mpi: Literal["none", "default"] = Field(
        "none", description="costs of network interface and MPI: none, as in the other engines, or SST's defaults"
    )
    crossbar: Number = Field(
        1.5, ge=1, le=1000, description="bandwidth of a router's crossbar over that of the fastest links"
    )
    flit_bytes: Size | None = Field(
        None, alias="flit", description="unit in which data moves; left out: a quarter of a packet; smaller is slower"
    )


def write_run(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> None:
    """Write the run file, and the files to which it refers."""
    described = [_job(folder, number, job, point, machine) for number, job in communicating(jobs)]
    nodes = [node for job in described for node in job["nodes"]]
    if len(set(nodes)) < len(nodes):
        raise WorkloadError("in SST jobs cannot share nodes, and here some do; give each job separate nodes")
    run = run_description(point, machine, wire(point, machine), jobs) | {"jobs": described}
    (folder / RUN).write_text(json.dumps(run))


def communicating(jobs: Sequence[PlacedJob]) -> list[tuple[int, PlacedJob]]:
    """Return the communicating jobs with their numbers; SST simulates no others."""
    return [(number, job) for number, job in enumerate(jobs) if len(job.messages)]


def has_no_foreground_traffic(jobs: Sequence[PlacedJob]) -> bool:
    """Return whether no job communicates, except in the background."""
    return all(job.background for _, job in communicating(jobs))


def log_name(number: int) -> str:
    """Return the name of a job's log, without suffix."""
    return f"job{number}"


def settings_of(point: Point) -> SstSettings:
    """Return the engine's settings of a point."""
    assert isinstance(point.engine, SstSettings)
    return point.engine


def flit_bytes(point: Point) -> int:
    """Return the flit of a point: that of the study, or a quarter of a packet."""
    flit = settings_of(point).flit_bytes
    return int(flit) if flit is not None else max(1, ceil(int(point.network.packet_bytes) / 4))


def run_description(point: Point, machine: Machine, wiring: Wiring, jobs: list[PlacedJob]) -> dict[str, Any]:
    """Return the run file of a point, without the description of its jobs."""
    size = int(point.network.buffer_bytes)
    buffers = {"input_buf_size": f"{size}B", "output_buf_size": f"{size // 2}B"}
    (tail, head), (tail_port, head_port) = cable_ends(machine), wiring.cable_ports.T
    cables = [tail, tail_port, head, head_port, machine.cable_class[link_of_cable(machine)]]
    free = settings_of(point).mpi == "none"
    return {
        "topology": {
            "component": wiring.component,
            "parameters": wiring.parameters,
            "of_router": {str(router): parameters for router, parameters in wiring.of_router.items()},
        },
        "router": _router(point, machine, wiring) | buffers,
        "ports": wiring.ports.tolist(),
        "cables": np.stack(cables, axis=1).tolist(),
        "latencies": [_time(link.latency_ns) for link in machine.classes],
        "hosts": np.stack([machine.node_router, wiring.host_ports], axis=1).tolist(),
        "host_latency": _time(machine.host.latency_ns),
        "interface": {"link_bw": _bandwidth(machine.host), **buffers},
        "nic": {"packetSize": f"{int(point.network.packet_bytes)}B"} | (NO_NIC_COSTS if free else {}),
        "mpi": NO_COSTS | _eager_messages(jobs) if free else {},
        "statistics": STATISTICS,
        **({} if wiring.routes is None else {"routes": wiring.routes}),
    }


def _eager_messages(jobs: list[PlacedJob]) -> dict[str, Any]:
    """Send all messages eagerly, with a posted buffer for each message that a rank receives in one phase.

    With fewer buffers a rank's messages wait for each other, or for ever.
    """
    longest = receives = 0
    for job in jobs:
        key = job.messages.phase.astype(np.int64) * job.ranks + job.messages.destination
        longest = max(longest, int(job.messages.size_bytes.max(initial=0)))
        receives = max(receives, int(np.unique(key, return_counts=True)[1].max(initial=0)))
    return {"ctrl.shortMsgLength": longest, "ctrl.pqs.maxPostedShortBuffers": SPARE_BUFFERS + receives}


def _router(point: Point, machine: Machine, wiring: Wiring) -> dict[str, Any]:
    classes = {link.name: link for link in (*machine.classes, machine.host)}
    fastest = max(classes.values(), key=lambda link: link.bandwidth_Bps)
    groups = {f"link_bw:{group}": _bandwidth(classes[name]) for group, name in wiring.class_of_group.items()}
    return {
        # Merlin rejects a crossbar slower than this, and is silently slower with one slower than a group.
        "link_bw": _bandwidth(machine.classes[0] if machine.classes else machine.host),
        **groups,
        "xbar_bw": f"{fastest.bandwidth_Bps * settings_of(point).crossbar:.0f}B/s",
        "flit_size": f"{flit_bytes(point)}B",
        "input_latency": _time(point.network.router_latency_ns),
        "output_latency": "0ps",
        "num_vns": max(wiring.virtual_networks, len(point.network.classes)),
        **(_classes(point) if point.network.classes else {}),
        **(_congestion_management(point) if point.network.congestion_management else {}),
    }


def _congestion_management(point: Point) -> dict[str, Any]:
    """Return the keys of Merlin's congestion management; its other thresholds are the defaults."""
    packet_bytes = f"{int(point.network.packet_bytes)}B"
    return {"portcontrol.enable_congestion_management": True, "portcontrol.mtu": packet_bytes}


def _classes(point: Point) -> dict[str, Any]:
    """Return the keys of Merlin's quality of service: a virtual network for each traffic class, shares in percent."""
    return {
        "portcontrol.output_arb": "merlin.arb.output.qos.multi",
        "portcontrol.arbitration.qos_settings": [round(100 * share) for _, share in point.network.classes],
    }


def check_ugal(point: Point) -> None:
    """Raise `Unsupported` for UGAL on a dragonfly whose outputs hold so few flits that it would always be minimal."""
    output_bytes = int(point.network.buffer_bytes) // 2
    flits = output_bytes // flit_bytes(point)
    if flits <= UGAL_BIAS_FLITS:
        raise Unsupported(
            f"SST's UGAL detours only if {UGAL_BIAS_FLITS} flits more wait for the minimal path, and an output holds "
            f"{flits}: it would be minimal; choose an engine.flit of {output_bytes // (UGAL_BIAS_FLITS + 1)} B at "
            "most, or a larger network.buffer"
        )


def _bandwidth(link: LinkClass) -> str:
    return f"{link.bandwidth_Bps:.0f}B/s"


def _time(time_ns: float) -> str:
    # A link needs some latency.
    return f"{max(1, round(time_ns * PS_OF_A_NS))}ps"


def _job(folder: Path, number: int, job: PlacedJob, point: Point, machine: Machine) -> dict[str, Any]:
    """Describe a job, and write its traces or, for a native motif, its map of ranks."""
    seats = rank_layout(job)
    described: dict[str, Any] = {"nodes": seats.nodes.tolist(), "cores": seats.cores, "log": log_name(number)}
    described |= {"background": True} if job.background else {}
    described |= {"class": point.class_of(number)} if point.network.classes else {}
    if settings_of(point).motifs == "native":
        if seats.seats != job.ranks:
            raise WorkloadError(
                f"job {job.name} has different numbers of ranks on its nodes, and Ember's motifs need the same number; "
                "leave engine.motifs out"
            )
        name = f"{log_name(number)}.map"
        (folder / name).write_text(map_file(number, seats))
        return described | {"number": number, "motifs": [native_motif(point.jobs[number], job.ranks)], "map": name}
    traces = folder / f"{log_name(number)}.traces"
    traces.mkdir()
    write_traces(traces / "rank", job, seats, machine.host.bandwidth_Bps)
    return described | {"number": number, "motifs": [f"SIRIUSTrace traceprefix={traces.name}/rank"]}
