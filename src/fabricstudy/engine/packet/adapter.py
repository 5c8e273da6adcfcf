"""The packet engine: prepare its input, read its result."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from fabricstudy.routing.ecmp import Ecmp

from ..built_point import BuiltPoint
from ..bundled import MACHINE, RESULT, BundledSimulator
from ..cost_model import WorkCounts
from ..failures import Unsupported
from ..features import FEATURES, PACKETS_OF_A_BUFFER
from ..outcome import EngineResult
from ..point import Point
from ..steady_state import SteadyRun
from ..stream_buffers import StreamBuffers, channel_buffers
from ..traffic_files import check_ports
from ..virtual_channels import channel_classes, channel_scheme, virtual_channels, with_scheme
from . import cost
from .caveats import CAVEATS
from .files import SETTINGS, PacketSettings, write_files
from .result import read_offered_result, read_result

MAX_CHANNELS = 64
"""Channels of a port, which the program keeps as bits of a word."""


class Packet(PacketSettings, BundledSimulator, kind="packet"):
    """Packets through buffered routers in continuous time: any bandwidths and latencies, without cycles or rounding."""

    checked_by = "caminos"
    title = "the packet engine"
    features = frozenset(FEATURES)
    caveats = CAVEATS
    read: ClassVar[Callable[..., EngineResult]] = staticmethod(read_result)
    read_offered: ClassVar[Callable[..., SteadyRun]] = staticmethod(read_offered_result)

    @staticmethod
    def work(point: Point) -> WorkCounts:
        return cost.work(point)

    def unsupported(self, built: BuiltPoint) -> None:
        """Raise `Unsupported` for routings that cannot be listed, too few channels, and buffers of a few packets."""
        point, machine = with_scheme(built.point, built.machine), built.machine
        channels = virtual_channels(point, machine) * max(1, len(point.network.classes))
        if channels > MAX_CHANNELS:
            raise Unsupported(
                f"{point.routing.kind} routing on this machine needs {channels} virtual channels, those of all traffic "
                f"classes together, and a port has {MAX_CHANNELS} at most; choose a routing with shorter paths"
            )
        check_ports(point)
        if isinstance(point.routing, Ecmp) and point.network.ports_per_node > 1:
            raise Unsupported("flows of nodes with several ports have no hash; leave network.ports_per_node out")
        packet, buffer = int(point.network.packet_bytes), point.network.input_buffer_bytes
        key, classes = "buffer", 1
        if point.network.buffer_per == "port":
            # Each class has the room of a packet to itself.
            key, classes = "port_buffer", channel_classes(point.routing, machine, point.network.channel_scheme)
        least = max(PACKETS_OF_A_BUFFER, classes + 1)
        if buffer < least * packet:
            raise Unsupported(
                f"network.{key} is {buffer:,} B, and {point.routing.kind} routing on this machine needs room for "
                f"{least} packets; choose at least {least * packet:,} B, or a smaller network.packet"
            )

    def stream_buffers(self, built: BuiltPoint) -> StreamBuffers:
        """Return the part of a class and what is common to all; a node sends on any channel (`pool.rs` divides)."""
        point, machine = with_scheme(built.point, built.machine), built.machine
        routing, stated, channels = point.routing, point.network.channel_scheme, virtual_channels(point, machine)
        classes = channel_classes(routing, machine, stated)
        escapes = channel_scheme(routing, machine, stated) == "escape"
        if point.network.buffer_per == "channel":
            of_class = channel_buffers(point, channels if escapes else channels // classes)
            return replace(of_class, from_host=channel_buffers(point, channels).from_host)
        whole = int(point.network.port_buffer_bytes)
        of_others = 0 if escapes else (classes - 1) * max(int(point.network.packet_bytes), whole // (2 * classes))
        return StreamBuffers("network.port_buffer", whole, whole - of_others, whole)

    def stored_bytes(self, point: BuiltPoint) -> float:
        return 0.0

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        traffic = write_files(folder, replace(point, point=with_scheme(point.point, point.machine)))
        return self.command(SETTINGS, MACHINE, traffic, RESULT)
