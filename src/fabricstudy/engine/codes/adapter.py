"""CODES: find the program, prepare its input, read its result."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import ClassVar

import numpy as np

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.workload.messages import PlacedJob, WorkloadError, repeat_background

from ..built_point import BuiltPoint
from ..content import content_digest, shared_libraries
from ..cost_model import CostModel, WorkCounts, load_cost_model
from ..detours import through_other_groups
from ..failures import EngineFailure, Unsupported
from ..features import FEATURES, MANAGED, check_messages, check_network, check_parts
from ..job_traffic import traffic_classes
from ..outcome import EngineResult
from ..point import Point
from ..simulator import Simulator
from ..steady_state import SteadyRun
from ..stream_buffers import StreamBuffers, channel_buffers
from . import cost, files, offered, ranks
from .caveats import CAVEATS
from .models import codes_model, dragonfly, network_of
from .offered import check_offered, read_offered_result, write_offered
from .result import read_result
from .trace import MIN_DELAY_NS

PROGRAM = "model-net-mpi-replay"

MAX_JOBS = 63
"""CODES has room for 64, one of which is the phantom job."""

MESSAGE_BYTES_END = 2**31 - 1

MAX_ROLLBACK_GROUPS = 1024
GROUP_BYTES, PROCESS_BYTES = 0.53e6, 30e6
"""Memory of a group of objects that are rolled back together, without the objects, and of a process."""

OPTIMISM = ["--max-opt-lookahead=50"]
"""Time (ns) by which a process may run ahead of the slowest one; longer times cause more rollbacks."""

ONE_PROCESS, SEVERAL_PROCESSES = "--sync=1", "--sync=3"
"""Sequential, and optimistic. Conservative synchronisation needs a lookahead, and some events have a delay of 0."""

FIXED_OPTIONS = [
    ONE_PROCESS,
    "--workload_type=dumpi",
    f"--workload_conf_file={files.JOBS}",
    f"--alloc_file={files.ALLOCATION}",
    f"--lp-io-dir={files.OUTPUTS}",
    # All messages are eager: the requests of rendezvous messages would count in the link loads.
    f"--eager_threshold={MESSAGE_BYTES_END}",
]

_REASON = re.compile(r"\berror\b|assert|unable|mkdir\(.*failed", re.IGNORECASE)
_END = re.compile(r"\babort|signal", re.IGNORECASE)

_REMEDY = f"install CODES with ROSS and DUMPI by its guide (docs/engines/codes.md) and put {PROGRAM} on PATH"


class Codes(files.CodesSettings, Simulator, kind="codes"):
    """CODES on ROSS: packet-level models of several topologies; see docs/engines/codes.md."""

    program = PROGRAM
    title = "CODES"
    features = frozenset({"network.congestion_management", "jobs.background"})
    caveats = CAVEATS
    read: ClassVar[Callable[..., EngineResult]] = staticmethod(read_result)
    read_offered: ClassVar[Callable[..., SteadyRun]] = staticmethod(read_offered_result)
    cost_of_sharing = 1.8
    # The line on MPI's abort is less specific than that of its reason.
    signs_of_failure = (_REASON, _END)

    @staticmethod
    def work(point: Point) -> WorkCounts:
        return cost.work(point)

    @classmethod
    def probe(cls) -> str:
        """Return the version of ROSS and the digest of the program on PATH."""
        program = shutil.which(PROGRAM)
        if program is None:
            raise EngineFailure(f"{PROGRAM} is not on PATH; {_REMEDY}")
        ross = _ross_version(program)
        if ross is None:
            raise EngineFailure(f"{program} --help did not print its version; {_REMEDY}")
        return f"CODES {_digest(program)} on ROSS {ross}"

    @classmethod
    def program_digest(cls, is_offered: bool) -> str | None:
        names = (PROGRAM, offered.SYNTHETIC_PROGRAM) if is_offered else (PROGRAM,)
        return "".join(_digest(path) for name in names if (path := shutil.which(name))) or None

    @classmethod
    def cost_model(cls) -> CostModel:
        return load_cost_model(__package__)

    def sharing_bytes(self, point: Point) -> float:
        return self.processes * (PROCESS_BYTES + _groups(point) * GROUP_BYTES)

    def unsupported(self, built: BuiltPoint) -> None:
        """Raise `Unsupported` for a point for which CODES has no model, or whose model lacks a feature."""
        point, machine = built.point, built.machine
        check_parts(machine, self.title)
        network_of(point, machine)
        check_network(point, int(point.network.packet_bytes))
        _check_computing(point)
        _check_jobs(point)
        if point.offered is not None:
            check_offered(point, machine)
        elif point.engine.processes > 1:
            _check_sharing(point)
        if FEATURES["network.congestion_management"].is_used(point):
            _check_managed(point)

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        """Write configuration, wiring, jobs and traces; return the command, unless nothing is sent between nodes."""
        if point.load is not None:
            return write_offered(folder, point, _replay(point.point))
        check_messages(point.jobs, self.title)
        return self._write_jobs(folder, point.point, point.machine, point.jobs)

    def _write_jobs(self, folder: Path, point: Point, machine: Machine, jobs: Sequence[PlacedJob]) -> list[str]:
        network = network_of(point, machine)
        jobs = [repeat_background(job, machine) for job in jobs]
        traced = files.traced_jobs(machine, network, jobs)
        computing = {number for number, job in enumerate(jobs) if job.computing or job.operations}
        for number in computing - {job.number for job in traced}:
            raise WorkloadError(
                f"job {jobs[number].name} computes and sends nothing between nodes, and CODES simulates no such job; "
                "use the engine packet"
            )
        if network.whole_packets and any(np.any(job.messages.size_bytes % network.packet) for job in traced):
            raise WorkloadError(f"CODES needs messages of whole packets of {network.packet} B here; use another engine")
        if all(jobs[job.number].background for job in traced):
            return []
        files.write_files(folder, point, machine, jobs)
        duration_ns = files.background_end_ns(jobs)
        end = [] if duration_ns is None else [f"--end={duration_ns:.0f}"]
        command = _replay(point, *end)
        isolated, _ = files.measured_by_job(point, network, jobs, traced)
        if not isolated:
            return command
        text = shlex.join(command)
        alone = (f"(cd {files.isolated_job_folder(job)} && {text})" for job in isolated)
        return ["sh", "-c", " && ".join([text, *alone])]

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        """Start each run of the program by ``mpirun``, with ROSS' optimistic synchronisation."""
        if shutil.which("mpirun") is None:
            raise EngineFailure("mpirun is not on PATH; put that of CODES' MPI there, or leave engine.processes out")
        options = [SEVERAL_PROCESSES, f"--nkp={_groups(point)}", *OPTIMISM]
        start = [sys.executable, "-P", ranks.__file__, str(point.engine.processes)]
        program = [shutil.which(PROGRAM) or PROGRAM, ONE_PROCESS]
        if command[0] == program[0]:
            return [*start, program[0], *options, *command[2:]]
        replaced = shlex.join([*start, program[0], *options])
        return [*command[:-1], command[-1].replace(shlex.join(program), replaced)]

    def expected_routing(self, point: Point) -> Routing:
        return through_other_groups(point.routing) if codes_model(point) is dragonfly.MODEL else point.routing

    def stream_buffers(self, point: BuiltPoint) -> StreamBuffers:
        return channel_buffers(point.point)

    def host_latencies_ns(self, point: BuiltPoint) -> float:
        model = codes_model(point.point)
        if model is None or model.host_latency:
            return super().host_latencies_ns(point)
        return point.machine.classes[0].latency_ns


