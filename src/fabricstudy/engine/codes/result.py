"""The output of CODES, validated: an exit code of 0 proves nothing."""

import re
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Int32s
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob, repeat_background

from ..built_point import BuiltPoint
from ..failures import BackgroundMismatch, EngineFailure
from ..outcome import EngineResult, idle_times_ns, mean_of_senders_ns
from .files import (
    HOPS,
    OUTPUTS,
    TracedJob,
    background_end_ns,
    isolated_job_folder,
    measured_by_job,
    phantom_jobs,
    traced_jobs,
)
from .models import network_of
from .network import UNLINKED, PortCounters

RANKS, COLUMNS = "mpi-replay-stats", 13
"""Output with a row for each rank, and its columns."""
HOP_LIST = "router-timing-gid=0.txt"

HOP_COLUMNS = 21
# Columns of the list of hops; the third is the node that sent the packet.
ROUTER, PORT, SOURCE, PACKET_BYTES = 0, 2, 18, 6

_APPLICATION = re.compile(r"^\tApp (\d+): ([0-9.]+|-?nan|-?inf)$", re.MULTILINE)
# The first number is the rank in the job; the one after "Rank" counts the slots of all nodes.
_FINISHED = re.compile(r"^Network node (\d+) Rank \d+ App (\d+) finished at ([0-9.]+)", re.MULTILINE)
# The last word is a typo of CODES.
_LEFT_BEHIND = re.compile(r"unmatched|leftover|lefover", re.IGNORECASE)
_NO_MATCH = re.compile(r"no match so defaulting", re.IGNORECASE)
# CODES continues where outputs of an earlier run exist, and does not overwrite them.
_NOT_WRITTEN = re.compile(r"mkdir\(.*failed|MPI_File_open")
# CODES replaces an unknown key or name by a default.
_DEFAULT = re.compile(r"not specif|No .*specified", re.IGNORECASE)
LONGER, TOO_LONG = 4.0, 1.01
"""Factor of the background duration after a run that ended too soon, and its allowed excess over the runtime."""


def read_result(point: BuiltPoint, folder: Path) -> EngineResult:
    """Read the outputs of a run with exit code 0.

    Raises `EngineFailure` if messages or packets are unmatched, ranks did not finish, or bytes are not those of the
    messages, and `BackgroundMismatch` if the background was too short or too long.
    """
    machine = point.machine
    network = network_of(point.point, machine)
    jobs = [repeat_background(job, machine) for job in point.jobs]
    traced = traced_jobs(machine, network, jobs)
    runtime_ns, rank_mean_ns = idle_times_ns(jobs)
    if all(jobs[job.number].background for job in traced):
        no_traffic = np.zeros(machine.links), None, np.zeros(machine.links, np.int64)
        return EngineResult(tuple(runtime_ns), *no_traffic, job_rank_mean_ns=tuple(rank_mean_ns))
    isolated, hops = measured_by_job(point.point, network, jobs, traced)
    output = (folder / "stdout").read_text(errors="replace")
    runs = re.split(r"^ROSS Version: .*$", output, flags=re.MULTILINE)[1:]
    if len(runs) != 1 + len(isolated):
        raise EngineFailure(f"CODES was to run {1 + len(isolated)} times, and ran {len(runs)} times")
    duration_ns = background_end_ns(jobs)
    _check_output((folder / "stderr").read_text(errors="replace"), truncated=duration_ns is not None)
    if duration_ns is not None:
        _check_background(runs[0], traced, jobs, duration_ns)
    phantoms = len(phantom_jobs(point.point))
    times_ns = _checked_times(folder, runs[0], traced, jobs, phantoms)
    for job, time_ns, ended_ns in zip(traced, times_ns, _ended_ns(runs[0], traced), strict=True):
        runtime_ns[job.number], rank_mean_ns[job.number] = time_ns, mean_of_senders_ns(jobs[job.number], ended_ns)
    traffic, sent_bytes = network.traffic, sum(job.bytes_sent for job in jobs)
    link_bytes = None if traffic is None else read_link_bytes(folder / OUTPUTS, traffic, machine, sent_bytes)
    packet = _uniform_packet_bytes(traced, network.packet)
    link_packets = None if packet is None or link_bytes is None else (link_bytes / packet).astype(np.int64)
    packets = None
    if isolated and network.traffic is not None and link_bytes is not None:
        alone_bytes = np.zeros((len(jobs), machine.links))
        for job, run in zip(isolated, runs[1:], strict=True):
            run_folder = folder / isolated_job_folder(job)
            _checked_times(run_folder, run, [job], jobs, phantoms)
            alone_bytes[job.number] = read_link_bytes(run_folder / OUTPUTS, network.traffic, machine, sent_bytes)
        _check_sum(alone_bytes, link_bytes, "the traffic of the jobs alone")
        packets = np.ceil(alone_bytes / (packet or network.packet)).astype(np.int32)
    elif hops and network.traffic is not None:
        packets = _listed_hops(folder / HOPS / HOP_LIST, network.traffic, machine, jobs, link_bytes)
        link_packets = packets.sum(axis=0, dtype=np.int64)
    return EngineResult(tuple(runtime_ns), link_bytes, packets, link_packets, job_rank_mean_ns=tuple(rank_mean_ns))


