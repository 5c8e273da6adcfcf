"""Keys of the flow engine, and input files of the program: settings, machine, messages."""

from pathlib import Path

from pydantic import Field

from fabricstudy.core.model import Number
from fabricstudy.machine.graph import Machine

from ..built_point import BuiltPoint
from ..bundled import MACHINE, OPERATIONS
from ..listed_routes import routing_words
from ..machine_file import Settings, write_machine, write_settings
from ..point import Point
from ..settings import EngineSettings, Record
from ..traffic_files import write_operations
from ..virtual_channels import channel_classes, virtual_channels

SETTINGS = "flow.settings"

MAX_WINDOW_BYTES = 64_000
"""Buffers above 64 to 100 kB do not change the times of CAMINOS."""


class FlowSettings(EngineSettings):
    """Keys of the flow engine."""

    batching: Number = Field(
        0.02,
        ge=0,
        le=0.2,
        description="events within this fraction of the mean message time are processed together; 0: exact, slower",
    )
    record: Record = None


def write_files(folder: Path, point: BuiltPoint) -> None:
    """Write the input of the program."""
    write_settings(folder / SETTINGS, settings_lines(point.point, point.machine))
    write_machine(folder / MACHINE, point.machine, point.point)
    write_operations(folder / OPERATIONS, point.jobs, point.network)


def settings_lines(point: Point, machine: Machine) -> Settings:
    """Return the settings of a point, the values of each word."""
    assert isinstance(point.engine, FlowSettings)
    classes = (*machine.classes, machine.host)
    return {
        "flow": (1,),
        "seed": (point.seed,),
        "routing": routing_words(point.routing, machine),
        "class_weight": machine.hop_weight,
        "bandwidth_Bps": tuple(link.bandwidth_Bps for link in classes),
        "latency_ns": tuple(link.latency_ns for link in classes),
        "router_latency_ns": (point.network.router_latency_ns,),
        "packet_bytes": (point.network.packet_bytes,),
        "window_bytes": (window_bytes(point, machine),),
        "injection": (point.network.injected_messages,),
        "batching": (point.engine.batching,),
        "record": (int(point.engine.record is not None),),
    }


def window_bytes(point: Point, machine: Machine) -> int:
    """Return the bytes of a node in the network: the first router's buffers of the channels of a packet's first hop."""
    channels = 1
    if point.network.buffer_per == "channel":
        channels = virtual_channels(point, machine) // channel_classes(point.routing, machine)
    return min(point.network.input_buffer_bytes * channels, MAX_WINDOW_BYTES)
