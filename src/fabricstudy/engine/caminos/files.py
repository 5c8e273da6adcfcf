"""Input files of the front end: configuration, machine, operations."""

import json
from pathlib import Path
from typing import NamedTuple

from fabricstudy.machine.graph import Machine

from ..built_point import BuiltPoint
from ..bundled import DESTINATIONS, MACHINE, OPERATIONS
from ..machine_file import write_machine
from ..point import Point
from ..traffic_files import MAX_DRAIN, needs_times, write_destinations, write_operations
from .channels import channels, policies, routes
from .clock import Clock, clock

CONFIGURATION, UNITS = "caminos.cfg", "units.json"


def write_files(folder: Path, point: BuiltPoint) -> None:
    """Write the input of the front end, and what the results depend on besides: the units of their numbers."""
    machine, units = point.machine, clock(point.point, point.machine)
    if point.load is None:
        traffic = _jobs(point, units)
        write_operations(folder / OPERATIONS, point.jobs, point.network, units.phit_bytes, units.cycle_ns)
    else:
        traffic = _offered(point, units)
        write_destinations(folder / DESTINATIONS, point.destinations, machine.nodes)
    (folder / CONFIGURATION).write_text(configuration(point.point, machine, traffic))
    (folder / UNITS).write_text(json.dumps({"cycle_ns": units.cycle_ns, "phit_bytes": units.phit_bytes}))
    write_machine(folder / MACHINE, machine, point.point)


def _jobs(point: BuiltPoint, units: Clock) -> str:
    return f"""TaskGraph {{
    filename: "{OPERATIONS}",
    injection: {point.network.injected_messages},
    packet: {units.packet_phits},
    period: {units.divisors[-1]},
    times: {str(needs_times(point.jobs)).lower()},
  }}"""


def _offered(point: BuiltPoint, units: Clock) -> str:
    offered, window = point.offered, offered_window(point)
    return f"""Offered {{
    filename: "{DESTINATIONS}",
    seed: {point.seed},
    arrivals: "{offered.arrivals}",
    burst: {offered.burst or 1},
    load: {point.load!r},
    message: {window.message_phits},
    period: {units.divisors[-1]},
    warmup: {offered.warmup * window.message_cycles},
    batch: {window.batch_cycles},
    batches: {offered.batches},
    drain: {MAX_DRAIN},
  }}"""


class OfferedWindow(NamedTuple):
    """Size of messages, their transmission time on the link of a node, and length of a batch, in CAMINOS' units."""

    message_phits: int
    message_cycles: int
    batch_cycles: int


def offered_window(point: BuiltPoint) -> OfferedWindow:
    """Return the lengths of a run of offered traffic."""
    units = clock(point.point, point.machine)
    phits = -(-int(point.offered.message_bytes) // units.phit_bytes)
    cycles = phits * units.divisors[-1]
    return OfferedWindow(phits, cycles, round(point.offered.measured * cycles / point.offered.batches))


def configuration(point: Point, machine: Machine, traffic: str) -> str:
    """Return the CAMINOS configuration of a point with this traffic, as text."""
    units = clock(point, machine)
    links = ", ".join(
        f"LinkClass {{ delay: {delay}, frequency_divisor: {divisor} }}"
        for delay, divisor in zip(units.delays, units.divisors, strict=True)
    )
    return f"""Configuration {{
  random_seed: {point.seed},
  warmup: 0,
  measured: 0,
  topology: Graph {{ filename: "{MACHINE}", classes: {len(machine.classes)} }},
  traffic: {traffic},
  server_queue_size: 1,
  maximum_packet_size: {units.packet_phits},
  router: InputOutput {{
    virtual_channels: {channels(point, machine)},
    virtual_channel_policies: [{policies(point, machine, units.packet_phits)}],
    crossbar_frequency_divisor: {units.crossbar_divisor},
    buffer_size: {units.buffer_phits},
    output_buffer_size: {units.buffer_phits // 2},
    flit_size: {units.packet_phits},
    bubble: false,
    allow_request_busy_port: true,
    intransit_priority: false,
    allocator: Random,
  }},
  routing: {routes(point, machine)},
  link_classes: [{links}],
}}
"""