def _uniform_packet_bytes(traced: list[TracedJob], packet: int) -> int | None:
    """Return the size of all packets if it is the same, so that link bytes give link packets; else None."""
    sizes = np.concatenate([job.messages.size_bytes for job in traced])
    size = packet if np.all(sizes % packet == 0) else int(sizes.max())
    return size if size <= packet and np.all(sizes % size == 0) else None


def _check_sum(job_bytes: Array, link_bytes: Floats | None, what: str) -> None:
    if link_bytes is not None and np.any(job_bytes.sum(axis=0) != link_bytes):
        raise EngineFailure(f"{what} does not sum up to the link loads")


def _listed_hops(
    path: Path, traffic: PortCounters, machine: Machine, jobs: list[PlacedJob], link_bytes: Floats | None
) -> Int32s:
    """Return the packets of each job on each link, from the list of all hops."""
    from pyarrow import csv

    names = [str(number) for number in range(HOP_COLUMNS)]
    wanted = [names[number] for number in (ROUTER, PORT, SOURCE, PACKET_BYTES)]
    # The first line has the names of the columns, with a mark before the first.
    reading, columns = csv.ReadOptions(column_names=names, skip_rows=1), csv.ConvertOptions(include_columns=wanted)
    try:
        table = csv.read_csv(path, reading, convert_options=columns)
        router, port, source, size = (table[name].to_numpy().astype(np.int64) for name in wanted)
        link = traffic.link_of_port[router, port]
    except (OSError, ValueError, IndexError) as error:
        raise EngineFailure(f"{path.name} is no list of hops ({type(error).__name__})") from None
    job_of_node = np.full(machine.nodes, -1)
    for number, job in enumerate(jobs):
        job_of_node[job.node_of_rank] = number
    on_link = link != UNLINKED
    shape, count = (len(jobs), machine.links), len(jobs) * machine.links
    cell = job_of_node[source[on_link]] * machine.links + link[on_link]
    if cell.min(initial=0) < 0:
        raise EngineFailure(f"{path.name} has a packet that no job sent")
    job_bytes = np.bincount(cell, weights=size[on_link], minlength=count).reshape(shape)
    _check_sum(job_bytes, link_bytes, "the list of hops")
    return np.bincount(cell, minlength=count).reshape(shape).astype(np.int32)


def _checked_times(
    folder: Path, out: str, traced: list[TracedJob], jobs: list[PlacedJob], phantoms: int
) -> list[float | None]:
    """Return the time of each job of a successful run; None for background jobs, which are truncated."""
    foreground = {index for index, job in enumerate(traced) if not jobs[job.number].background}
    _check_output(out, truncated=len(foreground) < len(traced))
    ranks = sum(len(traced[index].slot_of_rank) for index in foreground)
    finished = sum(int(job) in foreground for _, job, _ in _FINISHED.findall(out))
    if finished != ranks:
        raise EngineFailure(f"{ranks} ranks were to finish, and {finished} did")
    times_s = {int(index): float(time) for index, time in _APPLICATION.findall(out)}
    if len(times_s) != len(traced) + phantoms or not all(0 < times_s.get(index, 0.0) < np.inf for index in foreground):
        raise EngineFailure(f"CODES wrote the times {times_s} of {len(traced)} jobs")
    _check_ranks(numbers(folder / OUTPUTS / RANKS, COLUMNS), traced, foreground)
    return [times_s[index] if index in foreground else None for index in range(len(traced))]


