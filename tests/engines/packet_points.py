"""Small points for the packet engine: their files, and random ones, each made by its number."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

PROGRAM = Path(
    os.environ.get("FABRICSTUDY_PACKET", Path(__file__).parents[2] / "engines/target/release/fabricstudy-packet")
)
FILES = ("packet.settings", "machine.graph", "jobs.operations")
CALC, SEND, RECEIVE = 0, 1, 2


@dataclass
class Message:
    """It is posted at a time, by its sender, which has its own order of messages."""

    sender: int
    receiver: int
    size: int
    posted_ps: int = 0


@dataclass
class Machine:
    """Cables are `(tail, head, class, count)`, dimensions `(length, wraps)`."""

    routers: int
    cables: list[tuple[int, int, int, int]]
    leaves: list[int]
    dimensions: list[tuple[int, int]] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    group: list[int] = field(default_factory=list)

    def text(self, nodes: list[int]) -> str:
        text = lines("graph 1", f"routers {self.routers}", "classes 2", f"nodes {len(nodes)}", *nodes)
        text += lines(f"cables {len(self.cables)}", *map(joined, self.cables))
        for word, rows in (("levels", self.level), ("groups", self.group)):
            text += lines(f"{word} {len(rows)}", *rows) if rows else ""
        return text + (
            lines(f"dimensions {len(self.dimensions)}", *(f"{length} {wraps} 0" for length, wraps in self.dimensions))
            if self.dimensions
            else ""
        )


@dataclass
class Point:
    """By default a byte takes a nanosecond, and nothing else takes any time."""

    machine: Machine
    nodes: list[int]
    """The router of each port of each node."""
    ranks: list[int]
    """The node of each rank."""
    messages: list[Message]
    ports: int = 1
    striped: bool = False
    seed: int = 1
    kind: str = "minimal"
    tie: str = "split"
    via: str = "router"
    detours: int = 1
    bias: float = 1
    threshold: int = 0
    progressive: bool = False
    weight: tuple[int, int] = (1, 1)
    bandwidth_Bps: tuple[float, float, float] = (1e9, 1e9, 1e9)
    latency_ns: tuple[float, float, float] = (0, 0, 0)
    router_ns: float = 0
    packet: int = 100
    buffer: int = 400
    per_channel: bool = False
    channels: int = 1
    classes: int = 1
    scheme: str = "one"
    speedup: float = 1
    injection: int = 1

    def settings(self) -> str:
        return lines(
            "packet 1",
            f"seed {self.seed}",
            f"routing {self.kind} {self.tie} {self.via}",
            f"ugal {self.detours} {self.bias} {self.threshold} {int(self.progressive)}",
            "class_weight " + joined(self.weight),
            "bandwidth_Bps " + joined(self.bandwidth_Bps),
            "latency_ns " + joined(self.latency_ns),
            f"router_latency_ns {self.router_ns}",
            f"packet_bytes {self.packet}",
            f"buffer_bytes {self.buffer}",
            f"buffers {'channel' if self.per_channel else 'port'}",
            f"channels {self.channels} {self.classes} {self.scheme}",
            f"crossbar_speedup {self.speedup}",
            f"injection {self.injection}",
            "traffic_classes 1",
            "job_classes 0",
            "congestion_management 0",
            "overhead 0 0 0",
            "times 1",
        )

    def operations(self) -> list[tuple[int, int]]:
        """Return kind and message of all operations, rank by rank."""
        found = []
        for rank in range(len(self.ranks)):
            for k, message in enumerate(self.messages):
                if message.sender == rank:
                    found += [(CALC, k)] * (message.posted_ps > 0) + [(SEND, k)]
                if message.receiver == rank:
                    found.append((RECEIVE, k))
        return found

    def jobs(self) -> str:
        """Return the file of operations; each computation has a stream of its own."""
        operations, rows, dependencies = self.operations(), [], []
        number = {one: k for k, one in enumerate(operations)}
        for k, (kind, index) in enumerate(operations):
            message = self.messages[index]
            rank = message.receiver if kind == RECEIVE else message.sender
            length = {CALC: message.posted_ps, SEND: message.size, RECEIVE: 0}[kind]
            partner = number[RECEIVE if kind == SEND else SEND, index] if kind else 0
            rows.append(f"{kind} {rank} {k} {length} {partner}")
            if kind == SEND and message.posted_ps:
                dependencies.append((k - 1, k, 0))
        text = lines(
            "operations 1", *[f"{'stripes' if self.striped else 'ports'} {self.ports}"] * (self.ports > 1), "jobs 1"
        )
        text += lines(f"ranks {len(self.ranks)}", *self.ranks, f"streams {len(rows)}", f"operations {len(rows)}", *rows)
        return text + lines(f"dependencies {len(dependencies)}", *map(joined, dependencies))

    def simulate(self, folder: Path, program: Path | str = PROGRAM) -> tuple[int, dict[str, Any]]:
        """Return exit code and result of the program."""
        for name, text in zip(FILES, (self.settings(), self.machine.text(self.nodes), self.jobs()), strict=True):
            (folder / name).write_text(text)
        command = [str(program), *FILES, "result.json"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        failed = {"stderr": ran.stderr.strip()}
        return ran.returncode, failed if ran.returncode else json.loads((folder / "result.json").read_text())


def lines(*items: Any) -> str:
    return "".join(f"{item}\n" for item in items)


def joined(items: Iterable[Any]) -> str:
    return " ".join(map(str, items))


def random_graph(random: Random) -> Machine:
    routers = random.randint(2, 8)
    pairs = {(random.randrange(router), router) for router in range(1, routers)}
    pairs |= {tuple(sorted(random.sample(range(routers), 2))) for _ in range(random.randint(0, routers))}  # type: ignore[misc]
    cables = [(tail, head, random.randrange(2), random.choice((1, 1, 1, 2, 3))) for tail, head in sorted(pairs)]
    if random.random() < 0.1:
        tail, head, _, _ = random.choice(cables)
        cables.append((head, tail, random.randrange(2), 1))
    leaves = random.sample(range(routers), random.randint(1, routers)) if random.random() < 0.3 else range(routers)
    machine = Machine(routers, random.sample(cables, len(cables)), list(leaves))
    if random.random() < 0.6:
        groups = random.randint(2, max(2, routers // 2))
        machine.group = [*range(groups), *(random.randrange(groups) for _ in range(routers - groups))]
    return machine


def random_grid(random: Random) -> Machine:
    dimensions: list[tuple[int, int]] = []
    while not dimensions or math.prod(length for length, _ in dimensions) > 12:
        wraps = [random.randrange(2) for _ in range(random.randint(1, 3))]
        dimensions = [(random.randint(2, 6), wrap) for wrap in wraps]
    routers, cables, unit = math.prod(length for length, _ in dimensions), [], 1
    for d, (length, wrap) in enumerate(dimensions):
        for router in range(routers):
            at = router // unit % length
            for far in range(1, length - at):
                if far == 1 or (wrap and far == length - 1):
                    cables.append((router, router + far * unit, min(d, 1), random.choice((1, 1, 1, 2))))
        unit *= length
    return Machine(routers, cables, list(range(routers)), dimensions)


def random_tree(random: Random) -> Machine:
    low, roots = random.randint(2, 4), random.randint(1, 3)
    cables = [(leaf, low + root, root % 2, random.choice((1, 1, 2))) for leaf in range(low) for root in range(roots)]
    return Machine(low + roots, cables, list(range(low)), level=[0] * low + [1] * roots)


def longest_path(machine: Machine, weight: tuple[int, int]) -> int:
    """Return the most hops of a lightest path, or more."""
    routers = range(machine.routers)
    far = [[0.0 if a == b else math.inf for b in routers] for a in routers]
    for tail, head, _, _ in machine.cables:
        far[tail][head] = far[head][tail] = 1
    for via in routers:
        far = [[min(far[a][b], far[a][via] + far[via][b]) for b in routers] for a in routers]
    longest = int(max(map(max, far)))
    return min(machine.routers - 1, longest + 2) if machine.group or weight != (1, 1) else longest


def random_messages(random: Random, ranks: int, packet: int) -> list[Message]:
    hot = random.randrange(ranks) if random.random() < 0.4 else None
    late = random.choice((0.0, 0.0, 0.2, 0.8))
    messages: list[Message] = []
    for _ in range(random.randint(1, random.choice((5, 15, 40)))):
        sender = random.randrange(ranks)
        receiver = hot if hot is not None and random.random() < 0.7 else random.randrange(ranks)
        receiver = (sender + 1) % ranks if sender == receiver else receiver
        sizes = (1, packet, packet + 1, 2 * packet, random.randint(1, 4 * packet), random.randint(1, 12 * packet))
        posted_ps = random.choice((1, 1000, random.randint(1, 10**6))) if random.random() < late else 0
        messages.append(Message(sender, receiver, random.choice(sizes), posted_ps))
    return messages


def channels_of(random: Random, machine: Machine, kind: str, weight: tuple[int, int]) -> tuple[str, int]:
    """Return how channel classes follow from routes, and their number; sometimes too few of them."""
    rings = any(wraps for _, wraps in machine.dimensions)
    if kind == "dimension-order":
        return ("dateline", 2) if rings else ("one", 1)
    if kind == "adaptive" and machine.dimensions and not rings and random.random() < 0.8:
        return "escape", 2
    if machine.level and kind in ("minimal", "adaptive") and random.random() < 0.8:
        return "one", 1
    needed = longest_path(machine, weight) * (2 if kind in ("valiant", "ugal") else 1)
    return "hops", max(1, needed + random.choice((-1, 0, 0, 0, 0, 1)))


def random_point(number: int) -> Point:
    random = Random(number)
    machine = random.choice((random_graph, random_graph, random_grid, random_tree))(random)
    kinds = ["minimal", "valiant", "ugal", "ugal", "adaptive"]
    kind = random.choice(kinds + ["dimension-order", "dimension-order", "adaptive"] * bool(machine.dimensions))
    weight = (1, 1 if machine.dimensions else random.choice((1, 1, 2, 3)))
    scheme, classes = channels_of(random, machine, kind, weight)
    channels = random.choice((classes, classes, classes + random.randint(0, 3), 2 * classes))
    packet, per_channel = random.choice((64, 100, 250, 1000, 4096)), random.random() < 0.3
    least = packet * max(4, 0 if per_channel else classes + 1)
    ports, count = random.choice((1, 1, 1, 1, 2, 3)), random.randint(2, 10)
    ranks = [rank % count for rank in range(random.randint(2, max(3, 2 * count if random.random() < 0.4 else count)))]
    if random.random() < 0.4:
        ranks = [random.randrange(count) for _ in ranks]
    speed, speeds = random.random() < 0.5, (1e9, 2e9, 3e9, 7.3e9, 12.5e9, 25e9)
    fast, delays = random.choice(speeds), random.choice(((0.0,), (0.0, 10.0), (10.0,), (0.0, 1.0, 40.5, 0.3, 500.0)))
    return Point(
        machine,
        [random.choice(machine.leaves) for _ in range(count * ports)],
        ranks,
        random_messages(random, len(ranks), packet),
        ports,
        random.random() < 0.5 and ports > 1,
        random.randrange(2**32),
        kind,
        random.choice(("split", "positive", "alternate")),
        "group" if machine.group and random.random() < 0.5 else "router",
        random.randint(1, 3),
        random.choice((1, 1, 0.5, 2)),
        random.choice((0, 0, packet, -packet)),
        random.random() < 0.5,
        weight,
        (fast,) * 3 if speed else (random.choice(speeds), random.choice(speeds), random.choice(speeds)),
        (random.choice(delays), random.choice(delays), random.choice(delays)),
        random.choice((0, 0, 0.7, 100)),
        packet,
        random.choice((least, least, least + random.randrange(2 * packet), 2 * least, 16 * packet + least)),
        per_channel,
        channels,
        classes,
        scheme,
        random.choice((1, 1, 1.5, 2)),
        random.choice((1, 1, 2, 3, 16)),
    )
