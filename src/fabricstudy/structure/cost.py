"""Cost of a machine: routers and cables by a tariff.

The length of a cable follows from its latency, at 5 ns/m, unless there is a floor plan. Then racks hold routers in the
order of groups and numbers, and form a near-square grid with a pitch of 1 m. A cable within a rack, and a host cable,
has 1 m; one between racks has their Manhattan distance plus 2 m (Besta and Hoefler: SC 2014, section VI).
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.machine.graph import Machine

from .prices import Tariff

NS_OF_METRE = 5.0
IN_RACK_M, BETWEEN_RACKS_M = 1.0, 2.0
ALL = "all"


@dataclass(frozen=True)
class CostItem:
    """Routers with one number of ports (``routers-48``), cables of one class (``cables-global``), or ``all``.

    Price (in the tariff's currency) and power are totals; that of ports is part of routers. `length_m` of cables and
    `ports_in_use` of routers are means.
    """

    name: str
    count: int
    price: float
    power_W: float
    length_m: float | None = None
    ports_in_use: float | None = None


def bill_of_materials(
    machine: Machine,
    tariff: Tariff,
    *,
    radix: int | None = None,
    routers_per_rack: int | None = None,
    without: Collection[str] = (),
) -> list[CostItem]:
    """Return the cost of routers by ports, cables by class, and all together.

    `radix` is the number of ports of each router (default: those in use), `routers_per_rack` selects a floor plan.
    Cables of the classes `without`, their ports and routers with no others are left out; so are routers within nodes.
    Raises FabricstudyError if a router uses more than `radix` ports.
    """
    if without:
        rows = ~np.isin([link.name for link in machine.classes], list(without))[machine.cable_class]
        columns = ("cable_tail", "cable_head", "cable_class", "cable_count")
        machine = replace(machine, **{name: getattr(machine, name)[rows] for name in columns})
    items = [*_routers(machine, tariff, radix), *_cables(machine, tariff, routers_per_rack)]
    price, power_W = sum(item.price for item in items), sum(item.power_W for item in items)
    return [*items, CostItem(ALL, sum(item.count for item in items), price, power_W)]


def _routers(machine: Machine, tariff: Tariff, radix: int | None) -> list[CostItem]:
    in_use = np.bincount(machine.link_tail, np.repeat(machine.cable_count, 2), machine.routers)
    in_use = in_use + machine.nodes_of_router
    in_use = in_use[(in_use > 0) & ~(machine.router_in_node & (machine.nodes_of_router > 0))].astype(np.int64)
    if radix is not None and radix < in_use.max(initial=0):
        raise FabricstudyError(f"routers of {radix} ports are too small: {int(in_use.max())} are in use")
    ports = in_use if radix is None else np.full(len(in_use), radix)
    sizes, counts = np.unique(ports, return_counts=True)
    prices = tariff.routers(sizes.astype(np.float64)) * counts
    return [
        CostItem(
            f"routers-{size}", count, price, count * size * tariff.port_W,
            ports_in_use=float(in_use[ports == size].mean()),
        )
        for size, count, price in zip(sizes.tolist(), counts.tolist(), prices.tolist(), strict=True)
    ]  # fmt: skip


def _cables(machine: Machine, tariff: Tariff, routers_per_rack: int | None) -> list[CostItem]:
    length_m, host_m = cable_lengths_m(machine, routers_per_rack)
    bandwidth_Bps = np.array([link.bandwidth_Bps for link in machine.classes])[machine.cable_class]
    price = tariff.cables(bandwidth_Bps, length_m) * machine.cable_count
    items = []
    for number, link in enumerate(machine.classes):
        rows = machine.cable_class == number
        count = int(machine.cable_count[rows].sum())
        mean_m = float(np.average(length_m[rows], weights=machine.cable_count[rows])) if count else None
        items.append(CostItem(f"cables-{link.name}", count, float(price[rows].sum()), 0.0, mean_m))
    if machine.router_in_node:
        return items
    host = float(tariff.cables(np.array(machine.host.bandwidth_Bps), np.array(host_m)))
    return [*items, CostItem("cables-host", machine.nodes, machine.nodes * host, 0.0, host_m)]


def cable_lengths_m(machine: Machine, routers_per_rack: int | None) -> tuple[Floats, float]:
    """Return the length of the cables of each row, float64 [rows], and of a host cable.

    Examples
    --------
    >>> from fabricstudy.machine.grids import TorusConfig
    >>> ring = TorusConfig.model_validate({"shape": [6], "bandwidth": "1 GB/s"}).build()
    >>> cable_lengths_m(ring, None)[0].tolist(), cable_lengths_m(ring, 2)[0].tolist()
    ([8.0, 8.0, 8.0, 8.0, 8.0, 8.0], [1.0, 3.0, 1.0, 4.0, 1.0, 3.0])
    """
    if routers_per_rack is None:
        class_m = np.array([link.latency_ns for link in machine.classes]) / NS_OF_METRE
        return class_m[machine.cable_class], machine.host.latency_ns / NS_OF_METRE
    group = np.zeros(machine.routers, dtype=np.int32) if machine.group is None else machine.group
    rack = np.empty(machine.routers, dtype=np.int64)
    rack[np.argsort(group, kind="stable")] = np.arange(machine.routers) // routers_per_rack
    row, column = np.divmod(rack, ceil(sqrt(rack.max() + 1)))
    tail, head = machine.cable_tail, machine.cable_head
    distance = np.abs(row[tail] - row[head]) + np.abs(column[tail] - column[head])
    return np.where(rack[tail] == rack[head], IN_RACK_M, distance + BETWEEN_RACKS_M), IN_RACK_M
