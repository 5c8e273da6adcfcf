"""CAMINOS: prepare its input, read its result."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from ..built_point import BuiltPoint
from ..bundled import RESULT, BundledSimulator
from ..cost_model import WorkCounts
from ..failures import Unsupported
from ..features import check_messages
from ..outcome import EngineResult
from ..point import Point
from ..steady_state import SteadyRun
from ..stream_buffers import StreamBuffers, channel_buffers
from ..traffic_files import check_ports
from ..virtual_channels import channel_classes
from . import cost
from .caveats import CAVEATS
from .channels import channels, hop_classes
from .clock import CaminosSettings, clock
from .files import CONFIGURATION, write_files
from .result import read_offered_result, read_result


class Caminos(CaminosSettings, BundledSimulator, kind="caminos"):
    """CAMINOS; `phit` is the unit in which it moves data."""

    title = "CAMINOS"
    build_folder = "caminos"
    features = frozenset({"network.ports_per_node", "network.virtual_channels", "jobs.background"})
    caveats = CAVEATS
    read: ClassVar[Callable[..., EngineResult]] = staticmethod(read_result)
    read_offered: ClassVar[Callable[..., SteadyRun]] = staticmethod(read_offered_result)

    @staticmethod
    def work(point: Point) -> WorkCounts:
        return cost.work(point)

    def unsupported(self, point: BuiltPoint) -> None:
        """Raise `Unsupported` for routings that cannot be listed, bandwidths without a common grid, and long delays."""
        if not point.machine.links:
            raise Unsupported("CAMINOS needs cables between routers; use the engine packet or flow")
        clock(point.point, point.machine)
        channels(point.point, point.machine)
        check_ports(point.point)

    def stored_bytes(self, point: BuiltPoint) -> float:
        return clock(point.point, point.machine).phit_bytes

    def stream_buffers(self, point: BuiltPoint) -> StreamBuffers:
        routing, machine = point.routing, point.machine
        classes = max(hop_classes(routing, machine), channel_classes(routing, machine))
        return channel_buffers(point.point, max(1, channels(point.point, machine) // classes))

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        check_messages(point.jobs, self.title)
        write_files(folder, point)
        return self.command(CONFIGURATION, RESULT)
