"""What ranks compute, as times in their traces: CODES computes where a call starts later than the one before it ended.

`traces` gives the times of calls as if nobody computed; here all calls after a computation become that much later.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fabricstudy.workload.messages import PlacedJob, WorkloadError

from ..contract import Unsupported
from ..point import Point
from .files import TracedJob, _prefix
from .trace import CALL_DTYPE, FINALIZE, INIT, LEAST_DELAY_NS, TRANSFER_DTYPE, WAITALL

_CALLS = 16
"""Bytes before the first call of a trace."""

_TIMES = struct.Struct(">HIHI")
_LABEL = struct.Struct(">H")
_NUMBER = struct.Struct(">I")
_START = struct.calcsize(">HB")
"""Bytes of a call before its times: label and mask."""

_NS_OF_A_S = 10**9


@dataclass
class Phase:
    """What a rank does in a phase: calls that transfer something, and computations in ns."""

    transfers: int = 0
    before_ns: int = 0
    beside_ns: int = 0


def check_computing(point: Point) -> None:
    """Refuse what computes so shortly that CODES passes over it.

    Raises
    ------
    Unsupported
        With the reason.
    """
    for job in point.jobs:
        if job.compute is None:
            continue
        parts_ns = ((1 - job.compute.overlap) * job.compute.time_ns, job.compute.overlap * job.compute.time_ns)
        if any(0 < part_ns < LEAST_DELAY_NS for part_ns in parts_ns):
            raise Unsupported(
                f"CODES passes over pauses of less than {LEAST_DELAY_NS} ns, and of compute "
                f"{min(part_ns for part_ns in parts_ns if part_ns):.3g} ns come at a time; take a longer one"
            )


def check_traced(jobs: list[PlacedJob], traced: list[TracedJob]) -> None:
    """Refuse jobs that compute and send nothing between nodes: CODES simulates none of these.

    Raises
    ------
    WorkloadError
        If there is one.
    """
    for number in {number for number, job in enumerate(jobs) if job.computing} - {job.number for job in traced}:
        raise WorkloadError(
            f"job {jobs[number].name} computes and sends nothing between nodes, and CODES simulates no such job; take "
            "the engine caminos"
        )


def write_pauses(folder: Path, jobs: list[PlacedJob], traced: list[TracedJob]) -> None:
    """Let the ranks of all jobs compute that do, in whole ns."""
    for job in traced:
        if jobs[job.number].computing is not None:
            for rank, phases in _phases(jobs[job.number], job).items():
                path = folder / f"{_prefix(job)}{rank:04}.bin"
                path.write_bytes(with_pauses(path.read_bytes(), phases))


def _phases(job: PlacedJob, traced: TracedJob) -> dict[int, list[Phase]]:
    """Give the phases of each rank that computes, in their order."""
    assert job.computing is not None
    of_rank: dict[int, dict[int, Phase]] = defaultdict(lambda: defaultdict(Phase))
    computing = zip(*(column.tolist() for column in job.computing.columns), strict=True)
    for phase, rank, before_ns, beside_ns in computing:
        one = of_rank[rank][phase]
        one.before_ns, one.beside_ns = round(before_ns), round(beside_ns)
    messages = traced.messages
    for ends in (messages.source, messages.destination):
        pairs, count = np.unique(np.stack([ends, messages.phase]), axis=1, return_counts=True)
        for rank, phase, transfers in zip(*pairs.tolist(), count.tolist(), strict=True):
            of_rank[rank][phase].transfers += transfers
    return {rank: [phase for _, phase in sorted(phases.items())] for rank, phases in of_rank.items()}


def with_pauses(trace: bytes, phases: list[Phase]) -> bytes:
    """Move the calls of a trace that come after a computation.

    Raises
    ------
    WorkloadError
        If the rank would compute beside messages of which it cannot post all at once.
    """
    calls, paused, late_ns = list(_calls(trace)), bytearray(trace), 0
    next_call = 1
    for phase in phases:
        late_ns += phase.before_ns
        first = next_call
        left = phase.transfers
        while left or calls[next_call].label == WAITALL:
            call = calls[next_call]
            if left and call.label == WAITALL and phase.beside_ns:
                raise WorkloadError(
                    "a rank computes beside more messages than it has under way in CODES; raise network.injection, "
                    "leave overlap out, or take the engine caminos"
                )
            if not left and calls[next_call - 1].label != WAITALL:
                # Between its sends it has computed a little.
                late_ns += max(0, phase.beside_ns - (call.time_ns - calls[first].time_ns))
            left -= call.label != WAITALL
            call.move(paused, late_ns)
            next_call += 1
        late_ns += 0 if phase.transfers else phase.beside_ns
    calls[next_call].move(paused, late_ns)
    return bytes(paused)


class _Call(NamedTuple):
    """A call of a trace: where it stands, what it is, and when it starts and ends."""

    place: int
    label: int
    time_ns: int

    def move(self, trace: bytearray, late_ns: int) -> None:
        """Let it start and end later."""
        time = divmod(self.time_ns + late_ns, _NS_OF_A_S)
        _TIMES.pack_into(trace, self.place + _START, *time, *time)


def _calls(trace: bytes) -> Iterator[_Call]:
    """Give the calls of a trace of ours, the first and the last one included."""
    place, label = _CALLS, INIT
    while label != FINALIZE:
        (label,) = _LABEL.unpack_from(trace, place)
        start_s, start_ns, _, _ = _TIMES.unpack_from(trace, place + _START)
        yield _Call(place, label, start_s * _NS_OF_A_S + start_ns)
        if label == WAITALL:
            (requests,) = _NUMBER.unpack_from(trace, place + CALL_DTYPE.itemsize)
            place += CALL_DTYPE.itemsize + (2 + requests) * _NUMBER.size
        else:
            place += CALL_DTYPE.itemsize + _NUMBER.size if label == INIT else TRANSFER_DTYPE.itemsize
