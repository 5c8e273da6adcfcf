"""CAMINOS (caminos-lib 0.6.3) behind our front end in ``engines/caminos``: phits, credits and virtual channels.

What a point becomes:

* **Phit**: the unit in which data moves; `phit_bytes` chooses it. Messages are rounded up to whole phits, packets down.
* **Cycle**: one cycle moves a phit at the bandwidth ``phit / cycle``. CAMINOS takes an integer divisor per link
  class, so the bandwidths are put on a common grid (`grid`), at most 1 % below the true ones and never above.
* **Delays**: a phit has arrived when its last byte has: it takes the cycles in which it crosses the link, plus the
  latency of the link and of the router it comes from, rounded to the nearest cycle. The grain is a cycle, so latencies
  far below the time of a phit vanish.
* **Router**: CAMINOS' `InputOutput` (`Basic` ignores divisors), with a crossbar as fast as the fastest link class, a
  buffer of `network.buffer` for each virtual channel of each input, half of that at each output, and packets
  that move on when the next buffer has room for the whole of them.
* **Virtual channels**: hop k of a packet uses channel k alone, and there are as many as hops in the longest route.
  So no packet waits for one with fewer hops behind it: no deadlock, whatever the machine.
* **Routing** is our plug ``engines/caminos/src/routes.rs``. Minimal takes the paths of least `Machine.hop_weight`;
  where several outputs lead on, one that has room, drawn for each packet. Valiant goes through a router with nodes,
  drawn for each packet. UGAL takes either of both at the source router, by the lower product of hops and queue (data
  in the output and in the next input, plus one, so that an idle network is minimal).

The jobs follow the rules stated in ``engines/caminos/src/messages.rs``: a send is complete when it has arrived, the
ranks of a node take turns at its link message by message, and messages within a node take no time.

References
----------
Camarero: caminos-lib 0.6.3, a modular interconnection network simulator (Rust crate).
Valiant: A scheme for fast parallel communication. SIAM Journal on Computing 11(2), 1982.
Singh: Load-balanced routing in interconnection networks. Thesis, Stanford University, 2005.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabricstudy.analyse import longest_route
from fabricstudy.fingerprint import source_digest
from fabricstudy.machine import Machine
from fabricstudy.study import AllToAll, Idle, Point
from fabricstudy.workload import PlacedJob

from .contract import EngineFailure, EngineResult, Probe

BUILT = Path(__file__).parents[3] / "engines" / "caminos" / "target" / "release" / "fabricstudy-caminos"
"""Where ``cargo build`` puts the front end in a clone of the repository."""

CONFIGURATION, MACHINE, MESSAGES, RESULT = "caminos.cfg", "machine.graph", "jobs.messages", "result.json"

GRID_ERROR = 0.01
LARGEST_DIVISOR = 256
LONGEST_DELAY = 999
"""CAMINOS' event queue reaches no further, in cycles."""

_REMEDY = "run 'cargo build --release --locked' in engines/caminos, or set FABRICSTUDY_CAMINOS to its path"
_START_CPU_S = 0.02
_CPU_S_OF_PHITS = {"minimal": 3.1e-7, "valiant": 5.2e-7, "ugal": 4.3e-7}


class Unsupported(Exception):
    """CAMINOS cannot simulate the point; the message says why."""


@dataclass(frozen=True)
class Clock:
    """The machine in CAMINOS' units.

    Parameters
    ----------
    phit_bytes, cycle_ns : int, float
        What the units are.
    divisors, delays : tuple of int
        Cycles between two phits on a link, and from a phit's start to its arrival, for each class of `Machine.classes`
        and then for the links to nodes.
    crossbar_divisor : int
        Cycles between two phits through the crossbar: those of the fastest class.
    packet_phits, buffer_phits : int
        Size of packets, and of each input buffer.
    """

    phit_bytes: int
    cycle_ns: float
    divisors: tuple[int, ...]
    delays: tuple[int, ...]
    crossbar_divisor: int
    packet_phits: int
    buffer_phits: int


def grid(bandwidths_Bps: list[float]) -> tuple[int, ...]:
    """Give the smallest integers in inverse proportion to the bandwidths, such that no two are off by more than 1 %.

    Raises
    ------
    Unsupported
        If there are none up to 256.

    Examples
    --------
    >>> grid([1e9, 3.5e9, 1e9])
    (7, 2, 7)
    """
    slowness = max(bandwidths_Bps) / np.array(bandwidths_Bps)
    for fastest in range(1, int(LARGEST_DIVISOR / slowness.max()) + 1):
        divisors = np.rint(fastest * slowness)
        fit = fastest * slowness / divisors
        if fit.min() >= (1 - GRID_ERROR) * fit.max():
            return tuple(int(divisor) for divisor in divisors)
    raise Unsupported(
        f"CAMINOS needs bandwidths in a ratio of integers up to {LARGEST_DIVISOR} (to 1 %), not "
        + " : ".join(f"{bandwidth / 1e9:g}" for bandwidth in bandwidths_Bps)
        + " GB/s; choose simpler bandwidths"
    )


