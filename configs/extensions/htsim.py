"""htsim as an engine: transport protocols of Ethernet (EQDS, NDP, RoCE and Swift) on fat trees.

Build htsim (https://github.com/Broadcom/csg-htsim), which is not part of fabricstudy, put the folder of its programs on
PATH or set FABRICSTUDY_HTSIM to the path of ``htsim_eqds``, and list this file below `extensions` of a study.

Translation
-----------
* **Machine**: `fat-tree`, and `xgft` of two or three levels, as a ``.topo`` file. Routers take no time on source routes
  (`perm`, `rand`, and Swift). Swift reads no ``.topo``: it has full trees, with links of 1 us.
* **Paths**: Swift and RoCE's `ecmp_host` keep a flow on one path: `routing: ecmp`. The others spray its packets,
  `routing: minimal`: `ecmp_host` by the hash of one of `path_count` numbers that the sender draws, `ecmp_host_ecn` by
  numbers that are not marked, `ecmp_rr` by routers in turn, `perm` and `rand` by source routes.
* **Packets**: `network.packet` bytes of payload and 64 B of header (Swift counts no header). A message is a flow.
* **Phases**: flows that wait have a barrier trigger, which a flow fires when its sender has the last acknowledgement.
  A flow fires one trigger (``recv_done_trigger`` is read, and never fires): ranks that exchange messages with the same
  partners can wait, as in pairwise exchange; a ring is refused. Swift has no triggers, one size of flows, and no seed.

Measurement
-----------
A flow ends when its last acknowledgement is at the sender: later than the arrival of its last byte by a way back.
Programs print microseconds with six significant digits: times are rounded to 5e-6 of their value. A flow that has not
ended at `deadline` fails the point; the exit code is 0 then.

References
----------
NDP, htsim: Handley et al., SIGCOMM 2017, doi:10.1145/3098822.3098825. EQDS: Olteanu et al., NSDI 2022. Swift: Kumar et
al., SIGCOMM 2020, doi:10.1145/3387514.3406591.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from math import ceil, prod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Number, Whole
from fabricstudy.core.quantities import Computation
from fabricstudy.engine.built_point import NodeMessages
from fabricstudy.engine.content import content_digest
from fabricstudy.engine.simulator import BuiltPoint, Caveat, EngineFailure, Simulator, Unsupported
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.grid import spread
from fabricstudy.machine.xgft import XgftConfig

TOPOLOGY, MATRIX = "machine.topo", "messages.cm"

PATHS = {
    "eqds": ("ecmp_host", "ecmp_host_ecn", "ecmp_rr"),
    "ndp": ("perm", "rand", "ecmp_host", "ecmp_host_ecn", "ecmp_rr"),
    "roce": ("ecmp_host", "ecmp_rr"),
    "swift": (None,),
}
"""Path selections (``-strat``) of each program, the default first; Swift has none."""

QUEUES = {"eqds": 35, "ndp": 15, "roce": 15, "swift": 8}  # packets, as in the programs
HEADER_BYTES, SWIFT_LATENCY_NS, LARGEST_BYTES = 64, 1000.0, 2**31 - 1
FINISHED = re.compile(r"Flow \w+?_(\d+)_(\d+) (?:flowId |flow_id )?(\d*).*?finished at ([\d.e+]+)")

Count = Annotated[Whole, Field(ge=1, le=100_000)]


class Htsim(Simulator, kind="htsim"):
    """htsim: transport protocols of Ethernet on fat trees, packet by packet; lossy queues, or PFC with RoCE."""

    program = "htsim_eqds"
    features = frozenset({"routing: ecmp"})
    caveats: ClassVar[tuple[Caveat, ...]] = (
        Caveat("A message ends when its sender has the last acknowledgement."),
        Caveat("Each packet has a header of 64 B, except with Swift."),
        Caveat("RoCE draws paths by the clock.", lambda of: getattr(of.engine, "transport", "") == "roce"),
    )

    transport: Literal["eqds", "ndp", "roce", "swift"] = Field("eqds", description="transport protocol")
    paths: Literal["ecmp_host", "ecmp_host_ecn", "ecmp_rr", "perm", "rand"] | None = Field(
        None, description="how packets select paths (`-strat`); default: perm with ndp, ecmp_host with eqds and roce"
    )
    path_count: Whole = Field(64, ge=1, le=9999, description="numbers that `ecmp_host` hashes (`-paths`)")
    window: Count | None = Field(
        None, description="packets of the first window (`-cwnd`); default: those of a round trip without load"
    )
    queue: Count | None = Field(
        None,
        description="packets of a queue (`-q`), or, with roce, of an input that pauses its sender until 4/5 are left; "
        "default: 35 with eqds, 8 with swift, or 15, as in the programs",
    )
    ecn: Number = Field(0.5, gt=0, lt=1, description="share of a queue from which `ecmp_host_ecn` marks packets")
    deadline_ns: Computation = Field(
        "10 ms", alias="deadline", validate_default=True, description="simulated time in which all flows have to end"
    )

    @classmethod
    def probe(cls) -> str:
        """Return a digest of the four programs."""
        super().probe()  # raises without the first program
        programs = [cls.program_of(transport) for transport in PATHS]
        if not all(program.is_file() for program in programs):
            raise EngineFailure(f"there are no programs {', '.join(map(str, programs))}; build all")
        return content_digest(programs)

    @classmethod
    def program_of(cls, transport: str) -> Path:
        """Return the path of the program of a transport."""
        return (cls.program_path() or Path(cls.program)).with_name(f"htsim_{transport}")

    def unsupported(self, point: BuiltPoint) -> str | None:
        strategy = self.paths or PATHS[self.transport][0]
        self.topology(point)
        if strategy not in PATHS[self.transport]:
            return f"htsim_{self.transport} has no {strategy}; leave engine.paths out"
        routing = "ecmp" if (self.transport, strategy) in (("swift", None), ("roce", "ecmp_host")) else "minimal"
        if point.routing.kind != routing:
            return f"these paths of htsim_{self.transport} are routing: {routing}; htsim has no {point.routing.kind}"
        if point.network.router_latency_ns and strategy in ("perm", "rand", None):
            return "routers take no time on source routes; set network.router_latency to 0 ns, or paths: ecmp_host"
        if self.transport == "swift":
            tree, latencies = point.point.machine, set(self.latencies_ns(point))
            if not isinstance(tree, FatTreeConfig) or tree.pod_count < tree.radix or latencies != {SWIFT_LATENCY_NS}:
                return "htsim_swift has full trees with links of 1 us; use fat-tree with all pods and machine.latency"
        return None

    def latencies_ns(self, point: BuiltPoint) -> list[float]:
        """Return the latencies of the links below each level, leaves first."""
        return [link.latency_ns for link in (point.machine.host, *point.machine.classes)]

    def topology(self, point: BuiltPoint) -> str:
        """Return the lines of the topology. Raises `Unsupported` for machines that htsim does not have."""
        config, machine = point.point.machine, point.machine
        if isinstance(config, FatTreeConfig):
            half, bundle = config.half_radix, config.core_cables
            down, up, bundles = [half, half, config.pod_count], [half, half // bundle], [1, 1, bundle]
        elif isinstance(config, XgftConfig) and len(config.down) <= 3:
            down, up, bundles = [*config.down], [*config.up], [1, *spread(config.parallel, len(config.up))]
        else:
            raise Unsupported("htsim has fat trees; use fat-tree or xgft of two or three levels, or packet")
        if config.faults is not None:
            raise Unsupported("htsim has no degraded machines; leave machine.faults out, or use packet")
        latencies, router_ns = self.latencies_ns(point), point.network.router_latency_ns
        rate_gbps = point.common_bandwidth_Bps() * 8e-9
        if rate_gbps % 1 or any(ns % 1 for ns in (router_ns, *latencies)) or 0 in latencies:
            raise Unsupported("htsim has whole Gbit/s and ns, 1 ns or more; change machine.bandwidth or the latencies")
        pod = prod(down[:2]) if len(down) == 3 else machine.nodes
        lines = [f"Nodes {machine.nodes}", f"Tiers {len(down)}", f"Podsize {pod}"]
        for level, latency_ns in enumerate(latencies):
            below = down[level] * bundles[level]
            lines += [f"Tier {level}", f"Downlink_speed_Gbps {rate_gbps:.0f}", f"Downlink_Latency_ns {latency_ns:.0f}"]
            lines += [f"Switch_Latency_ns {router_ns:.0f}", f"Bundle {bundles[level]}", f"Radix_Down {below}"]
            if level < len(up):
                above = up[level] * bundles[level + 1]
                if below % above:
                    raise Unsupported("htsim needs whole ratios of cables down to those up; change up or parallel")
                lines += [f"Radix_Up {above}", f"Oversubscribed {below // above}"]
        return "\n".join(lines) + "\n"

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        """Write machine and messages, and return the command of the program of the transport."""
        sent, packet_bytes = point.messages(), point.network.packet_bytes
        (folder / MATRIX).write_text(self.matrix(point, sent))
        strategy = self.paths or PATHS[self.transport][0]
        mtu = packet_bytes + (HEADER_BYTES if self.transport == "eqds" else 0)
        rate_mbps, end_us = round(point.common_bandwidth_Bps() * 8e-6), ceil(self.deadline_ns / 1000)
        words = f"-nodes {point.machine.nodes} -tm {MATRIX} -o log -linkspeed {rate_mbps} -end {end_us} -mtu {mtu}"
        if self.transport == "swift":
            words += f" -flowsize {int(sent.size_bytes[0] // packet_bytes) - 1}"
        else:
            (folder / TOPOLOGY).write_text(self.topology(point))
            words += f" -topo {TOPOLOGY} -seed {point.seed} -strat {strategy} -paths {self.path_count}"
        queue = self.queue or QUEUES[self.transport]
        if self.transport == "roce":
            words += f" -q 100000 -pfc_thresholds {queue * 4 // 5} {queue}"
        else:
            words += f" -q {queue} -cwnd {self.window or self.window_packets(point)}"
        if strategy == "ecmp_host_ecn":
            words += f" -ecn_thresh {self.ecn}"
        return [str(self.program_of(self.transport)), *words.split()]

    def window_packets(self, point: BuiltPoint) -> int:
        """Return the packets that a node can send until the first one is acknowledged over the longest path."""
        latencies, rate = self.latencies_ns(point), float(point.common_bandwidth_Bps()) / 1e9
        packet_ns, ack_ns = (float(point.network.packet_bytes) + HEADER_BYTES) / rate, HEADER_BYTES / rate
        routers_ns = (2 * len(latencies) - 1) * float(point.network.router_latency_ns)
        return ceil((4 * sum(latencies) + 2 * routers_ns + 2 * len(latencies) * (packet_ns + ack_ns)) / packet_ns)

    def matrix(self, point: BuiltPoint, sent: NodeMessages) -> str:
        """Return the lines of the connection matrix. Raises `Unsupported` for messages that htsim cannot send."""
        sizes = sent.size_bytes
        if not len(sizes) or not sizes.all() or sizes.max() > LARGEST_BYTES or (sent.source == sent.destination).any():
            raise Unsupported("htsim sends 1 B to 2 GiB, from a node to another one; use packet")
        if self.transport == "swift":
            pairs = np.stack([sent.source, sent.destination])
            if sent.phase.any() or len(np.unique(pairs, axis=1).T) < len(sizes):
                raise Unsupported("htsim_swift has one phase, with a message for each pair of nodes; use packet")
            if np.ptp(sizes) or sizes[0] % point.network.packet_bytes or sizes[0] < 2 * point.network.packet_bytes:
                raise Unsupported("messages of htsim_swift have one size, two whole packets or more; use packet")
        begins, ends, counts = triggers(sent)
        lines = [f"Nodes {point.machine.nodes}", f"Connections {len(sizes)}", f"Triggers {len(counts)}"]
        for flow, (source, destination, size) in enumerate(zip(sent.source, sent.destination, sizes, strict=True)):
            start = f"trigger {begins[flow]}" if flow in begins else "start 0"
            end = f" send_done_trigger {ends[flow]}" if flow in ends else ""
            lines.append(f"{source}->{destination} id {flow + 1} {start} size {size}{end}")
        lines += [f"trigger id {number} barrier count {flows}" for number, flows in counts.items()]
        return "\n".join(lines) + "\n"

    def read(self, point: BuiltPoint, folder: Path) -> list[dict[str, Any]]:
        """Return the end of the last flow of each job, and its message times if all begin together."""
        sent, found = point.messages(), defaultdict(list)
        for source, destination, number, time_us in FINISHED.findall((folder / "stdout").read_text(errors="replace")):
            found[int(source), int(destination)].append((int(number or 0), float(time_us) * 1000))
        # Flows are numbered in the order of the matrix, though RoCE's not from 1.
        ends_ns = {pair: iter(sorted(ends)) for pair, ends in found.items()}
        nodes = zip(sent.source.tolist(), sent.destination.tolist(), strict=True)
        times = [next(ends_ns.get(pair, iter(())), (0, 0.0))[1] for pair in nodes]
        if 0.0 in times:
            raise EngineFailure(f"{times.count(0.0)} of {len(times)} flows have not ended at engine.deadline")
        rows: list[dict[str, Any]] = []
        for of_job in (np.array(times)[sent.job == job] for job in range(len(point.jobs))):
            rows.append({"runtime_ns": of_job.max(initial=0.0)})
            if len(of_job) and not sent.phase.any():
                p99_ns = np.quantile(of_job, 0.99, method="inverted_cdf")
                rows[-1] |= {"message_mean_ns": of_job.mean(), "message_p99_ns": p99_ns}
        return rows


def triggers(sent: NodeMessages) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Return the triggers that begin flows, those that flows fire, and the number of flows that fire each."""
    columns = (sent.job, sent.phase, sent.source_rank, sent.destination_rank)
    flows = list(zip(*(column.tolist() for column in columns), strict=True))
    sends: dict[tuple[int, int], list[int]] = defaultdict(list)
    for job, rank, phase in sorted({(job, source, phase) for job, phase, source, _ in flows}):
        sends[job, rank].append(phase)
    # Flows of a rank that have to end before it sends in a phase, since its last phase with messages to send.
    before: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for flow, (job, phase, *ends) in enumerate(flows):
        for rank in ends:
            later = bisect_right(sends[job, rank], phase)
            for next_phase in sends[job, rank][later : later + 1]:
                before[job, rank, next_phase].append(flow)
    numbers = {members: number for number, members in enumerate(dict.fromkeys(map(tuple, before.values())), 1)}
    fires: dict[int, int] = {}
    for members, number in numbers.items():
        if any(fires.setdefault(flow, number) != number for flow in members):
            raise Unsupported("ranks wait for sets of flows that overlap, and htsim's fire one trigger; use packet")
    waits = [before.get((job, source, phase)) for job, phase, source, _ in flows]
    begins = {flow: numbers[tuple(members)] for flow, members in enumerate(waits) if members}
    return begins, fires, {number: len(members) for members, number in numbers.items()}
