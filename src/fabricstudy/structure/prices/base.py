"""What every price list gives."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import Family, Kind

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tariff:
    """Prices, in one currency of one year.

    A router of k ports costs `router` + k `port` and takes k `port_W`. A cable of x metres costs `electrical` +
    x `electrical_m`, or `optical` + x `optical_m`, for each Gb/s of one direction, whichever is less.
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

    def routers(self, ports: Floats) -> Floats:
        """Prices of routers with so many ports.

        Raises FabricstudyError if one is below 0, as that of a line fitted to larger ones may be.
        """
        price = self.router + self.port * ports
        if np.any(price < 0):
            few = f"routers of {ports[np.argmin(price)]:g} ports would cost less than nothing by this price list"
            raise FabricstudyError(f"{few}; say how many they are bought with, such as radix: 64")
        return price

    def cables(self, bandwidth_Bps: Floats, length_m: Floats) -> Floats:
        """Prices of single cables; the arrays are broadcast against each other.

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


class Prices(Kind):
    """What every price list has."""

    FAMILY: ClassVar[Family] = Family("price list")

    def tariff(self) -> Tariff:
        """Return its prices."""
        raise NotImplementedError
