"""Prices of the MixNet project, of Ethernet of 100 to 800 Gb/s in 2025.

The project's calculator of costs lists transceivers, ports of electrical switches and metres of fibre by bandwidth. It
says that the numbers are those of the paper; they were not checked against it. A cable is a fibre with a transceiver at
each end. It lists neither copper cables nor power, and no price of a switch apart from its ports.

References
----------
Networking cost calculator of the MixNet project: github.com/mixnet-project/mixnet-project.github.io, file
src/components/CostTable.vue, commit 30221007. For: Liao et al.: MixNet: a runtime reconfigurable optical-electrical
fabric for distributed mixture-of-experts training. SIGCOMM 2025, doi:10.1145/3718958.3750465.
"""

from math import inf, nan
from typing import Literal

from pydantic import Field

from .base import Prices, Tariff

PORT, TRANSCEIVER = {100: 187, 200: 374, 400: 1090, 800: 1400}, {100: 99, 200: 239, 400: 659, 800: 1399}
"""Prices in USD by bandwidth in Gb/s."""
FIBRE_M = 0.3
"""Price of a metre in USD, whatever its bandwidth."""


class Mixnet2025(Prices, kind="mixnet-2025"):
    """Prices of Ethernet in 2025, from the cost calculator of the MixNet project.

    A switch port costs 187, 374, 1090 or 1400 USD at 100, 200, 400 or 800 Gb/s, a transceiver 99, 239, 659 or 1399; a
    cable of x m is two transceivers and 0.3 x USD of fibre. Not in the source, and so not in this list: copper cables,
    so that short cables are optical, too; and power. Cables of other bandwidths are priced by the Gb/s. The numbers
    were not checked against the paper of the project.
    """

    port_Gbps: Literal[100, 200, 400, 800] = Field(200, description="bandwidth of a port, in Gb/s")

    def tariff(self) -> Tariff:
        return Tariff(
            currency="USD",
            year=2025,
            router=0.0,
            port=PORT[self.port_Gbps],
            port_W=nan,
            electrical=inf,
            electrical_m=0.0,
            optical=2 * TRANSCEIVER[self.port_Gbps] / self.port_Gbps,
            optical_m=FIBRE_M / self.port_Gbps,
        )