def clock(point: Point, machine: Machine) -> Clock:
    """Put the machine of a point into CAMINOS' units.

    Raises
    ------
    Unsupported
        If the bandwidths have no common grid, or a delay is too long.
    """
    phit = phit_bytes(point)
    units = _clock(point, machine, phit)
    while _longest_delay(units) > LONGEST_DELAY:
        if point.engine.phit_bytes is not None:
            raise Unsupported(
                f"CAMINOS takes delays up to {LONGEST_DELAY} cycles, and the longest is {_longest_delay(units)} at a "
                f"phit of {phit} B; choose a larger engine.phit, or leave it out"
            )
        phit *= 2
        units = _clock(point, machine, phit)
    return units


def _clock(point: Point, machine: Machine, phit: int) -> Clock:
    classes = (*machine.classes, machine.host)
    divisors = grid([link.bandwidth_Bps for link in classes])
    # The longest of the cycles that the classes ask for: then no simulated link is faster than the true one.
    cycle_ns = max(phit / link.bandwidth_Bps * 1e9 / divisor for link, divisor in zip(classes, divisors, strict=True))
    router_ns = point.network.router_latency_ns
    packet_phits = max(1, point.network.packet_bytes // phit)
    return Clock(
        phit_bytes=phit,
        cycle_ns=cycle_ns,
        divisors=divisors,
        delays=tuple(
            divisor + round((link.latency_ns + router_ns) / cycle_ns)
            for link, divisor in zip(classes, divisors, strict=True)
        ),
        crossbar_divisor=min(divisors),
        packet_phits=packet_phits,
        buffer_phits=max(point.network.buffer_bytes // phit, 4 * packet_phits),
    )


def _longest_delay(units: Clock) -> int:
    """Cycles that CAMINOS may have to plan ahead: an acknowledgement waits for the next tick of its link, too."""
    return max(delay + divisor for delay, divisor in zip(units.delays, units.divisors, strict=True))


def phit_bytes(point: Point) -> int:
    """Give the phit of a point: what the study says, or else the largest that changes times by no more than 3 %.

    The longest message is cut into equal pieces of at most a packet; the phit is such a piece, or a half, quarter
    or eighth of it, the largest for which

    * no job's messages grow by more than 1 % by being rounded up to whole phits, and
    * what a node sends in one phase is 100 phits or more, and 200 where routing is not minimal: a phit is stored
      whole at each router, which delays the end of a phase by a few phit times (2 to 3, or 5 to 6).

    Smaller ones cost time and change little: ``benches/phit.py`` measures it.

    Examples
    --------
    >>> from fabricstudy.study import Point
    >>> def choose(pattern: str, message: str) -> int:
    ...     return phit_bytes(Point.model_validate({"seed": 1, "engine": "caminos", "routing": {"kind": "minimal"},
    ...         "machine": {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
    ...                     "bandwidth": "1 GB/s"},
    ...         "jobs": [{"share": 1, "pattern": {"kind": pattern, "message": message}}]}))
    >>> choose("all-to-all", "100 kB"), choose("all-to-all", "2.1 kB"), choose("ring", "40 kB"), choose("ring", "1 kB")
    (2000, 1050, 500, 125)
    """
    if point.engine.phit_bytes is not None:
        return int(point.engine.phit_bytes)
    packet_bytes = int(point.network.packet_bytes)
    loads = _loads(point)
    if not loads:
        return packet_bytes
    longest = max(load.message_bytes for load in loads)
    piece = ceil(longest / ceil(longest / packet_bytes))
    phits_needed = 100 if point.routing.kind == "minimal" else 200
    least_burst = min(load.burst_bytes for load in loads)
    for parts in (1, 2, 4):
        phit = ceil(piece / parts)
        if least_burst >= phits_needed * phit and all(_growth(load.message_bytes, phit) <= 0.01 for load in loads):
            return phit
    return ceil(piece / 8)


def _growth(message_bytes: int, phit: int) -> float:
    return ceil(message_bytes / phit) * phit / message_bytes - 1


@dataclass(frozen=True)
class _Load:
    """What a job sends, in closed form: its messages, and the bytes that one node sends in one phase."""

    message_bytes: int
    messages: float
    burst_bytes: float


def _loads(point: Point) -> list[_Load]:
    """Loads of the jobs that send something."""
    loads = []
    for job in point.jobs:
        pattern = job.pattern
        if isinstance(pattern, Idle):
            continue
        ranks = job.rank_count(point.machine.nodes, point.machine.cores_per_node)
        messages = pattern.traffic_messages(ranks)
        in_phase = messages / pattern.iterations / max(1, ranks)
        if isinstance(pattern, AllToAll) and pattern.algorithm == "pairwise":
            in_phase = 1.0
        size = int(pattern.message_bytes)
        ranks_per_node = job.ranks_per_node or point.machine.cores_per_node
        loads.append(_Load(size, messages, burst_bytes=in_phase * size * ranks_per_node))
    return loads


_longest_route = lru_cache(maxsize=1)(longest_route)


def phits_of(size_bytes: npt.NDArray[np.int64], phit: int) -> npt.NDArray[np.int64]:
    """Phits of messages: the last one may be partly empty."""
    return -(-size_bytes // phit)


def _write_machine(path: Path, machine: Machine) -> None:
    cables = (machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count)
    with path.open("wb") as file:
        file.write(f"graph 1\nrouters {machine.routers}\nclasses {len(machine.classes)}\n".encode())
        file.write(f"nodes {machine.nodes}\n".encode())
        _write_rows(file, machine.node_router)
        file.write(f"cables {len(machine.cable_tail)}\n".encode())
        _write_rows(file, *cables)


def _write_messages(path: Path, jobs: list[PlacedJob], phit: int) -> None:
    with path.open("wb") as file:
        file.write(f"messages 1\njobs {len(jobs)}\n".encode())
        for job in jobs:
            messages = job.messages
            file.write(f"ranks {job.ranks}\n".encode())
            _write_rows(file, job.node_of_rank)
            file.write(f"messages {len(messages)}\n".encode())
            phits = phits_of(messages.size_bytes, phit)
            _write_rows(file, messages.phase, messages.source, messages.destination, phits)


def _write_rows(file: Any, *columns: npt.NDArray[Any]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table([pa.array(column) for column in columns], names=[str(i) for i in range(len(columns))])
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))


def configuration(point: Point, machine: Machine, jobs: list[PlacedJob]) -> str:
    """Give the CAMINOS configuration of a point, as text."""
    units = clock(point, machine)
    channels = _longest_route(machine) * (1 if point.routing.kind == "minimal" else 2)
    # A packet between two nodes of one router makes no hop, and needs a channel to leave by.
    channels = max(channels, 1)
    policies = "EnforceFlowControl, Random"
    if point.routing.kind == "ugal":
        policies = f"LowestSinghWeight {{ extra_congestion: 1, aggregate: true, use_internal_space: true }}, {policies}"
    links = ", ".join(
        f"LinkClass {{ delay: {delay}, frequency_divisor: {divisor} }}"
        for delay, divisor in zip(units.delays, units.divisors, strict=True)
    )
    return f"""Configuration {{
  random_seed: {point.seed},
  warmup: 0,
  measured: {_cycle_limit(units, jobs, channels)},
  topology: Graph {{ filename: "{MACHINE}" }},
  traffic: MessageList {{ filename: "{MESSAGES}" }},
  server_queue_size: 1,
  maximum_packet_size: {units.packet_phits},
  router: InputOutput {{
    virtual_channels: {channels},
    virtual_channel_policies: [{policies}],
    delay: 0,
    crossbar_frequency_divisor: {units.crossbar_divisor},
    buffer_size: {units.buffer_phits},
    output_buffer_size: {units.buffer_phits // 2},
    flit_size: {units.packet_phits},
    bubble: false,
    allow_request_busy_port: true,
    intransit_priority: false,
    neglect_busy_output: false,
    allocator: Random,
  }},
  routing: Routes {{ kind: "{point.routing.kind}", class_weight: {list(machine.hop_weight)}, channels: {channels} }},
  link_classes: [{links}],
}}
"""


def _cycle_limit(units: Clock, jobs: list[PlacedJob], channels: int) -> int:
    """Cycles that suffice even if the messages crossed the slowest links one after the other."""
    phits = sum(int(phits_of(job.messages.size_bytes, units.phit_bytes).sum()) for job in jobs)
    messages = sum(len(job.messages) for job in jobs)
    return phits * max(units.divisors) + messages * (channels + 2) * max(units.delays) + 1000


class Caminos:
    """The engine CAMINOS; see the module's docstring."""

    name = "caminos"

    def probe(self) -> Probe:
        """Look for the front end: FABRICSTUDY_CAMINOS, the clone's build, or PATH."""
        program = _program()
        if program is None:
            return Probe(self.name, False, reason=f"fabricstudy-caminos is not built; {_REMEDY}")
        version = _version(program)
        if version is None:
            return Probe(self.name, False, reason=f"{program} --version failed; {_REMEDY}")
        return Probe(self.name, True, version=version)

    def fingerprint(self) -> str:
        """Digest of this module and of the front end's sources, as the front end was built from them."""
        program = _program()
        version = None if program is None else _version(program)
        return f"{source_digest('engine/caminos.py')}-{version}"

    def predict_cpu_s(self, point: Point) -> float:
        """Predict the CPU seconds of a point; a law fitted to 107 runs, which differ from it by a factor of 1.3.

        Notes
        -----
        Dragonflies of 36 and 136 routers, 0.1 to 10 s, all ratios and routings, four patterns, on an AMD EPYC. More
        phits cost more each, since packets that wait ask again in every cycle; the ratio of the bandwidths, the size
        of the machine and the number of jobs hardly matter.
        """
        phit = phit_bytes(point)
        phits = sum(load.messages * ceil(load.message_bytes / phit) for load in _loads(point))
        return _START_CPU_S + _CPU_S_OF_PHITS[point.routing.kind] * float(phits**1.25)

    def unsupported(self, point: Point, machine: Machine) -> str | None:
        """Say why CAMINOS cannot simulate this point: bandwidths without a grid, delays too long."""
        try:
            clock(point, machine)
        except Unsupported as error:
            return str(error)
        return None

    def prepare(self, folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> list[str]:
        """Write configuration, machine and messages; give the command."""
        (folder / CONFIGURATION).write_text(configuration(point, machine, jobs))
        _write_machine(folder / MACHINE, machine)
        _write_messages(folder / MESSAGES, jobs, clock(point, machine).phit_bytes)
        return [str(_program() or BUILT.name), CONFIGURATION, RESULT]

    def read(self, folder: Path, exit_code: int, point: Point, machine: Machine, jobs: list[PlacedJob]) -> EngineResult:
        """Read the result; it must fit the jobs and the machine, and all that was sent must have arrived.

        Raises
        ------
        EngineFailure
            If the exit code is not 0, or the result is not one.
        """
        if exit_code != 0:
            raise EngineFailure(_failure(folder, exit_code))
        units = clock(point, machine)
        try:
            result = json.loads((folder / RESULT).read_bytes())
            cycles = np.array(result["job_finish_cycles"], dtype=np.float64)
            link_phits = np.array(result["link_phits"], dtype=np.float64)
            injected, ejected = int(result["injected_phits"]), int(result["ejected_phits"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EngineFailure(f"{RESULT} is not a result ({type(error).__name__})") from None
        sent_bytes, sent_phits = _between_nodes(jobs, units.phit_bytes)
        if not np.all(cycles >= 0) or np.any(np.isinf(cycles)):
            raise EngineFailure(f"{RESULT} is not a result: it has finish cycles {cycles.tolist()}")
        if cycles.shape != (len(jobs),) or link_phits.shape != (machine.links,):
            raise EngineFailure(f"{RESULT} is of another workload or machine")
        if not injected == ejected == sent_phits:
            raise EngineFailure(f"{sent_phits} phits were to be sent, {injected} were, and {ejected} arrived")
        # Phits hold as many bytes as the messages have: exact where all are of one size and paths are unique.
        bytes_per_phit = sent_bytes / sent_phits if sent_phits else 0.0
        return EngineResult(
            job_runtime_ns=tuple(float(cycle) * units.cycle_ns for cycle in cycles),
            link_bytes=link_phits * bytes_per_phit,
        )


def _between_nodes(jobs: list[PlacedJob], phit: int) -> tuple[int, int]:
    """Bytes and phits of all messages between different nodes."""
    sizes = [
        job.messages.size_bytes[job.node_of_rank[job.messages.source] != job.node_of_rank[job.messages.destination]]
        for job in jobs
    ]
    return sum(int(size.sum()) for size in sizes), sum(int(phits_of(size, phit).sum()) for size in sizes)


def _failure(folder: Path, exit_code: int) -> str:
    lines = (folder / "stderr").read_text(errors="replace").strip().splitlines()
    said = lines[0] if lines else "it said nothing"
    return f"CAMINOS ended with {exit_code}: {said}"


def _program() -> Path | None:
    given = os.environ.get("FABRICSTUDY_CAMINOS")
    if given:
        return Path(given) if os.access(given, os.X_OK) else None
    if os.access(BUILT, os.X_OK):
        return BUILT
    found = shutil.which(BUILT.name)
    return Path(found) if found else None


@cache
def _version(program: Path) -> str | None:
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None
