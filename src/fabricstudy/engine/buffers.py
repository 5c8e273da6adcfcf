"""Streams of packets that wait for credits: the bandwidth-delay product of a link exceeds the downstream buffer.

A packet occupies space in the downstream input buffer from the start of its transmission until its tail has left that
buffer and the credit has returned. A link of bandwidth B is therefore never idle if the buffer holds B times the
round-trip latency of cable and router, plus one packet (Dally and Towles: Principles and Practices of Interconnection
Networks, 2004, section 13.3).
"""

from math import ceil
from typing import NamedTuple

from fabricstudy.core.phrasing import quantity
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.graph import LinkClass, Machine

from .engine import Engine
from .point import Point

MOST_CLASSES = 64
"""Classes of virtual channels, each of which keeps room for a packet."""


class BufferLimit(NamedTuple):
    """What the buffers leave of a link class to a stream of packets of one class of virtual channels."""

    link_class: str
    bandwidth_Bps: float
    share: float
    """Of the bandwidth, at most 1."""
    key: str
    """The key of the study that sets the buffer."""
    buffer_bytes: int
    needed_bytes: int
    """Value of the key from which on the share is 1."""

    def describe(self) -> str:
        """Return the limit as a phrase."""
        rates = (
            quantity(self.share * self.bandwidth_Bps, "byte/second", 3),
            quantity(self.bandwidth_Bps, "byte/second"),
        )
        return (
            f"{self.key} of {quantity(self.buffer_bytes, 'byte')} is less than the bandwidth-delay product of the "
            f"{self.link_class} links: a stream of packets reaches at most {rates[0]} of {rates[1]}; "
            f"{quantity(self.needed_bytes, 'byte')} suffices"
        )


def least_buffer_limit(point: Point, machine: Machine, engine: Engine) -> BufferLimit | None:
    """Return the limit of the link class with the least share; None on engines without buffers.

    Raises `Unsupported` if the engine has no channels for the routing.
    """
    buffers = engine.stream_buffers(point, machine)
    if buffers is None:
        return None
    packet_bytes, limits = point.largest_packet_bytes, []
    for link in (*machine.classes, machine.host):
        need_bytes = round_trip_bytes(point, machine, link)
        stream_bytes = buffers.from_host if link is machine.host else buffers.from_cable
        share = min(1.0, stream_bytes // packet_bytes * packet_bytes / need_bytes)
        # In proportion to what a stream has of the buffer, which is enough: more of a larger one is common to all.
        packets = ceil(need_bytes / packet_bytes - 1e-9)
        whole_bytes = ceil(packets / buffers.channels) * buffers.channels * packet_bytes
        needed_bytes = ceil(buffers.key_bytes * whole_bytes / stream_bytes)
        limits.append(BufferLimit(link.name, link.bandwidth_Bps, share, buffers.key, buffers.key_bytes, needed_bytes))
    return min(limits, key=lambda limit: limit.share)


def round_trip_bytes(point: Point, machine: Machine, link: LinkClass) -> float:
    """Return the room that keeps a link in full use."""
    router_ns = point.network.router_latency_ns * (0.5 if link is machine.host else 1.0)
    trip_ns: float = 2 * (link.latency_ns + router_ns)
    return trip_ns * link.bandwidth_Bps / NS_PER_S + point.largest_packet_bytes


def may_be_short(point: Point, machine: Machine) -> bool:
    """Return whether buffers may limit a stream, in less time than it takes to count classes of virtual channels."""
    network = point.network
    port_bytes, packet_bytes = int(network.port_buffer_bytes), int(network.packet_bytes)
    least_bytes = min(port_bytes // 2, port_bytes - MOST_CLASSES * packet_bytes, int(network.buffer_bytes))
    return any(round_trip_bytes(point, machine, link) > least_bytes for link in (*machine.classes, machine.host))


def buffer_columns(point: Point, machine: Machine, engine: Engine) -> dict[str, float | int]:
    """Return the columns of tables that tell the least limit; none on engines without buffers."""
    limit = least_buffer_limit(point, machine, engine)
    return {} if limit is None else {"buffer_limit": limit.share, "buffer_needed_bytes": limit.needed_bytes}
