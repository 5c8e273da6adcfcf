"""BookSim2 as an engine: offered traffic on flits, virtual channels and credits.

BookSim2 (https://github.com/booksim/booksim2) is not part of fabricstudy. Build it, put ``booksim`` on PATH or set
FABRICSTUDY_BOOKSIM2 to its path, and list this file below `extensions` of a study.

Translation
-----------
* **Cycle**: the time of a flit of `flit` bytes on a link; so all links need one bandwidth. Latencies become whole
  cycles. A message is one packet of whole flits.
* **Router**: each of four stages takes one cycle. A longer one is not pipelined (``IQRouter::_SwitchEvaluate`` begins
  with a flit when those before have left), so that other values of `network.router_latency` are refused. Allocators
  are BookSim2's default, iSLIP of one iteration; `speedup` is `internal_speedup`.
* **Buffers**: `vcs` virtual channels a port, each one queue of `network.buffer`; packets wait behind others of their
  channel. Compare with packet under `network.buffer_per: channel`.
* **Machines**: torus and mesh of equal sides with a node a router, under dimension order, and dragonflies of
  2h routers a group, h nodes a router and h global ports, arranged absolute, under minimal routing, are BookSim2's own,
  with its fixed latencies: one cycle each on grids; 10 local, 100 global and 1 of a node on dragonflies. Other machines
  are an ``anynet``, on which each pair has one of its shortest paths and no deadlock is prevented: refused unless no
  shortest paths wait for each other in a cycle. A latency of a node's link there becomes a cable to the router of the
  node's number (``AnyNet::readFile``), so that it has to be the default, one cycle.
* **Traffic**: `uniform`, and permutations of bits. BookSim2's uniform traffic includes the sender, so that its rate is
  raised by N / (N - 1); messages of a node to itself are not counted, but use its links. Arrivals are Bernoulli trials,
  one a cycle: `arrivals: poisson`.

Measurement
-----------
The run has `replications` simulations (``sim_count``), each with its own warm-up, whose means are the batches. All
thresholds are off: BookSim2 would end an unstable simulation at `latency_thres` ("Simulation unstable"), or prolong one
until its mean latency changes little, and report a mean of the last samples only. Rates are counts of packets
(``injection_rate_uses_flits`` concerns the offered rate alone) by one class over its window. A node that lags behind
creates messages late: at saturation the count of created messages includes those of before the window. The exit code
of a finished run is -1, and that of an unstable one 0.

References
----------
Jiang et al.: A detailed and flexible cycle-accurate network-on-chip simulator. ISPASS 2013,
doi:10.1109/ISPASS.2013.6557149.
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
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal

CONFIG, NETWORK, STATISTICS = "booksim.config", "anynet", "statistics"

ROUTER_CYCLES = 4
"""Cycles of routing, of both allocations, and of the crossbar."""

DRAGONFLY_CYCLES = {"local": 10, "global": 100, "host": 1}
"""Latencies of BookSim2's dragonfly, by link class."""

Values = dict[str, object]


