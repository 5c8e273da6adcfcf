"""Cray XE6 and XK7: a torus of Gemini routers with two nodes each, whose cables differ also within a dimension.

A router has 40 links of three lanes: eight each way along x and z, four along y, so they count as one cable here. A
lane runs at 3.125 Gb/s on a cable, 5 Gb/s on the backplane of a chassis, and 6.25 Gb/s on the mezzanine of a blade. A
blade has two routers, which are neighbours along y; the eight blades of a chassis, and the three chassis of a cabinet,
are along z. A node sends 64 bytes every five cycles of 650 MHz.

References
----------
Alverson, Roweth, Kaplan: The Gemini system interconnect. HOTI 2010, doi:10.1109/HOTI.2010.23.
van der Steen: Overview of recent supercomputers. 2010, www.euroben.nl/reports/web10/xe6.php.
Ezell: Network contention and congestion control: Lustre fine-grained routing. Oak Ridge 2015,
wiki.lustre.org/images/3/3f/CongestionControl.pdf.
"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from .dimension import Dimension
from .graph import Machine
from .grid import GridBandwidths, GridConfig, Length, rings

BLADE, CHASSIS = 2, 8
"""Routers of a blade, along y, and of a chassis, along z."""


class GeminiConfig(GridConfig, kind="gemini"):
    """Gemini torus: the torus of a Cray XE6 or XK7, with faster links in blades and chassis (Alverson et al., 2010)."""

    shape: Annotated[tuple[Length, ...], Field(min_length=3, max_length=3)] = Field(
        description="routers along x, y and z; along y two to a blade, along z eight to a chassis"
    )
    nodes_per_router: Literal[2] = Field(2, description="a router joins two nodes")
    bandwidth: GridBandwidths = Field(
        default_factory=lambda: GridBandwidths.model_validate(
            {"links": ["9.375 GB/s", "4.6875 GB/s", "9.375 GB/s", "9.375 GB/s", "15 GB/s"], "host": "8.3 GB/s"}
        ),
        description="bandwidth of a link in one direction: one value, or those of cables along x, y and z (9.375, "
        "4.6875 and 9.375 GB/s), the mezzanine of a blade (9.375 GB/s) and the backplane of a chassis (15 GB/s); host "
        "links 8.3 GB/s",
    )

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return rings(self.shape, (True,))

    @property
    def class_names(self) -> tuple[str, ...]:
        return ("x", "y", "z", "mezzanine", "backplane")

    def build(self) -> Machine:
        """Build a torus with the link classes "x", "y" and "z" of cables, then "mezzanine" and "backplane"."""
        machine = super().build()
        assert machine.coordinates is not None
        low, high = machine.coordinates[machine.cable_tail], machine.coordinates[machine.cable_head]
        along = machine.cable_class
        in_blade = (along == 1) & (low[:, 1] // BLADE == high[:, 1] // BLADE)
        in_chassis = (along == 2) & (low[:, 2] // CHASSIS == high[:, 2] // CHASSIS)
        return replace(machine, cable_class=np.select([in_blade, in_chassis], [3, 4], along).astype(np.int32))
