"""Prices of Besta and Hoefler, of InfiniBand FDR10 in 2014.

They fitted lines to list prices of Mellanox: a router of k ports for 350.4 k - 892.3 USD; a cable of x metres for
0.4079 x + 0.5771 USD for each Gb/s if it is electrical, and 0.0919 x + 2.7452 if it is optical. A port has four lanes,
each with a serialiser of about 0.7 W. The numbers were not checked against the source.

References
----------
Besta, Hoefler: Slim Fly: a cost effective low-diameter network topology. SC 2014, doi:10.1109/SC.2014.34, section VI.
"""

from .base import Prices, Tariff

TARIFF = Tariff(
    currency="USD",
    year=2014,
    router=-892.3,
    port=350.4,
    port_W=4 * 0.7,
    electrical=0.5771,
    electrical_m=0.4079,
    optical=2.7452,
    optical_m=0.0919,
)


class Besta2014(Prices, kind="besta-2014"):
    """List prices of InfiniBand FDR10 in 2014: linear fits of Besta and Hoefler (SC 2014, section VI).

    Routers of k ports: 350.4 k - 892.3 USD, and 2.8 W a port; cables of x m: 0.4079 x + 0.5771 USD for each Gb/s, or
    0.0919 x + 2.7452 if optical. Routers are priced at 40 Gb/s per port, whatever the machine's bandwidth. The numbers
    were not checked against the source.
    """

    def tariff(self) -> Tariff:
        return TARIFF
