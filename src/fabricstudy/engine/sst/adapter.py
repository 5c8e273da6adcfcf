"""SST: find the program, prepare its input, read its result."""

import re
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import ClassVar

from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.percs import PercsConfig
from fabricstudy.routing.base import Routing
from fabricstudy.routing.ugal import Ugal
from fabricstudy.workload.messages import repeat_background

from ..built_point import BuiltPoint
from ..cost_model import CostModel, WorkCounts, load_cost_model
from ..detours import through_other_groups
from ..failures import Unsupported
from ..features import FEATURES, MANAGED, check_messages, check_network, check_parts
from ..job_traffic import traffic_classes
from ..outcome import EngineResult
from ..point import Point
from ..simulator import Simulator
from ..steady_state import SteadyRun
from ..stream_buffers import StreamBuffers, channel_buffers
from . import cost
from .caveats import CAVEATS
from .offered import check_offered, read_offered_result, write_offered
from .program import MODEL, program_digest, program_path, version_of_sst
from .result import read_result
from .system import RUN, SstSettings, check_ugal, flit_bytes, has_no_foreground_traffic, settings_of, write_run
from .traces import MAX_MESSAGE_BYTES, check_native
from .wiring import native, wire


class Sst(SstSettings, Simulator, kind="sst"):
    """SST: Merlin's routers, Firefly's network interfaces and MPI, and Ember's motifs."""

    title = "SST"
    features = frozenset({"network.congestion_management", "jobs.background"})
    caveats = CAVEATS
    scripts = (MODEL,)
    read: ClassVar[Callable[..., EngineResult]] = staticmethod(read_result)
    read_offered: ClassVar[Callable[..., SteadyRun]] = staticmethod(read_offered_result)
    cost_of_sharing = 1.2
    signs_of_failure = (re.compile("FATAL|Error|ERROR"),)

    @staticmethod
    def work(point: Point) -> WorkCounts:
        return cost.work(point)

    @classmethod
    def program_path(cls) -> Path | None:
        return program_path()

    @classmethod
    def probe(cls) -> str:
        return version_of_sst()

    @classmethod
    def program_digest(cls, is_offered: bool) -> str | None:
        return program_digest()

    @classmethod
    def cost_model(cls) -> CostModel:
        return load_cost_model(__package__)

    def unsupported(self, built: BuiltPoint) -> None:
        """Raise `Unsupported` for machine, routing, bandwidths, messages or motifs that SST cannot simulate."""
        point, machine = built.point, built.machine
        check_parts(machine, self.title)
        wiring = wire(point, machine)
        if settings_of(point).motifs == "native":
            check_native(point)
        elif settings_of(point).mpi != "none" and any(job.pattern.has_operations for job in point.jobs):
            raise Unsupported("with engine.mpi: default a send may wait for a receive after it; leave mpi out")
        elif settings_of(point).mpi != "none" and any(job.compute and job.compute.overlap for job in point.jobs):
            raise Unsupported(
                "with engine.mpi: default a rank cannot compute while its sends are pending; leave overlap or mpi out"
            )
        flit = flit_bytes(point)
        check_network(point, ceil(int(point.network.packet_bytes) / flit) * flit)
        if isinstance(point.routing, Ugal) and wiring.component == native.DRAGONFLY:
            check_ugal(point)
        fastest = max((link.bandwidth_Bps for link in machine.classes), default=machine.host.bandwidth_Bps)
        if not wiring.class_of_group and machine.host.bandwidth_Bps > fastest:
            raise Unsupported(
                f"in SST node links of a {machine.kind} are at most as fast as other links; lower bandwidth.host"
            )
        longest = max((load.message_bytes for load in traffic_classes(point)), default=0)
        if longest > MAX_MESSAGE_BYTES:
            raise Unsupported(f"messages in SST's traces have at most {MAX_MESSAGE_BYTES:,} B, not {longest:,} B")
        if point.offered is not None:
            check_offered(point, machine)
        if FEATURES["network.congestion_management"].is_used(point) and wiring.component != native.DRAGONFLY:
            # Only this element routes control packets.
            raise Unsupported(f"except on dragonflies and PERCS, SST has neither {MANAGED}")

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        """Write run file and traces; return the command, if nodes offer traffic or a foreground job communicates."""
        if point.load is not None:
            write_offered(folder, point)
        else:
            check_messages(point.jobs, self.title)
            if has_no_foreground_traffic(point.jobs):
                return []
            write_run(folder, point.point, point.machine, [repeat_background(job, point.machine) for job in point.jobs])
        return [str(program_path() or "sst"), str(MODEL), "--", RUN]

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        # The model is built on one MPI rank, so MPI is no alternative.
        program, *rest = command
        return [program, f"--num-threads={point.engine.processes}", *rest]

    def stored_bytes(self, point: BuiltPoint) -> float:
        return flit_bytes(point.point)

    def stream_buffers(self, point: BuiltPoint) -> StreamBuffers:
        return channel_buffers(point.point)

    def expected_routing(self, point: Point) -> Routing:
        native = isinstance(point.machine, DragonflyConfig | PercsConfig)
        return through_other_groups(point.routing) if native else point.routing
