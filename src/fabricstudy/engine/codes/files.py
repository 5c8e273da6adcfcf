"""Keys of CODES, and the files that it reads: configuration, wiring or tables, jobs, allocation, traces."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers, number_within
from fabricstudy.core.model import Flag
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import Messages, PlacedJob

from ..point import Point
from ..settings import EngineSettings
from .models import codes_model, network_of
from .network import CodesNetwork
from .packet import events_per_object
from .trace import traces, traces_of_operations

CONFIGURATION, JOBS, ALLOCATION, TRACES, OUTPUTS = "net.yaml", "jobs.conf", "alloc.conf", "traces", "lpio"

PHANTOM = "0 phantom 0 0"
"""A job that never ends: at the end of all jobs CODES calls a method that only one of its models has, and crashes."""

# CODES' software cost of a message, from its source: 2500 and 1000 ns, and 0.55 ns per byte for a copy.
SOFTWARE_NS, COPY_NS_PER_BYTE = 3500.0, 0.55

LARGEST_COPY_NS = 2000.0
"""Maximum time of the copy of a piece of a message, over that of the smallest message of the run."""

HOPS = "hops"
"""Folder of the list of hops."""

MAX_LISTED_PACKETS = 2_000_000
"""A list of hops needs about 0.2 kB of disk space each during the simulation, so 1.5 GB at most."""

EVENT_BYTES = 736


class CodesSettings(EngineSettings):
    """Keys of CODES."""

    job_links: Flag = Field(
        True,
        description="tell the links that each of several jobs uses, where CODES can: on a dragonfly from a list of all "
        "hops, elsewhere, if routes are fixed, from simulating each job alone as well (takes about as long again)",
    )


@dataclass(frozen=True, eq=False)
class TracedJob:
    """A job that communicates between nodes."""

    number: int
    """Index of the job in the point."""
    slot_of_rank: Integers
    """CODES' number of the slot of each rank, [ranks]."""
    messages: Messages
    """The messages in its traces."""


def traced_jobs(machine: Machine, network: CodesNetwork, jobs: list[PlacedJob]) -> list[TracedJob]:
    """Return the jobs that CODES simulates: those that communicate between nodes."""
    sizes = (job.messages.size_bytes[job.is_inter_node] for job in jobs)
    smallest = min((int(size_bytes.min(initial=2**31)) for size_bytes in sizes), default=1)
    traced = []
    for number, (job, slots) in enumerate(zip(jobs, _slots(machine, network, jobs), strict=True)):
        messages = _in_pieces(_traced(job, smallest), smallest, network.packet)
        if len(messages):
            traced.append(TracedJob(number, slots, messages))
    return traced


def background_end_ns(jobs: list[PlacedJob]) -> float | None:
    """Return the duration of the background jobs, at which the run ends; None if there are none."""
    return max((job.background_duration_ns for job in jobs if job.background_duration_ns is not None), default=None)


