"""BookSim2 as an engine: offered traffic on flits, virtual channels and credits.

BookSim2 (Jiang et al., ISPASS 2013; https://github.com/booksim/booksim2) is not part of fabricstudy. Build it, put
``booksim`` on PATH or set FABRICSTUDY_BOOKSIM2 to its path, and list this file below `extensions` of a study.

Translation
-----------
* **Cycle**: the time of a flit of `flit` bytes on a link; so all links need one bandwidth. Latencies become whole
  cycles. A message is one packet of whole flits.
* **Router**: four stages of a cycle over `speedup`. A longer one is not pipelined (``IQRouter::_SwitchEvaluate`` begins
  with a flit when those before have left), so that other values of `network.router_latency` are refused.
* **Buffers**: `vcs` virtual channels a port, each one queue of `network.buffer`.
* **Machines**: BookSim2's own are torus and mesh of equal sides with a node a router, under dimension order; k-ary
  n-trees and dragonflies of 2h routers a group, h nodes a router and h global ports, arranged absolute, under minimal
  routing. Their latencies are fixed: one cycle each; on dragonflies 10 local, 100 global and 1 of a node. Its ``fly``
  has links in one direction, as no machine has. Others are an ``anynet``, on which each pair has one of its shortest
  paths, no deadlock is prevented, and links of nodes take one cycle.
* **Traffic**: BookSim2's uniform traffic includes the sender, so that its rate is raised by N / (N - 1), to 1 at most
  (the rest is backlog); messages of a node to itself are not counted, but use its links. Arrivals are Bernoulli trials.
* **Measurement**: one simulation, whose sample periods are the batches; those of ``sim_count`` each have a warm-up. All
  thresholds are off: BookSim2 would end an unstable simulation at `latency_thres`, or prolong one until its mean
  latency changes little. A source creates its next message when the last one has left, with the time at which it was
  due; at the end all catch up. Those that lag are taken to do so evenly. The exit code is -1 if a run is finished.
"""

from __future__ import annotations

import re
from math import ceil
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Floats
from fabricstudy.core.model import Number, Whole
from fabricstudy.core.quantities import Size
from fabricstudy.engine.simulator import BuiltPoint, Caveat, EngineFailure, Simulator, SteadyRun
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.routing.minimal import Minimal

CONFIG, NETWORK, STATISTICS = "booksim.config", "anynet", "statistics"

STAGES, DRAGONFLY_CYCLES = 4, {"local": 10, "global": 100, "host": 1}
"""Stages of a router: routing, two allocations, and crossbar; latencies of BookSim2's dragonfly by link class."""

TRAFFIC = {"uniform": "uniform", "complement": "bitcomp", "bit-reverse": "bitrev"}
TRAFFIC |= {name: name for name in ("transpose", "shuffle")}
"""BookSim2's names of traffics; all but uniform need 2^b nodes."""

PERIOD = re.compile(
    r"^Packet latency average = (\S+)$.*?^Injected packet rate average = (\S+)$.*?^Accepted flit rate average= (\S+)$"
    r".*?^Total in-flight flits = (\d+) \((\d+) measured\)$",
    re.M | re.S,
)
"""What BookSim2 prints after each sample period: means since the warm-up, and the flits that are under way."""


