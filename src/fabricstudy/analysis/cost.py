"""Price and power of machines."""

from math import isnan
from typing import Any

from pydantic import Field

from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.structure.cost import bill_of_materials
from fabricstudy.structure.prices import Prices
from fabricstudy.structure.prices.besta_2014 import Besta2014

from .base import Analysis, Row


class Cost(Analysis, kind="cost"):
    """Price and power of machines: routers by their ports, cables by class, and the total.

    The length of a cable follows from its latency, at 5 ns a metre, or from a floor plan: routers in racks in the order
    of their groups, racks on a square a metre apart, two metres more for a cable between racks. The columns:

    * `machine`, `part`: label of the machine; `routers-48` (of 48 ports), `cables-global`, ..., or `all`
    * `currency`, `year`: of the price list
    * `count`; `length_m`: mean of the cables; `ports_in_use`: mean of the routers, also if `radix` states more
    * `price`, `price_per_node`: in the currency
    * `power_W`, `power_per_node_W`: of the routers' ports; cables add none

    Of rails, accelerators and their ports are no routers and cost nothing; `without: [scale_up]` leaves the networks of
    the domains out.
    """

    keys = ("machine", "part")
    labels = ("currency",)
    numbers = (
        "year", "count", "length_m", "ports_in_use", "price", "price_per_node", "power_W", "power_per_node_W",
    )  # fmt: skip

    machines: dict[str, Topology] = Field(min_length=1, max_length=1000, description="{label: machine}")
    prices: Prices = Field(default_factory=Besta2014, description="price list")
    radix: Whole | None = Field(
        None, ge=1, le=100_000, description="ports of a router on the price list; default: those in use, or the radix "
        "that a machine of rails states if its class scale_up is left out"
    )  # fmt: skip
    routers_per_rack: Whole | None = Field(
        None, ge=1, le=100_000, description="for the floor plan; default: lengths from latencies"
    )
    without: tuple[str, ...] = Field((), description="link classes to leave out, with their ports; default: none")

    @property
    def predicted_cpu_s(self) -> float:
        return 0.5

    def other_prices(self) -> tuple[str, dict[str, Analysis]]:
        others = self.prices.others().values()
        return self.prices.title, {other.title: self.model_copy(update={"prices": other}) for other in others}

    def rows(self) -> list[Row]:
        tariff = self.prices.tariff()
        rows: list[dict[str, Any]] = []
        machines = {label: config.build() for label, config in self.machines.items()}
        classes = {link.name for machine in machines.values() for link in machine.classes}
        for number, name in enumerate(self.without):
            if name not in classes:
                path = ("without", str(number))
                raise ConfigError("no machine has this class", suggestion(name, classes), path, name, "unknown-value")
        for label, machine in machines.items():
            radix = self.radix or self.machines[label].priced_ports(self.without)
            bill = bill_of_materials(
                machine, tariff, radix=radix, routers_per_rack=self.routers_per_rack, without=self.without
            )
            rows += [
                {
                    "machine": label, "part": part.name, "currency": tariff.currency, "year": tariff.year,
                    "count": part.count, "length_m": part.length_m, "ports_in_use": part.ports_in_use,
                    "price": part.price, "price_per_node": part.price / machine.nodes,
                    "power_W": None if isnan(part.power_W) else part.power_W,
                    "power_per_node_W": None if isnan(part.power_W) else part.power_W / machine.nodes,
                }
                for part in bill
            ]  # fmt: skip
        return rows
