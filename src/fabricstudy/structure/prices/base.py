"""Base class of price lists."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import Kind


@dataclass(frozen=True)
class Tariff:
    """Prices, in one currency of one year.

    A router of k ports costs `router` + k `port` and consumes k `port_W`. A cable of x metres costs the lesser of
    `electrical` + x `electrical_m` and `optical` + x `optical_m` per Gb/s of one direction. What a list lacks is
    infinite (a price) or NaN (the power).
    """

    currency: str
    year: int
    router: float
    port: float
    port_W: float
    electrical: float
    electrical_m: float
    optical: float
    optical_m: float

    def __post_init__(self) -> None:
        for name in ("router", "port", "electrical", "electrical_m", "optical", "optical_m"):
            price = getattr(self, name)
            if not isinstance(price, int | float) or isnan(price):
                found = "NaN" if isinstance(price, float) else type(price).__name__
                problem = f"a price list with {found} as its price {name}"
                raise FabricstudyError(f"{problem}; write a number, or infinity for what the list lacks", "extension")

    def routers(self, ports: Floats) -> Floats:
        """Return the prices of routers with these numbers of ports.

        Raises FabricstudyError if one is negative, as for a linear fit to larger routers.
        """
        price = self.router + self.port * ports
        if np.any(price < 0):
            problem = f"this price list yields a negative price for routers of {ports[np.argmin(price)]:g} ports"
            raise FabricstudyError(f"{problem}; set the ports of each router, such as radix: 64")
        return price

    def cables(self, bandwidth_Bps: Floats, length_m: Floats) -> Floats:
        """Return the prices of single cables; the arrays are broadcast.

        Examples
        --------
        >>> tariff = Tariff("USD", 2014, 0, 0, 0, electrical=1, electrical_m=1, optical=5, optical_m=0)
        >>> tariff.cables(np.array(1.25e9), np.array([2.0, 10.0]))
        array([30., 50.])
        """
        copper = self.electrical + self.electrical_m * length_m
        glass = self.optical + self.optical_m * length_m
        price: Floats = np.minimum(copper, glass) * bandwidth_Bps * 8 / 1e9
        return price


class Prices(Kind, family="price list"):
    """Base class of price lists."""

    def tariff(self) -> Tariff:
        """Return the prices."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """The kind with currency and year, such as besta-2014 (USD of 2014)."""
        tariff = self.tariff()
        return f"{self.kind} ({tariff.currency} of {tariff.year})"

    def others(self) -> dict[str, "Prices"]:
        """Return the other price lists that need no file, by kind."""
        return {
            name: Prices.model_validate({"kind": name})
            for name, kind in Prices.FAMILY.members.items()
            if name != self.kind and not any(field.is_required() for field in kind.model_fields.values())
        }