class BookSim2(Simulator, kind="booksim2"):
    """BookSim2: routers with virtual channels, cycle by cycle; offered traffic only."""

    program = "booksim"
    exit_codes = (255,)
    caveats: ClassVar[tuple[Caveat, ...]] = (
        Caveat("Packets wait behind others of their virtual channel."),
        Caveat("Arrivals are Bernoulli trials, one each cycle."),
        Caveat("On machines other than BookSim2's torus, mesh, fat tree and dragonfly, two nodes have one path."),
    )

    flit_bytes: Size = Field("16 B", alias="flit", validate_default=True, description="bytes of a flit, one a cycle")
    vcs: Whole = Field(2, ge=2, le=64, description="virtual channels of each port, with `network.buffer` each")
    speedup: Number = Field(1.0, ge=1, le=8, description="`internal_speedup`: router cycles a cycle of the links")

    def stored_bytes(self, point: BuiltPoint) -> float:
        return 0.0

    def unsupported(self, point: BuiltPoint) -> str | None:
        if point.offered.arrivals != "poisson":
            return "BookSim2 has Bernoulli arrivals; write offered.arrivals: poisson, or use packet"
        if point.offered.message_bytes > point.network.packet_bytes or point.offered.message_bytes % self.flit_bytes:
            return "a message has to be a packet of whole flits; choose offered.message, network.packet, engine.flit"
        cycles, cycle_ns, of_router = self.cycles(point), self.cycle_ns(point), ceil(STAGES / self.speedup)
        if round(float(point.network.router_latency_ns) / cycle_ns) != of_router:
            return f"a router takes {of_router} cycles; set network.router_latency to {of_router * cycle_ns:.4g} ns"
        kind, nodes = point.offered.traffic.kind, point.machine.nodes
        if kind not in TRAFFIC or (kind != "uniform" and nodes & (nodes - 1)):
            return "BookSim2 has uniform traffic, and permutations of the bits of 2^b nodes; use these, or packet"
        topology = self.topology(point)["topology"]
        if topology == "anynet":
            return self.unsupported_anynet(point)
        fixed = DRAGONFLY_CYCLES if topology == "dragonflynew" else dict.fromkeys(cycles, 1)
        right = ", ".join(f"{link} {fixed[link] * cycle_ns:.4g} ns" for link in fixed if fixed[link] != cycles[link])
        return f"BookSim2's {topology} has fixed latencies; set machine.latency to {right}" if right else None

    def unsupported_anynet(self, point: BuiltPoint) -> str | None:
        """Return why a machine cannot be a network of BookSim2's file format."""
        cycles, cycle_ns = self.cycles(point), self.cycle_ns(point)
        if not isinstance(point.routing, Minimal):
            return f"BookSim2 has no {point.routing.kind} routing on this machine; use minimal, or packet"
        if len({cycles[link.name] for link in point.machine.classes}) > 1 or min(cycles.values()) < 1:
            return "BookSim2's paths are those of least latency; set machine.latency to one value, a cycle or more"
        if cycles[point.machine.host.name] != 1:
            return f"links of nodes take one cycle in an anynet; set machine.latency.host to {cycle_ns:.4g} ns"
        if (point.machine.cable_count > 1).any():
            return "BookSim2 has no parallel cables; use packet"
        if point.has_cyclic_waits():
            return "shortest paths on this machine may deadlock on BookSim2; use torus or mesh with dimension-order"
        return None

    def cycle_ns(self, point: BuiltPoint) -> float:
        """Return the time of a flit on a link."""
        return float(self.flit_bytes / point.common_bandwidth_Bps() * 1e9)

    def cycles(self, point: BuiltPoint) -> dict[str, int]:
        """Return the latency of each link class and of the links of nodes in cycles."""
        links, cycle_ns = (*point.machine.classes, point.machine.host), self.cycle_ns(point)
        return {link.name: round(link.latency_ns / cycle_ns) for link in links}

    def topology(self, point: BuiltPoint) -> dict[str, object]:
        """Return the keys of BookSim2's own topology that equals the machine, or of an anynet."""
        own = self.grid(point) if point.routing.kind == "dimension-order" else None
        if isinstance(point.routing, Minimal) and point.point.machine.faults is None:
            own = self.tree(point) or self.dragonfly(point)
        return own or {"topology": "anynet", "routing_function": "min", "network_file": NETWORK}

    def grid(self, point: BuiltPoint) -> dict[str, object] | None:
        """Return the keys of a torus or mesh."""
        machine, kind = point.machine, point.point.machine.kind
        sides = {(dimension.length, dimension.wrap) for dimension in machine.dimensions}
        length, wrap = sides.pop() if len(sides) == 1 else (0, None)
        one_each = np.array_equal(machine.node_router, np.arange(machine.routers))
        if kind not in ("torus", "mesh") or wrap != (kind == "torus") or not one_each:
            return None
        return {"topology": kind, "routing_function": "dim_order", "k": length, "n": len(machine.dimensions)}

    def tree(self, point: BuiltPoint) -> dict[str, object] | None:
        """Return the keys of a k-ary n-tree with latencies of one cycle."""
        machine, kind, level = point.machine, point.point.machine.kind, point.machine.level
        if level is None or kind not in ("fat-tree", "xgft") or set(self.cycles(point).values()) != {1}:
            return None
        routers = np.bincount(level)
        k, n = machine.nodes // int(routers[0]), len(routers)
        # Levels of k^(n-1) routers have a product of k^(n-1) parents, with the sum (n-1) k only if each has k.
        equal = (routers == k ** (n - 1)).all() and machine.cables == len(machine.cable_count) == (n - 1) * k**n
        return {"topology": "fattree", "routing_function": "nca", "k": k, "n": n} if equal else None

    def dragonfly(self, point: BuiltPoint) -> dict[str, object] | None:
        """Return the keys of a balanced dragonfly."""
        config, k = point.point.machine, point.machine.nodes // point.machine.routers
        if not isinstance(config, DragonflyConfig):
            return None
        parts = config.routers_per_group, config.groups, config.links_per_group_pair, config.arrangement
        equal = parts == (2 * k, 2 * k**2 + 1, 1, "absolute")
        return {"topology": "dragonflynew", "routing_function": "min", "k": k, "n": 1} if equal else None

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        """Write the configuration, and the network unless it is one of BookSim2's own."""
        topology = self.topology(point)
        if topology["topology"] == "anynet":
            (folder / NETWORK).write_text(self.network_text(point))
        warmup, period = self.periods(point)
        values: dict[str, object] = topology | {
            "num_vcs": self.vcs,
            "vc_buf_size": int(point.network.buffer_bytes // self.flit_bytes),
            "st_final_delay": 1,
            "internal_speedup": self.speedup,
            "use_noc_latency": 0,
            "traffic": TRAFFIC[point.offered.traffic.kind],
            "packet_size": int(point.offered.message_bytes // self.flit_bytes),
            "injection_rate": min(1.0, self.rate(point)),
            "injection_rate_uses_flits": 1,
            "sample_period": period,
            "warmup_periods": warmup,
            "max_samples": warmup + point.offered.batches,
            "seed": point.seed,
            "pair_stats": 1,
            "stats_out": STATISTICS,
        }
        off = dict.fromkeys(("latency_thres", "warmup_thres", "acc_warmup_thres"), -1.0)
        off |= dict.fromkeys(("stopping_thres", "acc_stopping_thres"), 0.0)
        (folder / CONFIG).write_text("".join(f"{key} = {value};\n" for key, value in (values | off).items()))
        return [str(self.program_path() or self.program), CONFIG]

    def rate(self, point: BuiltPoint) -> float:
        """Return the rate of flits of a node a cycle, with those to itself; above 1 if it cannot be offered."""
        nodes, load = point.machine.nodes, point.load or 0.0
        return load * (nodes / (nodes - 1) if point.offered.traffic.kind == "uniform" else 1.0)

    def periods(self, point: BuiltPoint) -> tuple[int, int]:
        """Return the sample periods of the warm-up, and the cycles of one."""
        message = point.message_ns / self.cycle_ns(point)
        period = max(1, round(point.offered.measured * message / point.offered.batches))
        return max(1, ceil(point.offered.warmup * message / period)), period

    def network_text(self, point: BuiltPoint) -> str:
        """Return the lines of an anynet: the nodes of each router, and its neighbours with latencies in cycles."""
        machine = point.machine
        latency = self.cycles(point)[machine.classes[0].name]  # that of all classes
        nodes = [f"router {router} node {node}" for node, router in enumerate(machine.node_router.tolist())]
        ends = zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True)
        return "\n".join([*nodes, *(f"router {tail} router {head} {latency}" for tail, head in ends)]) + "\n"

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        """Return the counts of a simulation, in which each sample period is a batch."""
        text = "".join(path.read_text() for path in folder.glob(STATISTICS))
        output, drained, _ = (folder / "stdout").read_text(errors="replace").partition("Draining all recorded packets")
        nodes, batches, (warmup, period) = point.machine.nodes, point.offered.batches, self.periods(point)
        printed = np.array(PERIOD.findall(output), dtype=np.float64)
        if not drained or len(printed) != warmup + batches:
            raise EngineFailure(f"BookSim2 ended after {len(printed)} of {warmup + batches} sample periods")
        flits = int(point.offered.message_bytes // self.flit_bytes)
        sent = self.row(text, "pair_sent", nodes**2).reshape(nodes, nodes)
        latency = np.nan_to_num(self.row(text, "pair_plat", nodes**2).reshape(nodes, nodes))
        away, total = np.where(np.eye(nodes, dtype=bool), 0, sent), max(1, sent.sum())
        share, cycles = away.sum() / total, nodes * period * np.arange(1, batches + 1)
        injected, arrived = printed[warmup:, 1:3].T * cycles
        missing = max(0.0, self.rate(point) - 1) * cycles[-1] / flits
        # Sources that lag have created messages of the warm-up after it; the others are as many as were offered.
        offered = min(1.0, self.rate(point)) * cycles[-1] / flits
        late = max(0.0, sent.sum() - injected[-1])
        late_before = min(late, max(0.0, sent.sum() - offered))
        in_window = 1 - late_before / total
        # Flits of the warm-up have no record, and those that are under way at its end arrive later.
        flying, unrecorded = printed[warmup - 1 :, 3], printed[warmup - 1 :, 3] - printed[warmup - 1 :, 4]
        backlog = flying / flits + np.linspace(late_before, late + missing, batches + 1)
        recorded = (arrived - unrecorded[0] + unrecorded[1:]) / flits
        created = np.diff(injected, prepend=0) + (late - late_before + missing) / batches
        sums = np.diff(recorded * np.nan_to_num(printed[warmup:, 0]), prepend=0)
        sums *= (away * latency).sum() * recorded[-1] / total / max(1, sums.sum())
        accepted = self.row(text, "accepted_packets", nodes) * batches * period - np.diagonal(sent) * in_window
        return SteadyRun(
            window_ns=batches * period * self.cycle_ns(point),
            message_ns=point.message_ns,
            node_created=np.rint(away.sum(axis=1) * in_window + share * missing / nodes).astype(np.int64),
            node_arrived=np.rint(np.maximum(0, accepted)).astype(np.int64),
            created=np.rint(share * created).astype(np.int64),
            measured=np.rint(share * np.maximum(0, np.diff(recorded, prepend=0))).astype(np.int64),
            arrived=share * np.diff(arrived, prepend=0) / flits,
            latency_sum_ns=sums * self.cycle_ns(point),
            mean_backlog=share * (backlog[:-1] + backlog[1:]) / 2,
        )

    def row(self, text: str, name: str, columns: int) -> Floats:
        """Return a row of the statistics."""
        found = re.search(rf"^{name}\(1,:\) = \[ ([^\]\n]*)", text, re.M)
        values = np.array(found[1].split() if found else [], dtype=np.float64)
        if len(values) != columns:
            raise EngineFailure(f"the statistics have no row {name} of {columns} numbers")
        return values