def _check_background(out: str, traced: list[TracedJob], jobs: list[PlacedJob], duration_ns: float) -> None:
    """Check that the run ended with the last foreground job, and no sending rank of a background job before.

    Raises `BackgroundMismatch` if it ended before, or so much later that link loads are those of another time, and
    `EngineFailure` if a background job ended although its messages last long enough.
    """
    ends = [(int(job), int(rank), float(time_ns)) for rank, job, time_ns in _FINISHED.findall(out)]
    foreground_ranks = sum(len(job.slot_of_rank) for job in traced if not jobs[job.number].background)
    times_ns = [time_ns for job, _, time_ns in ends if not jobs[traced[job].number].background]
    if len(times_ns) < foreground_ranks:
        raise BackgroundMismatch(LONGER * duration_ns)
    end_ns = max(times_ns)
    background = {index: jobs[job.number] for index, job in enumerate(traced) if jobs[job.number].background}
    senders = {index: set(job.messages.source[job.is_inter_node].tolist()) for index, job in background.items()}
    for index, rank, time_ns in ends:
        if time_ns < end_ns and rank in senders.get(index, ()):
            raise EngineFailure(f"job {traced[index].number} is in the background, and ended before the others")
    if duration_ns > TOO_LONG * end_ns + 10:
        raise BackgroundMismatch(np.ceil(end_ns) + 1)


def _ended_ns(out: str, traced: list[TracedJob]) -> list[Floats]:
    """Return the finish time of each rank of each job; NaN if it was truncated."""
    ended_ns = [np.full(len(job.slot_of_rank), np.nan) for job in traced]
    for rank, job, time_ns in _FINISHED.findall(out):
        ended_ns[int(job)][int(rank)] = float(time_ns)
    return ended_ns


def _check_output(text: str, truncated: bool) -> None:
    for sign, problem in (
        (_DEFAULT, "CODES did not use a setting"),
        (_NOT_WRITTEN, "CODES did not write its outputs"),
        (_NO_MATCH, "CODES has unmatched messages"),
        (_LEFT_BEHIND, "CODES has unmatched messages"),
    ):
        match = sign.search(text)
        if match and not (truncated and sign is _LEFT_BEHIND):
            line = text[text.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0].strip()
            raise EngineFailure(f"{problem}: {line}")


def numbers(path: Path, columns: int | None = None) -> Floats:
    """Return the rows of numbers of an output."""
    try:
        numbers = np.loadtxt(path, ndmin=2)
    except OSError as error:
        raise EngineFailure(f"CODES did not write {path.name} ({type(error).__name__})") from None
    except ValueError:
        raise EngineFailure(f"{path.name} is not a table of numbers") from None
    if columns is not None and numbers.shape[1] != columns:
        raise EngineFailure(f"{path.name} has {numbers.shape[1]} columns, not {columns}")
    return numbers


def _check_ranks(rows: Floats, traced: list[TracedJob], foreground: set[int]) -> None:
    """Check that each rank of a foreground job has sent and received the bytes of its messages."""
    job, rank, sent, received = rows[:, [2, 3, 6, 7]].astype(np.int64).T
    for index in sorted(foreground):
        of_job, ranks, messages = job == index, len(traced[index].slot_of_rank), traced[index].messages
        order = np.argsort(rank[of_job])
        for verb, column, end in (("sent", sent, messages.source), ("received", received, messages.destination)):
            expected = np.bincount(end, weights=messages.size_bytes, minlength=ranks)
            if np.count_nonzero(of_job) != ranks or not np.array_equal(column[of_job][order], expected):
                total = f"{int(column[of_job].sum())} bytes, not {int(expected.sum())}"
                raise EngineFailure(f"job {traced[index].number} has {verb} {total}")


def read_link_bytes(outputs: Path, traffic: PortCounters, machine: Machine, sent_bytes: float) -> Floats | None:
    """Return the bytes on each link; None where those of all messages exceed the range of CODES' counters."""
    if sent_bytes >= 2**traffic.bits:
        return None
    rows = numbers(outputs / traffic.file)
    routers, ports = traffic.link_of_port.shape
    if rows.shape != (routers, traffic.columns + ports):
        raise EngineFailure(f"{traffic.file} is of another machine: {rows.shape[0]} rows of {rows.shape[1]} numbers")
    counted = rows[:, traffic.columns :] % 2.0**traffic.bits
    link = traffic.link_of_port[rows[:, traffic.router].astype(np.int64)]
    link_bytes = np.zeros(machine.links)
    np.add.at(link_bytes, link[link != UNLINKED], counted[link != UNLINKED])
    return link_bytes
