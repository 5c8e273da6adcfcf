"""Analysis without simulation, for machines and workloads too large to simulate.

Records of any engine have bounds, hop-bytes and link sharing by routes; this engine adds, under oblivious routings, the
bytes on each link. Runtimes are empty. It runs in the calling process, so the study's limits do not apply.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np

from fabricstudy.core.source import code_digest
from fabricstudy.structure.load import has_loads, link_loads

from ..built_point import BuiltPoint
from ..cost_model import CostModel, WorkCounts
from ..outcome import EngineResult
from ..point import Point
from ..simulator import Simulator

COSTS = CostModel(cpu_s={"point": 0.05, "message": 5e-6})


class Analysis(Simulator, kind="analysis"):
    """No simulation: bounds, hop-bytes, link sharing and (under oblivious routing) link loads; no runtimes."""

    simulates = False
    bundled = True

    @classmethod
    def probe(cls) -> str:
        return f"fabricstudy {version('fabricstudy')}"

    @classmethod
    def program_digest(cls, is_offered: bool) -> str:
        return code_digest("engine")  # no program: this code computes the result

    @classmethod
    def cost_model(cls) -> CostModel:
        return COSTS

    @staticmethod
    def work(point: Point) -> WorkCounts:
        nodes, cores = point.machine.nodes, point.machine.cores_per_node
        messages = float(point.machine.routers**2)
        if point.offered is None:
            messages = sum(job.pattern.traffic_messages(job.rank_count(nodes, cores)) for job in point.jobs)
        return WorkCounts(cpu={"point": 1.0, "message": messages}, memory={})

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        return []

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        """Return the link loads where the routing is oblivious, and no runtimes."""
        nothing, machine = (None,) * len(point.jobs), point.machine
        # The traffic of a background job depends on the runtimes of the others, which are unknown.
        jobs = [job for job in point.jobs if not job.background]
        if not has_loads(machine, point.routing):
            return EngineResult(nothing)
        source = np.concatenate([job.node_of_rank[job.messages.source] for job in jobs])
        destination = np.concatenate([job.node_of_rank[job.messages.destination] for job in jobs])
        size_bytes = np.concatenate([job.messages.size_bytes for job in jobs])
        return EngineResult(nothing, link_loads(machine, source, destination, size_bytes, point.routing).link_bytes)
