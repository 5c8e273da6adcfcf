"""Adapter of the flow engine: prepare its input, read its result."""

from pathlib import Path

import numpy as np

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.ecmp import Ecmp
from fabricstudy.routing.ugal import Ugal

from ..built_point import BuiltPoint
from ..bundled import MACHINE, OPERATIONS, RESULT, BundledEngine
from ..failures import Unsupported
from ..job_traffic import traffic_classes
from ..listed_routes import listed
from ..point import Point
from ..registry import adapter_of
from .caveats import CAVEATS
from .cost import work
from .files import SETTINGS, FlowSettings, write_files
from .result import read_result

MIN_PACKETS = 4
"""Shortest messages, in packets, whose times were compared with those of packet simulations."""


@adapter_of(FlowSettings)
class Flow(BundledEngine):
    """The flow engine; see the package's docstring."""

    name = "flow"
    title = "the flow engine"
    features = frozenset(
        {"routing: ecmp", "network.virtual_channels", "network.send_overhead", "jobs.start", "messages of 0 B"}
    )
    caveats = CAVEATS
    work = staticmethod(work)
    read = staticmethod(read_result)

    def check(self, point: Point, machine: Machine) -> None:
        """Raise `Unsupported` for routings that cannot be listed, several jobs, and short messages."""
        listed(point.routing, machine)
        if sum(not job.pattern.is_idle for job in point.jobs) > 1:
            raise Unsupported(
                "flows model interference of jobs by shared links only, without buffers that fill with packets of "
                "other jobs; use the engine packet"
            )
        if isinstance(point.routing, Ecmp) and np.any(machine.cable_count > 1):
            raise Unsupported("the flow engine has no flows on one of parallel cables; use the engine packet")
        if isinstance(point.routing, Ugal) and point.routing.has_parameters:
            raise Unsupported("the flow engine's UGAL has no detours, bias or threshold; leave these out")
        least, loads = MIN_PACKETS * int(point.network.packet_bytes), traffic_classes(point)
        short = sum(load.messages * load.message_bytes for load in loads if load.message_bytes < least)
        if 2 * short > sum(load.messages * load.message_bytes for load in loads):
            raise Unsupported(
                f"most bytes are in messages below {least:,} B, {MIN_PACKETS} packets, which are too fast as flows; "
                "use the engine packet, or a smaller network.packet"
            )

    def stream_buffers(self, point: Point, machine: Machine) -> None:
        """Flows need no credits."""

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        write_files(folder, point)
        return self.command(SETTINGS, MACHINE, OPERATIONS, RESULT)
