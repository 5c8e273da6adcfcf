"""Keys of the packet engine, and input files of the program: settings, machine, traffic."""

from math import ceil
from pathlib import Path

from pydantic import Field

from fabricstudy.core.model import Number
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.ugal import Ugal

from ..built_point import BuiltPoint
from ..bundled import DESTINATIONS, MACHINE, OPERATIONS
from ..listed_routes import routing_words
from ..machine_file import Settings, write_machine, write_settings
from ..point import Point
from ..settings import EngineSettings, Record
from ..traffic_files import MAX_DRAIN, needs_times, write_destinations, write_operations
from ..virtual_channels import channel_classes, channel_scheme, most_hops, virtual_channels
from .offered_window import offered_window

SETTINGS = "packet.settings"
PACKETS_OF_A_WINDOW = 3
"""Packets on the way beside the bandwidth-delay product: at the sender, at the receiver, and between two links."""


class PacketSettings(EngineSettings):
    """Keys of the packet engine."""

    crossbar_speedup: Number = Field(
        1.0, ge=1, le=16, description="bandwidth of a router's crossbar, per port, over that of the fastest link"
    )
    record: Record = None


def write_files(folder: Path, point: BuiltPoint) -> str:
    """Write the input of the program; return the name of the file of traffic."""
    settings, machine, network = point.point.engine, point.machine, point.network
    assert isinstance(settings, PacketSettings)
    write_machine(folder / MACHINE, machine, point.point)
    if point.load is None:
        times = 2 if settings.record else int(needs_times(point.jobs))
        lines, traffic = settings_lines(point.point, machine, times), OPERATIONS
        write_operations(
            folder / traffic, point.jobs, network, node_Bps=machine.host.bandwidth_Bps * network.ports_per_node
        )
    else:
        lines, traffic = settings_lines(point.point, machine, times=0), DESTINATIONS
        lines |= {"offered": offered_values(point), "sizes": tuple(point.offered.size_rows().ravel().tolist())}
        write_destinations(folder / traffic, point.destinations, machine.nodes)
    write_settings(folder / SETTINGS, lines)
    return traffic


def settings_lines(point: Point, machine: Machine, times: int) -> Settings:
    """Return the settings of a point, the values of each word."""
    assert isinstance(point.engine, PacketSettings)
    routing, network = point.routing, point.network
    links = (*machine.classes, machine.host)
    return {
        "packet": (1,),
        "seed": (point.seed,),
        "routing": routing_words(routing, machine),
        "ugal": _ugal(routing) if isinstance(routing, Ugal) else (1, 1, 0, 0),
        "class_weight": machine.hop_weight,
        "bandwidth_Bps": tuple(link.bandwidth_Bps for link in links),
        "latency_ns": tuple(link.latency_ns for link in links),
        "router_latency_ns": (network.router_latency_ns,),
        "packet_bytes": (network.packet_bytes,),
        "buffer_bytes": (network.input_buffer_bytes,),
        "buffers": (network.buffer_per,),
        "channels": (
            virtual_channels(point, machine),
            channel_classes(routing, machine, network.channel_scheme),
            channel_scheme(routing, machine, network.channel_scheme),
        ),
        "crossbar_speedup": (point.engine.crossbar_speedup,),
        "injection": (network.injected_messages,),
        "traffic_classes": tuple(share for _, share in network.classes) or (1,),
        # Silent jobs have no class.
        "job_classes": tuple(max(0, point.class_of(job)) for job in range(len(point.jobs))) or (0,),
        "congestion_management": (_first_window_bytes(point, machine) if network.congestion_management else 0,),
        "overhead": (0, 0, 0),
        "times": (times,),
    }


def _first_window_bytes(point: Point, machine: Machine) -> int:
    """Return the bandwidth-delay product of a node's link over the longest route, plus a few packets."""
    network, host = point.network, machine.host
    cable_ns = max((link.latency_ns for link in machine.classes), default=0) + network.router_latency_ns
    one_way_ns = most_hops(point.routing, machine) * cable_ns + 2 * host.latency_ns + network.router_latency_ns
    product_bytes: float = 2 * one_way_ns * host.bandwidth_Bps / NS_PER_S
    return ceil(product_bytes) + PACKETS_OF_A_WINDOW * int(network.packet_bytes)


def _ugal(routing: Ugal) -> tuple[object, ...]:
    return routing.detours, routing.bias, routing.threshold_bytes or 0, int(routing.progressive)


def offered_values(point: BuiltPoint) -> tuple[object, ...]:
    """Return the values that describe offered traffic at a load."""
    offered, window = point.offered, offered_window(point)
    arrivals = (offered.arrivals, offered.burst or 1, repr(point.load), repr(offered.mean_bytes))
    return (*arrivals, window.warmup_ps, window.batch_ps, offered.batches, MAX_DRAIN)
