"""Buffers that a stream of packets has in a router."""

from dataclasses import dataclass

from .point import Point


@dataclass(frozen=True)
class StreamBuffers:
    """Bytes that packets of one class of virtual channels may have in an input of a router."""

    key: str
    """The key of the study that sets them, and its value."""
    key_bytes: int
    from_cable: int
    from_host: int
    channels: int = 1
    """Channels among which they are divided."""


def channel_buffers(point: Point, channels: int = 1) -> StreamBuffers:
    """Return the buffers of so many virtual channels, each with room for whole packets."""
    of_channel, packet_bytes = int(point.network.buffer_bytes), point.largest_packet_bytes
    stream_bytes = channels * (of_channel // packet_bytes * packet_bytes)
    return StreamBuffers("network.buffer", of_channel, stream_bytes, stream_bytes, channels)
