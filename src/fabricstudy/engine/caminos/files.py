"""Input files of the front end: configuration, machine, operations."""

import json
from pathlib import Path
from typing import NamedTuple

from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.traffic.base import Destinations

from ..bundled import DESTINATIONS, MACHINE, OPERATIONS
from ..machine_file import write_machine
from ..point import Point
from ..traffic_files import MAX_DRAIN, needs_times, whole_units, write_destinations, write_operations
from .channels import channels, policies, routes
from .clock import Clock, clock

CONFIGURATION, UNITS = "caminos.cfg", "units.json"


def write_files(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> None:
    """Write the input of the front end."""
    units = clock(point, machine)
    traffic = f"""TaskGraph {{
    filename: "{OPERATIONS}",
    injection: {point.network.injected_messages},
    packet: {units.packet_phits},
    period: {units.divisors[-1]},
    times: {str(needs_times(jobs)).lower()},
  }}"""
    _write_network(folder, point, machine, traffic, _cycle_limit(units, machine, jobs))
    write_operations(folder / OPERATIONS, jobs, point.network, units.phit_bytes, units.cycle_ns)


def write_offered(folder: Path, point: Point, machine: Machine, destinations: Destinations, load: float) -> None:
    """Write all that the front end reads for a run of offered traffic."""
    units, window = clock(point, machine), offered_window(point, machine)
    offered = point.offered
    assert offered is not None
    traffic = f"""Offered {{
    filename: "{DESTINATIONS}",
    seed: {point.seed},
    arrivals: "{offered.arrivals}",
    burst: {offered.burst or 1},
    load: {load!r},
    message: {window.message_phits},
    period: {units.divisors[-1]},
    warmup: {offered.warmup * window.message_cycles},
    batch: {window.batch_cycles},
    batches: {offered.batches},
    drain: {MAX_DRAIN},
  }}"""
    _write_network(folder, point, machine, traffic, 0)
    write_destinations(folder / DESTINATIONS, destinations, machine.nodes)


def _write_network(folder: Path, point: Point, machine: Machine, traffic: str, cycles: int) -> None:
    """Write configuration and machine, and what the results depend on besides these: the units of their numbers."""
    units = clock(point, machine)
    (folder / CONFIGURATION).write_text(configuration(point, machine, traffic, cycles))
    (folder / UNITS).write_text(json.dumps({"cycle_ns": units.cycle_ns, "phit_bytes": units.phit_bytes}))
    write_machine(folder / MACHINE, machine, point)


class OfferedWindow(NamedTuple):
    """Size of messages, their transmission time on the link of a node, and length of a batch, in CAMINOS' units."""

    message_phits: int
    message_cycles: int
    batch_cycles: int


def offered_window(point: Point, machine: Machine) -> OfferedWindow:
    """Return the lengths of a run of offered traffic."""
    assert point.offered is not None
    units = clock(point, machine)
    phits = -(-point.offered.message_bytes // units.phit_bytes)
    cycles = phits * units.divisors[-1]
    return OfferedWindow(phits, cycles, round(point.offered.measured * cycles / point.offered.batches))


def configuration(point: Point, machine: Machine, traffic: str, cycles: int) -> str:
    """Return the CAMINOS configuration of a point with this traffic, and at most so many cycles, as text."""
    units = clock(point, machine)
    links = ", ".join(
        f"LinkClass {{ delay: {delay}, frequency_divisor: {divisor} }}"
        for delay, divisor in zip(units.delays, units.divisors, strict=True)
    )
    return f"""Configuration {{
  random_seed: {point.seed},
  warmup: 0,
  measured: {cycles},
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


def _cycle_limit(units: Clock, machine: Machine, jobs: list[PlacedJob]) -> int:
    """Return cycles that suffice even if the messages crossed the slowest links one after the other.

    Each of them may wait for messages of all background ranks.
    """
    background = sum(job.ranks for job in jobs if job.background)
    jobs = [job for job in jobs if not job.background]
    phits = sum(int(whole_units(job.messages.size_bytes, units.phit_bytes).sum()) for job in jobs)
    messages = sum(len(job.messages) for job in jobs)
    computing_ns = sum(float(job.computing.total_ns_per_rank(job.ranks).sum()) for job in jobs if job.computing)
    computing_ns += sum(float(job.operations.duration_ns.sum()) for job in jobs if job.operations)
    # More than twice the hops of any route.
    hops = 2 * (sum(dimension.length for dimension in machine.dimensions) or machine.routers)
    on_links = phits * max(units.divisors) + messages * (hops + 2) * max(units.delays)
    return (1 + background) * on_links + round(computing_ns / units.cycle_ns) + 1000