class BookSim2(Simulator, kind="booksim2"):
    """BookSim2: routers with virtual channels, cycle by cycle; offered traffic only."""

    program = "booksim"
    exit_codes = (255,)
    stores_packets = False
    caveats: ClassVar[tuple[Caveat, ...]] = (
        Caveat("Packets wait behind others of their virtual channel."),
        Caveat("Arrivals are Bernoulli trials, one each cycle."),
        Caveat("On machines other than torus, mesh and dragonfly, all packets of two nodes have one path."),
    )

    flit_bytes: Size = Field("16 B", alias="flit", validate_default=True, description="bytes of a flit, one a cycle")
    vcs: Whole = Field(2, ge=2, le=64, description="virtual channels of each port, with `network.buffer` each")
    speedup: Number = Field(1.0, ge=1, le=8, description="`internal_speedup`: router cycles a cycle of the links")
    replications: Whole = Field(10, ge=8, le=100, description="simulations, whose means yield the intervals")

    def unsupported(self, point: BuiltPoint) -> str | None:
        if point.offered.arrivals != "poisson":
            return "BookSim2 has Bernoulli arrivals; write offered.arrivals: poisson, or use packet"
        if point.offered.message_bytes > point.network.packet_bytes or point.offered.message_bytes % self.flit_bytes:
            return "a message has to be a packet of whole flits; choose offered.message, network.packet, engine.flit"
        if self.router_cycles(point) != ROUTER_CYCLES:
            right_ns = ROUTER_CYCLES * self.cycle_ns(point)
            return f"a router takes {ROUTER_CYCLES} cycles; set network.router_latency to {right_ns:.4g} ns"
        if self.traffic(point) is None:
            return "BookSim2 has uniform traffic and permutations of bits; use these, or packet"
        name, _ = self.own_topology(point)
        if name is None:
            return self.unsupported_anynet(point)
        fixed, cycles = self.fixed_cycles(point), self.cycles(point)
        wrong = [f"{link} {fixed[link] * self.cycle_ns(point):.4g} ns" for link in fixed if fixed[link] != cycles[link]]
        return f"BookSim2's {name} has fixed latencies; set machine.latency to {', '.join(wrong)}" if wrong else None

    def unsupported_anynet(self, point: BuiltPoint) -> str | None:
        """Return why a machine cannot be a network of BookSim2's file format."""
        cycles = self.cycles(point)
        if not isinstance(point.routing, Minimal):
            return f"BookSim2 has no {point.routing.kind} routing on this machine; use minimal, or packet"
        if len({cycles[link.name] for link in point.machine.classes}) > 1 or min(cycles.values()) < 1:
            return "BookSim2's paths are those of least latency; set machine.latency to one value, a cycle or more"
        if cycles[point.machine.host.name] != 1:
            return (
                f"links of nodes take one cycle in an anynet; set machine.latency.host to {self.cycle_ns(point):.4g} ns"
            )
        if (point.machine.cable_count > 1).any():
            return "BookSim2 has no parallel cables; use packet"
        if point.has_cyclic_waits():
            return "shortest paths on this machine may deadlock on BookSim2; use torus or mesh with dimension-order"
        return None

    def cycle_ns(self, point: BuiltPoint) -> float:
        """Return the time of a flit on a link."""
        return float(self.flit_bytes / point.one_bandwidth_Bps() * 1e9)

    def cycles(self, point: BuiltPoint) -> dict[str, int]:
        """Return the latency of each link class and of the links of nodes in cycles."""
        links, cycle_ns = (*point.machine.classes, point.machine.host), self.cycle_ns(point)
        return {link.name: round(link.latency_ns / cycle_ns) for link in links}

    def router_cycles(self, point: BuiltPoint) -> int:
        """Return the latency of a router in cycles."""
        return round(float(point.network.router_latency_ns) / self.cycle_ns(point))

    def own_topology(self, point: BuiltPoint) -> tuple[str | None, Values]:
        """Return BookSim2's name of a machine that is one of its own topologies, and its keys; None for others."""
        machine, config = point.machine, point.point.machine
        lengths = {dimension.length for dimension in machine.dimensions}
        if isinstance(point.routing, DimensionOrder) and config.kind in ("torus", "mesh") and len(lengths) == 1:
            wraps = {dimension.wrap for dimension in machine.dimensions}
            if np.array_equal(machine.node_router, np.arange(machine.routers)) and wraps == {config.kind == "torus"}:
                sizes: Values = {"k": lengths.pop(), "n": len(machine.dimensions)}
                return config.kind, {"topology": config.kind, "routing_function": "dim_order", **sizes}
        if isinstance(config, DragonflyConfig) and isinstance(point.routing, Minimal) and config.faults is None:
            ports = machine.nodes // machine.routers
            balanced = config.routers_per_group == 2 * ports and config.groups == 2 * ports**2 + 1
            if balanced and config.links_per_group_pair == 1 and config.arrangement == "absolute":
                return "dragonfly", {"topology": "dragonflynew", "routing_function": "min", "k": ports, "n": 1}
        return None, {"topology": "anynet", "routing_function": "min", "network_file": NETWORK}

    def fixed_cycles(self, point: BuiltPoint) -> dict[str, int]:
        """Return the latencies of BookSim2's own topologies, by link class."""
        return DRAGONFLY_CYCLES if "global" in self.cycles(point) else dict.fromkeys(self.cycles(point), 1)

    def traffic(self, point: BuiltPoint) -> str | None:
        """Return BookSim2's name of the traffic, by its destinations; None if it has none."""
        nodes = point.machine.nodes
        goals = point.permutation()
        if goals is None:
            even = (1 - np.eye(nodes)) / (nodes - 1)
            return "uniform" if np.allclose(point.traffic_matrix(), even) else None
        bits, node = nodes.bit_length() - 1, np.arange(nodes)
        known = {
            "bitcomp": nodes - 1 - node,
            "bitrev": sum(((node >> bit) & 1) << (bits - 1 - bit) for bit in range(bits)),
            "transpose": (node >> bits // 2) | (node << bits // 2 & (nodes - 1)),
            "shuffle": (node << 1 & (nodes - 1)) | node >> max(0, bits - 1),
        }
        odd = {"transpose"} if bits % 2 else set()
        found = (name for name, image in known.items() if name not in odd and np.array_equal(goals, image))
        return next(found, None) if nodes == 1 << bits else None

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        """Write the configuration, and the network unless it is one of BookSim2's own."""
        name, topology = self.own_topology(point)
        if name is None:
            (folder / NETWORK).write_text(self.network_text(point))
        assert point.load is not None
        traffic, nodes = self.traffic(point), point.machine.nodes
        warmup, window = self.periods(point)
        values: Values = topology | {
            "num_vcs": self.vcs,
            "vc_buf_size": int(point.network.buffer_bytes // self.flit_bytes),
            "st_final_delay": 1,
            "internal_speedup": self.speedup,
            "use_noc_latency": 0,
            "traffic": traffic,
            "packet_size": int(point.offered.message_bytes // self.flit_bytes),
            "injection_rate": min(1.0, point.load * (nodes / (nodes - 1) if traffic == "uniform" else 1.0)),
            "injection_rate_uses_flits": 1,
            "sample_period": window,
            "warmup_periods": warmup,
            "max_samples": warmup + 1,
            "sim_count": self.replications,
            "seed": point.seed,
            "pair_stats": 1,
            "stats_out": STATISTICS,
        }
        off = dict.fromkeys(("latency_thres", "warmup_thres", "acc_warmup_thres"), -1.0)
        off |= dict.fromkeys(("stopping_thres", "acc_stopping_thres"), 0.0)
        (folder / CONFIG).write_text("".join(f"{key} = {value};\n" for key, value in (values | off).items()))
        return [str(self.program_path() or self.program), CONFIG]

    def periods(self, point: BuiltPoint) -> tuple[int, int]:
        """Return the warm-up of each simulation in windows, and its window in cycles."""
        message = point.message_ns / self.cycle_ns(point)
        window = max(1, round(point.offered.measured * message / self.replications))
        return ceil(point.offered.warmup * message / window), window

    def network_text(self, point: BuiltPoint) -> str:
        """Return the lines of an anynet: the nodes of each router, and its neighbours, with latencies in cycles."""
        cycles, lines = self.cycles(point), []
        node = [f"router {router} node {number}" for number, router in enumerate(point.machine.node_router.tolist())]
        for edge in point.edges().to_dict("records"):
            for tail, head in ((edge["tail"], edge["head"]), (edge["head"], edge["tail"])):
                lines.append(f"router {tail} router {head} {cycles[edge['class']]}")
        return "\n".join([*node, *lines]) + "\n"

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        """Return the counts of all simulations; each is a batch."""
        text = (folder / STATISTICS).read_text() if (folder / STATISTICS).exists() else ""
        nodes, (_, window) = point.machine.nodes, self.periods(point)
        sent, latency, accepted = (
            self.rows(text, name, columns)
            for name, columns in (("pair_sent", nodes**2), ("pair_plat", nodes**2), ("accepted_packets", nodes))
        )
        if "Simulation unstable" in (folder / "stdout").read_text(errors="replace"):
            raise EngineFailure("BookSim2 ended an unstable simulation")
        sent, latency = (array.reshape(-1, nodes, nodes) for array in (sent, latency))
        to_self = np.diagonal(sent, axis1=1, axis2=2)
        away = np.where(np.eye(nodes, dtype=bool), 0, sent)
        arrived = np.maximum(0, np.rint(accepted * window) - to_self)
        mean = (away * np.nan_to_num(latency)).sum(axis=(1, 2)) / np.maximum(1, away.sum(axis=(1, 2)))
        measured = arrived.sum(axis=1)
        return SteadyRun(
            window_ns=self.replications * window * self.cycle_ns(point),
            message_ns=point.message_ns,
            node_created=away.sum(axis=(0, 2)).astype(np.int64),
            node_arrived=arrived.sum(axis=0).astype(np.int64),
            created=away.sum(axis=(1, 2)).astype(np.int64),
            measured=measured.astype(np.int64),
            arrived=measured.astype(np.int64),
            latency_sum_ns=mean * measured * self.cycle_ns(point),
        )

    def rows(self, text: str, name: str, columns: int) -> Floats:
        """Return an array of the statistics, a row for each simulation."""
        found = re.findall(rf"^{name}\(1,:\) = \[ ([^\]\n]*)", text, re.M)
        rows = np.array([list(map(float, row.split())) for row in found if len(row.split()) == columns])
        if len(rows) != self.replications:
            raise EngineFailure(f"{len(rows)} of {self.replications} simulations have the statistics {name}")
        return rows
