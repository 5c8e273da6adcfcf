"""Adapter of SST: find the program, prepare its input, read its result."""

import re
from math import ceil
from pathlib import Path

from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.percs import PercsConfig
from fabricstudy.routing.base import Routing
from fabricstudy.routing.ugal import Ugal
from fabricstudy.workload.messages import repeat_background

from ..built_point import BuiltPoint
from ..detours import through_other_groups
from ..failures import Unsupported
from ..job_traffic import traffic_classes
from ..point import Point
from ..program_engine import FEATURES, MANAGED, ProgramEngine, check_messages, check_network, check_parts
from ..registry import adapter_of
from .caveats import CAVEATS
from .cost import work
from .offered import check_offered, read_offered_result, write_offered
from .program import MODEL, find, model_digest, program_digest, program_path
from .result import read_result
from .system import RUN, SstSettings, check_ugal, flit_bytes, has_no_foreground_traffic, settings_of, write_run
from .traces import MAX_MESSAGE_BYTES, check_native
from .wiring import native, wire


@adapter_of(SstSettings)
class Sst(ProgramEngine):
    """The engine SST; see the package's docstring."""

    name = "sst"
    title = "SST"
    features = frozenset({"network.congestion_management", "jobs.background"})
    caveats = CAVEATS
    work = staticmethod(work)
    probe = staticmethod(find)
    program = staticmethod(program_digest)
    sources = staticmethod(model_digest)
    read = staticmethod(read_result)
    read_offered = staticmethod(read_offered_result)
    cost_of_sharing = 1.2
    signs_of_failure = (re.compile("FATAL|Error|ERROR"),)

    def check(self, point: Point, machine: Machine) -> None:
        """Raise `Unsupported` for machine, routing, bandwidths, messages or motifs that SST cannot simulate."""
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

    def write(self, point: BuiltPoint, folder: Path) -> list[str] | None:
        """Write run file and traces; return the command, if nodes offer traffic or a foreground job communicates."""
        if point.load is not None:
            write_offered(folder, point)
        else:
            check_messages(point.jobs, self.title)
            if has_no_foreground_traffic(point.jobs):
                return None
            write_run(folder, point.point, point.machine, [repeat_background(job, point.machine) for job in point.jobs])
        return [str(program_path() or "sst"), str(MODEL), "--", RUN]

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        # The model is built on one MPI rank, so MPI is no alternative.
        program, *rest = command
        return [program, f"--num-threads={point.engine.processes}", *rest]

    def stored_bytes(self, point: Point, machine: Machine) -> float:
        return flit_bytes(point)

    def expected_routing(self, point: Point) -> Routing:
        native = isinstance(point.machine, DragonflyConfig | PercsConfig)
        return through_other_groups(point.routing) if native else point.routing