def _check_computing(point: Point) -> None:
    """Raise `Unsupported` for computations so short that CODES ignores them."""
    for compute in (job.compute for job in point.jobs if job.compute is not None):
        parts_ns = [(1 - compute.overlap) * compute.time_ns, compute.overlap * compute.time_ns]
        if any(0 < part_ns < MIN_DELAY_NS for part_ns in parts_ns):
            raise Unsupported(
                f"CODES ignores pauses of less than {MIN_DELAY_NS} ns, and compute has one of "
                f"{min(part_ns for part_ns in parts_ns if part_ns):.3g} ns; use a longer time"
            )


def _check_jobs(point: Point) -> None:
    busy = sum(not job.pattern.is_idle for job in point.jobs)
    if busy > MAX_JOBS:
        raise Unsupported(f"CODES simulates up to {MAX_JOBS} communicating jobs, not {busy}; use another engine")
    if max((load.message_bytes for load in traffic_classes(point)), default=0) >= MESSAGE_BYTES_END:
        raise Unsupported("CODES simulates messages below 2 GB; send several, or use another engine")


def _check_managed(point: Point) -> None:
    """Raise `Unsupported` where CODES has no congestion management, and for traffic classes."""
    if codes_model(point) is not dragonfly.MODEL or point.engine.processes > 1:
        raise Unsupported(f"except on dragonflies and PERCS, in one process, CODES has neither {MANAGED}")
    if point.network.classes:
        raise Unsupported(
            "the first of CODES' traffic classes has strict priority for up to 5 ms, whatever its share; leave "
            "network.classes and the class of jobs out"
        )


def _groups(point: Point) -> int:
    """Return the number of rollback groups of each process: one per object, up to a maximum."""
    return min(ceil(cost.objects(point) / point.engine.processes), MAX_ROLLBACK_GROUPS)


def _check_sharing(point: Point) -> None:
    """Raise `Unsupported` where several processes would give other times than one."""
    model = codes_model(point)
    if model is not None and type(point.routing) in model.one_process:
        raise Unsupported(
            f"with several processes, CODES gives different times on a {point.machine.kind} under "
            f"{point.routing.kind} routing; omit engine.processes"
        )
    listed = model is not None and model.job_links == "hops" and sum(not job.pattern.is_idle for job in point.jobs) > 1
    if listed and isinstance(point.engine, files.CodesSettings) and point.engine.job_links:
        raise Unsupported(
            "on several processes CODES lists hops twice after a rollback; set engine.job_links: false, or leave "
            "engine.processes out"
        )


def _replay(point: Point, *options: str) -> list[str]:
    """Return the command of a replay."""
    return [
        shutil.which(PROGRAM) or PROGRAM,
        *FIXED_OPTIONS,
        *options,
        *offered.seed_options(point.seed),
        "--",
        files.CONFIGURATION,
    ]


@cache
def _ross_version(program: str) -> str | None:
    try:
        run = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=20, cwd="/")
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"ROSS Version: (\S+)", run.stdout + run.stderr)
    return match.group(1) if match and "--workload_type" in run.stdout + run.stderr else None


def _digest(program: str) -> str:
    return content_digest([Path(program), *shared_libraries(Path(program))])[:8]
