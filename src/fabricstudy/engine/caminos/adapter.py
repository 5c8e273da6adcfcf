"""Adapter of CAMINOS: prepare its input, read its result."""

from pathlib import Path

from fabricstudy.machine.graph import Machine

from ..built_point import BuiltPoint
from ..bundled import RESULT, BundledEngine
from ..contract import StreamBuffers
from ..failures import Unsupported
from ..point import Point
from ..program_engine import channel_buffers, check_messages
from ..registry import adapter_of
from ..traffic_files import check_ports
from ..virtual_channels import channel_classes
from .caveats import CAVEATS
from .channels import channels, hop_classes
from .clock import CaminosSettings, clock
from .cost import work
from .files import CONFIGURATION, write_files
from .result import read_offered_result, read_result


@adapter_of(CaminosSettings)
class Caminos(BundledEngine):
    """The engine CAMINOS; see the module's docstring."""

    name = "caminos"
    title = "CAMINOS"
    build_folder = name
    features = frozenset({"network.ports_per_node", "network.virtual_channels", "jobs.background"})
    caveats = CAVEATS
    work = staticmethod(work)
    read = staticmethod(read_result)
    read_offered = staticmethod(read_offered_result)

    def check(self, point: Point, machine: Machine) -> None:
        """Raise `Unsupported` for routings that cannot be listed, bandwidths without a common grid, and long delays."""
        if not machine.links:
            raise Unsupported("CAMINOS needs cables between routers; use the engine packet or flow")
        clock(point, machine)
        channels(point, machine)
        check_ports(point)

    def stored_bytes(self, point: Point, machine: Machine) -> float:
        return clock(point, machine).phit_bytes

    def stream_buffers(self, point: Point, machine: Machine) -> StreamBuffers:
        classes = max(hop_classes(point.routing, machine), channel_classes(point.routing, machine))
        return channel_buffers(point, max(1, channels(point, machine) // classes))

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        check_messages(point.jobs, self.title)
        write_files(folder, point)
        return self.command(CONFIGURATION, RESULT)