def _in_pieces(messages: Messages, smallest: int, packet: int) -> Messages:
    """Cut messages much larger than the smallest of the run into pieces of whole packets.

    Only the copy of the smallest message can be subtracted from CODES' software cost. No piece is smaller than that
    message: a shorter remainder is part of the piece before it.
    """
    piece = max(1, int((smallest + LARGEST_COPY_NS / COPY_NS_PER_BYTE) / packet)) * packet
    size = messages.size_bytes
    if piece < smallest or size.max(initial=0) <= smallest + LARGEST_COPY_NS / COPY_NS_PER_BYTE:
        return messages
    pieces = np.maximum(1, size // piece)
    pieces += (size > piece) & (size % piece >= smallest)
    row = np.repeat(np.arange(len(size)), pieces)
    last = np.cumsum(pieces) - 1
    cut = np.full(len(row), piece, dtype=np.int64)
    cut[last] = size - (pieces - 1) * piece
    return Messages(messages.phase[row], messages.source[row], messages.destination[row], cut)


def _slots(machine: Machine, network: CodesNetwork, jobs: list[PlacedJob]) -> list[Integers]:
    """Return CODES' numbers of the slots of ranks; all nodes have as many slots as the largest one has ranks.

    Slots of a repetition belong to its nodes in turn.
    """
    node = np.concatenate([job.node_of_rank for job in jobs])
    repetition, terminal = np.divmod(node, network.terminals)
    seat = repetition * ranks_per_node(machine, jobs) + number_within(node)
    slot = seat * network.terminals + terminal
    return np.split(slot, np.cumsum([job.ranks for job in jobs])[:-1])


def ranks_per_node(machine: Machine, jobs: list[PlacedJob]) -> int:
    """Return the number of ranks on the node with most ranks."""
    return int(np.bincount(np.concatenate([job.node_of_rank for job in jobs]), minlength=machine.nodes).max())


def _traced(job: PlacedJob, smallest: int) -> Messages:
    """Return the messages of a job that affect times.

    Messages within a node are free. In a job of several phases they synchronise ranks, and are kept with the smallest
    size, since CODES copies them at the bandwidth of a node; likewise in a job of operations, where the number of a
    message serves as its phase.
    """
    messages, between = job.messages, job.is_inter_node
    if job.operations is not None and between.any():
        sends = job.operations.sends
        ends = job.operations.rank[sends], job.operations.rank[job.operations.partner[sends]]
        local = np.equal(*(job.node_of_rank[end] for end in ends))
        size_bytes = np.where(local, smallest, job.operations.size_bytes[sends])
        return Messages(np.arange(len(sends), dtype=np.int32), *ends, size_bytes)
    if not between.any() or messages.phase.min() == messages.phase.max():
        keep, size = between, messages.size_bytes
    else:
        keep, size = np.ones_like(between), np.where(between, messages.size_bytes, smallest)
    return Messages(messages.phase[keep], messages.source[keep], messages.destination[keep], size[keep])


def write_files(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> None:
    """Write the input of CODES, and for each job that is also run alone a folder with links to these files."""
    network = network_of(point, machine)
    traced = traced_jobs(machine, network, jobs)
    isolated, hops = measured_by_job(point, network, jobs, traced)
    model = codes_model(point)
    assert model is not None
    events = events_per_object(point, model.burst_bytes(point), network.packet)
    ranks, injected = ranks_per_node(machine, jobs), point.network.injected_messages
    (folder / CONFIGURATION).write_text(configuration(network, ranks, traced, events, hops, injected))
    for name, content in network.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / TRACES).mkdir()
    # Ranks of a node share its interface. A single message under way is up to CODES' scheduler.
    under_way = None if injected == 1 else max(1, injected // ranks)
    for job in traced:
        placed = jobs[job.number]
        data_of_ranks = (
            traces(placed.ranks, job.messages, under_way, placed.computing)
            if placed.operations is None
            else traces_of_operations(placed.operations, job.messages)
        )
        for rank, data in enumerate(data_of_ranks):
            (folder / f"{_prefix(job)}{rank:04}.bin").write_bytes(data)
    shared = sorted(path.name for path in folder.iterdir())
    _write_jobs(folder, traced, point)
    for job in isolated:
        run_folder = folder / isolated_job_folder(job)
        run_folder.mkdir()
        for name in shared:
            (run_folder / name).symlink_to(Path("..") / name)
        _write_jobs(run_folder, [job], point)


def _prefix(job: TracedJob) -> str:
    return f"{TRACES}/{job.number}-"


def phantom_jobs(point: Point) -> list[str]:
    """Return the jobs that never end: one, but none where congestion management would run on with it for ever."""
    return [] if point.network.congestion_management else [PHANTOM]


def _write_jobs(folder: Path, traced: list[TracedJob], point: Point) -> None:
    lines = [f"{len(job.slot_of_rank)} {_prefix(job)} 0 0" for job in traced]
    (folder / JOBS).write_text("\n".join([*lines, *phantom_jobs(point)]) + "\n")
    (folder / ALLOCATION).write_text("".join(" ".join(map(str, job.slot_of_rank.tolist())) + "\n" for job in traced))


def measured_by_job(
    point: Point, network: CodesNetwork, jobs: list[PlacedJob], traced: list[TracedJob]
) -> tuple[list[TracedJob], bool]:
    """Return the jobs that are also run alone, and whether all hops are listed, if this finds the links of each job.

    They are if the study asks for them, several jobs communicate, none in the background, and no two share a node.
    """
    asked = isinstance(point.engine, CodesSettings) and point.engine.job_links
    if not asked or len(traced) < 2 or background_end_ns(jobs) is not None:
        return [], False
    nodes = np.concatenate([np.unique(jobs[job.number].node_of_rank) for job in traced])
    if len(np.unique(nodes)) < len(nodes):
        return [], False
    model = codes_model(point)
    if model is None or model.job_links != "hops":
        return traced if network.fixed_routes and network.traffic is not None else [], False
    packets = sum(int((-(-job.messages.size_bytes // network.packet)).sum()) for job in traced)
    return [], packets <= MAX_LISTED_PACKETS


def isolated_job_folder(job: TracedJob) -> str:
    """Return the name of the folder in which a job is run alone."""
    return f"alone-{job.number}"


def configuration(
    network: CodesNetwork, ranks: int, traced: list[TracedJob], events: int, hops: bool = False, injected: int = 16
) -> str:
    """Return CODES' configuration, as text."""
    smallest = min(int(job.messages.size_bytes.min()) for job in traced)
    parameters = {
        "modelnet_order": list(network.methods),
        "packet_size": network.packet,
        "chunk_size": network.packet,
        "message_size": EVENT_BYTES,
        "pe_mem_factor": events,
        # Messages of a node: one after the other, or interleaved packet by packet.
        "modelnet_scheduler": "fcfs" if injected == 1 else "round-robin",
        # Messages within a node are copied at the same time.
        "node_eager_limit": 2**31 - 1,
        "node_copy_queues": 1,
        "num_injection_queues": 1,
        "nic_seq_delay": 0,
        # Subtracts the software cost, except for the copy of bytes beyond the smallest message.
        "self_msg_overhead": -(SOFTWARE_NS + COPY_NS_PER_BYTE * smallest),
    } | network.parameters
    if hops:
        parameters["save_router_timing_trace_path"] = HOPS
    objects = {"nw-lp": network.terminals * ranks, network.terminal: network.terminals} | network.others
    return "\n".join(
        [
            "schema_version: 1",
            "topology:",
            "  format: groups",
            "  groups:",
            "    MODELNET_GRP:",
            f"      repetitions: {network.repetitions}",
            "      lps:",
            *(f"        {name}: {count}" for name, count in objects.items()),
            "  params:",
            *(f"    {name}: {json.dumps(value)}" for name, value in parameters.items()),
            "",
        ]
    )
