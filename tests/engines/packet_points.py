"""Small points for the packet engine, and the files that its program reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
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
