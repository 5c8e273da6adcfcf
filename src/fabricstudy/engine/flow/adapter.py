"""The flow engine: prepare its input, read its result."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np

from fabricstudy.routing.ecmp import Ecmp
from fabricstudy.routing.ugal import Ugal

from ..built_point import BuiltPoint
from ..bundled import MACHINE, OPERATIONS, RESULT, BundledSimulator
from ..cost_model import WorkCounts
from ..failures import Unsupported
from ..job_traffic import traffic_classes
from ..listed_routes import listed
from ..outcome import EngineResult
from ..point import Point
from . import cost
from .caveats import CAVEATS
from .files import SETTINGS, FlowSettings, write_files
from .result import read_result

MIN_PACKETS = 4
"""Shortest messages, in packets, whose times were compared with those of packet simulations."""


class Flow(FlowSettings, BundledSimulator, kind="flow"):
    """Messages as flows that share the links max-min fairly: for screening, with a spot check by the engine packet.

    No packets, and so a cost that does not grow with bytes. One job; messages of four packets or more.
    """

    checked_by = "packet"
    needs_check = True
    title = "the flow engine"
    features = frozenset(
        {"routing: ecmp", "network.virtual_channels", "network.send_overhead", "jobs.start", "messages of 0 B"}
    )
    caveats = CAVEATS
    read: ClassVar[Callable[..., EngineResult]] = staticmethod(read_result)

    @staticmethod
    def work(point: Point) -> WorkCounts:
        return cost.work(point)

    def unsupported(self, point: BuiltPoint) -> None:
        """Raise `Unsupported` for routings that cannot be listed, several jobs, and short messages."""
        listed(point.routing, point.machine)
        if sum(not job.pattern.is_idle for job in point.point.jobs) > 1:
            raise Unsupported(
                "flows model interference of jobs by shared links only, without buffers that fill with packets of "
                "other jobs; use the engine packet"
            )
        if isinstance(point.routing, Ecmp) and np.any(point.machine.cable_count > 1):
            raise Unsupported("the flow engine cannot select one of several parallel cables; use the engine packet")
        if isinstance(point.routing, Ugal) and point.routing.has_parameters:
            raise Unsupported("the flow engine's UGAL has no detours, bias or threshold; leave these out")
        least, loads = MIN_PACKETS * int(point.network.packet_bytes), traffic_classes(point.point)
        short = sum(load.messages * load.message_bytes for load in loads if load.message_bytes < least)
        if 2 * short > sum(load.messages * load.message_bytes for load in loads):
            raise Unsupported(
                f"most bytes are in messages below {least:,} B, {MIN_PACKETS} packets, which are too fast as flows; "
                "use the engine packet, or a smaller network.packet"
            )

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        write_files(folder, point)
        return self.command(SETTINGS, MACHINE, OPERATIONS, RESULT)
