"""What CODES wrote, checked: it ends with 0 in many ways that are no result."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from ..contract import BackgroundMismatch, EngineFailure
from ..outcome import EngineResult, mean_of_senders_ns
from ..point import Point
from .files import HOPS, OUTPUTS, TracedJob, isolated_job_folder, jobs_to_isolate, lasting_ns, lists_hops, traced_jobs
from .models import network_of
from .network import HOST, CodesNetwork, PortCounters

RANKS = "mpi-replay-stats"

_APPLICATION = re.compile(r"^\tApp (\d+): ([0-9.]+|-?nan|-?inf)$", re.MULTILINE)
# A rank's number in its job is the first one; what is called its rank counts the places of all nodes.
_FINISHED = re.compile(r"^Network node (\d+) Rank \d+ App (\d+) finished at ([0-9.]+)", re.MULTILINE)
# The second word is CODES' own slip of the pen.
_LEFT_BEHIND = re.compile(r"unmatched|leftover|lefover", re.IGNORECASE)
_NO_MATCH = re.compile(r"no match so defaulting", re.IGNORECASE)
# It goes on where its outputs of an earlier run stand, and leaves those as they are.
_NOT_WRITTEN = re.compile(r"mkdir\(.*failed|MPI_File_open")
# What it says when it takes a default in the place of a key or of a name that it does not know.
LONGER, TOO_LONG = 4.0, 1.01
"""How much longer the background lasts where the others did not end beside it, and how much it may outlast them."""
_DEFAULT = re.compile(r"not specif|No .*specified", re.IGNORECASE)


def read_result(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> EngineResult:
    """Read the outputs of a run that ended with 0.

    Raises
    ------
    EngineFailure
        If messages or packets were left behind, ranks did not finish, or the bytes are not those that were to be sent.
    """
    network = network_of(point, machine)
    traced = traced_jobs(machine, network, jobs)
    runtime_ns = [None if job.background else 0.0 for job in jobs]
    rank_mean_ns = [mean_of_senders_ns(job, np.zeros(job.ranks)) for job in jobs]
    if all(jobs[one.number].background for one in traced):
        still = np.zeros(machine.links), None, np.zeros(machine.links, np.int64)
        return EngineResult(tuple(runtime_ns), *still, job_rank_mean_ns=tuple(rank_mean_ns))
    solo = jobs_to_isolate(point, network, jobs, traced)
    runs = _runs((folder / "stdout").read_text(errors="replace"))
    if len(runs) != 1 + len(solo):
        raise EngineFailure(f"CODES was to run {1 + len(solo)} times, and told of {len(runs)}")
    lasts_ns = lasting_ns(jobs)
    _check_said((folder / "stderr").read_text(errors="replace"), cut=lasts_ns is not None)
    if lasts_ns is not None:
        _check_background(runs[0], traced, jobs, lasts_ns)
    for job, time_ns in zip(traced, _checked_times(folder, runs[0], traced, jobs), strict=True):
        runtime_ns[job.number] = time_ns
    for job, ended_ns in zip(traced, _ended_ns(runs[0], traced), strict=True):
        rank_mean_ns[job.number] = mean_of_senders_ns(jobs[job.number], ended_ns)
    link_bytes = None if network.traffic is None else _link_bytes(folder, network.traffic, machine, jobs)
    packet = _even_packet_bytes(traced, network.packet)
    link_packets = None if packet is None or link_bytes is None else (link_bytes / packet).astype(np.int64)
    packets = None
    if solo and network.traffic is not None and link_bytes is not None:
        alone_bytes = np.zeros((len(jobs), machine.links))
        for job, out in zip(solo, runs[1:], strict=True):
            run_folder = folder / isolated_job_folder(job)
            _checked_times(run_folder, out, [job], jobs)
            alone_bytes[job.number] = _link_bytes(run_folder, network.traffic, machine, jobs)
        _check_sum(alone_bytes, link_bytes, "what the jobs send alone")
        packets = np.ceil(alone_bytes / (packet or network.packet)).astype(np.int32)
    elif lists_hops(point, network, jobs, traced):
        packets = _listed_hops(folder / HOPS, network, machine, jobs, link_bytes)
        link_packets = packets.sum(axis=0, dtype=np.int64)
    return EngineResult(tuple(runtime_ns), link_bytes, packets, link_packets, job_rank_mean_ns=tuple(rank_mean_ns))


def _even_packet_bytes(traced: list[TracedJob], packet: int) -> int | None:
    """Bytes of each packet, if all are of one size; else bytes on a link do not tell how many packets they were."""
    sizes = np.concatenate([job.messages.size_bytes for job in traced])
    size = packet if np.all(sizes % packet == 0) else int(sizes.max())
    return size if size <= packet and np.all(sizes % size == 0) else None


def _check_sum(job_bytes: npt.NDArray[Any], link_bytes: npt.NDArray[np.float64] | None, what: str) -> None:
    if link_bytes is not None and np.any(job_bytes.sum(axis=0) != link_bytes):
        raise EngineFailure(f"{what} does not make up what is on the links")


def _listed_hops(
    folder: Path,
    network: CodesNetwork,
    machine: Machine,
    jobs: list[PlacedJob],
    link_bytes: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.int32]:
    """Packets of each job on each link, from the list of all hops."""
    from pyarrow import csv

    assert network.hops is not None and network.traffic is not None
    hops, names = network.hops, [str(number) for number in range(network.hops.columns)]
    wanted = [names[number] for number in (hops.router, hops.port, hops.source, hops.packet)]
    # Its first line names the columns, with a mark before the first name.
    reading, taking = csv.ReadOptions(column_names=names, skip_rows=1), csv.ConvertOptions(include_columns=wanted)
    try:
        table = csv.read_csv(folder / hops.file, reading, convert_options=taking)
        router, port, source, size = (table[name].to_numpy().astype(np.int64) for name in wanted)
        link = network.traffic.link_of_port[router, port]
    except (OSError, ValueError, IndexError) as error:
        raise EngineFailure(f"{hops.file} is no list of hops ({type(error).__name__})") from None
    job_of_node = np.full(machine.nodes, -1)
    for number, job in enumerate(jobs):
        job_of_node[job.node_of_rank] = number
    on_link = link != HOST
    shape = (len(jobs), machine.links)
    at = job_of_node[source[on_link]] * machine.links + link[on_link]
    if at.min(initial=0) < 0:
        raise EngineFailure(f"{hops.file} tells of a packet that no job sent")
    job_bytes = np.bincount(at, weights=size[on_link], minlength=shape[0] * shape[1]).reshape(shape)
    _check_sum(job_bytes, link_bytes, "the list of hops")
    return np.bincount(at, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int32)


def _runs(out: str) -> list[str]:
    """What each run of the program said, in their order."""
    return re.split(r"^ROSS Version: .*$", out, flags=re.MULTILINE)[1:]


def _checked_times(folder: Path, out: str, traced: list[TracedJob], jobs: list[PlacedJob]) -> list[float | None]:
    """Time of each job of a run that was a success; none in the background, which is cut off somewhere."""
    background = [jobs[job.number].background for job in traced]
    _check_said(out, cut=any(background))
    times = _job_times(out, traced, background)
    _check_ranks(_numbers(folder / OUTPUTS / RANKS, 13), traced, background)
    return times


def _check_background(out: str, traced: list[TracedJob], jobs: list[PlacedJob], lasts_ns: float) -> None:
    """See to it that the run ended with the last job that is not in the background, and no sender behind it sooner.

    Raises
    ------
    BackgroundMismatch
        If it ended sooner, or so much later that the links tell of another time.
    EngineFailure
        If a background ended that had been given enough to send.
    """
    ends = [(int(job), int(rank), float(time_ns)) for rank, job, time_ns in _FINISHED.findall(out)]
    waited = sum(len(job.place_of_rank) for job in traced if not jobs[job.number].background)
    times_ns = [time_ns for job, _, time_ns in ends if not jobs[traced[job].number].background]
    if len(times_ns) < waited:
        raise BackgroundMismatch(LONGER * lasts_ns)
    end_ns = max(times_ns)
    for number, one in enumerate(traced):
        job = jobs[one.number]
        sending = set(job.messages.source[job.is_inter_node].tolist()) if job.background else set()
        if any(other == number and rank in sending and time_ns < end_ns for other, rank, time_ns in ends):
            raise EngineFailure(f"job {one.number} is in the background, and ended before the others")
    if lasts_ns > TOO_LONG * end_ns + 10:
        raise BackgroundMismatch(np.ceil(end_ns) + 1)


def _ended_ns(out: str, traced: list[TracedJob]) -> list[npt.NDArray[np.float64]]:
    """When each rank of each job ended; not a number for those that were cut off."""
    ended_ns = [np.full(len(job.place_of_rank), np.nan) for job in traced]
    for rank, job, time_ns in _FINISHED.findall(out):
        ended_ns[int(job)][int(rank)] = float(time_ns)
    return ended_ns


def _check_said(said: str, cut: bool) -> None:
    _refuse(said, _DEFAULT, "CODES did not take a setting")
    _refuse(said, _NOT_WRITTEN, "CODES did not write its outputs")
    _refuse(said, _NO_MATCH, "CODES left something behind")
    if not cut:
        _refuse(said, _LEFT_BEHIND, "CODES left something behind")


def _refuse(said: str, sign: re.Pattern[str], what: str) -> None:
    match = sign.search(said)
    if match:
        line = said[said.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0].strip()
        raise EngineFailure(f"{what}: {line}")


def _job_times(out: str, traced: list[TracedJob], background: list[bool]) -> list[float | None]:
    """Time of each traced job; all ranks must have finished of those that are not in the background."""
    ranks = sum(len(job.place_of_rank) for job, cut in zip(traced, background, strict=True) if not cut)
    waited = {number for number, cut in enumerate(background) if not cut}
    finished = sum(int(job) in waited for _, job, _ in _FINISHED.findall(out))
    if finished != ranks:
        raise EngineFailure(f"{ranks} ranks were to finish, and {finished} did")
    times_s = {int(number): float(time) for number, time in _APPLICATION.findall(out)}
    if len(times_s) != len(traced) + 1 or not all(0 < times_s.get(number, 0.0) < np.inf for number in waited):
        raise EngineFailure(f"CODES told the times {times_s} of {len(traced)} jobs")
    return [None if cut else times_s[number] for number, cut in enumerate(background)]


def _numbers(path: Path, columns: int | None = None) -> npt.NDArray[np.float64]:
    """Rows of numbers of an output; its head may end in the middle of a line."""
    try:
        text = path.read_text()
    except OSError as error:
        raise EngineFailure(f"CODES did not write {path.name} ({type(error).__name__})") from None
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    width = len(rows[0]) if rows else 0
    try:
        numbers = np.array(rows, dtype=np.float64).reshape(-1, width)
    except ValueError:
        raise EngineFailure(f"{path.name} is not a table of numbers") from None
    if columns is not None and width != columns:
        raise EngineFailure(f"{path.name} has {width} columns, not {columns}")
    return numbers


def _check_ranks(rows: npt.NDArray[np.float64], traced: list[TracedJob], background: list[bool]) -> None:
    """Each rank that is not in the background must have sent and received what is in its messages."""
    job, rank, sent, received = rows[:, [2, 3, 6, 7]].astype(np.int64).T
    for number, one in enumerate(traced):
        if background[number]:
            continue
        of_job = job == number
        order = np.argsort(rank[of_job])
        ranks, messages = len(one.place_of_rank), one.messages
        for what, column, end in (("sent", sent, messages.source), ("received", received, messages.destination)):
            wanted = np.bincount(end, weights=messages.size_bytes, minlength=ranks)
            if np.count_nonzero(of_job) != ranks or not np.array_equal(column[of_job][order], wanted):
                total = int(column[of_job].sum())
                raise EngineFailure(f"job {one.number} was to have {what} {int(wanted.sum())} bytes, and has {total}")


def _link_bytes(
    folder: Path, traffic: PortCounters, machine: Machine, jobs: list[PlacedJob]
) -> npt.NDArray[np.float64] | None:
    """Bytes on each link, or None where CODES wrote numbers too small for them."""
    if sum(job.bytes_sent for job in jobs) >= 2**traffic.bits:
        return None
    rows = _numbers(folder / OUTPUTS / traffic.file)
    routers, ports = traffic.link_of_port.shape
    if rows.shape != (routers, traffic.columns + ports):
        raise EngineFailure(f"{traffic.file} is of another machine: {rows.shape[0]} rows of {rows.shape[1]} numbers")
    router = traffic.router(rows.astype(np.int64))
    counted = rows[:, traffic.columns :] % 2.0**traffic.bits
    link = traffic.link_of_port[router]
    link_bytes = np.zeros(machine.links)
    np.add.at(link_bytes, link[link != HOST], counted[link != HOST])
    return link_bytes
