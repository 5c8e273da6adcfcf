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
from ..contract import Engine, Probe
from ..outcome import EngineResult
from ..point import Point
from ..registry import adapter_of
from ..settings import EngineSettings

_START_CPU_S = 0.05
_CPU_S_OF_A_MESSAGE = 5e-6


class AnalysisOnly(EngineSettings, kind="analysis"):
    """No simulation: bounds, hop-bytes, link sharing and (under oblivious routing) link loads; no runtimes."""


@adapter_of(AnalysisOnly)
class Analysis(Engine):
    """Analysis as an engine; see the module's docstring."""

    name = "analysis"
    simulates = False
    bundled = True

    def probe(self) -> Probe:
        return Probe(self.name, True, version=f"fabricstudy {version('fabricstudy')}")

    def program(self) -> str:
        return code_digest("engine")  # no program: this code computes the result

    def predict_cpu_s(self, point: Point) -> float:
        nodes, cores = point.machine.nodes, point.machine.cores_per_node
        if point.offered is not None:
            return _START_CPU_S + _CPU_S_OF_A_MESSAGE * point.machine.routers**2
        messages = sum(job.pattern.traffic_messages(job.rank_count(nodes, cores)) for job in point.jobs)
        return _START_CPU_S + _CPU_S_OF_A_MESSAGE * messages

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
