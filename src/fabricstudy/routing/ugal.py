"""UGAL: per packet minimal or Valiant, whichever has the lower product of queue and hops at the source.

With the best of the minimal outputs and the best of the detours drawn, each with its queue q (bytes at the output and
at the other end of its link), the packet's own bytes p and hops h, a packet is minimal if
``(q + p) h <= bias (q' + p) h' + threshold``, where q' and h' are the detour's (UGAL-L; Singh: Load-balanced routing in
interconnection networks, thesis, Stanford, 2005; Dally and Towles: Principles and Practices of Interconnection
Networks, 2004). Kim et al. (ISCA 2008) draw one detour, Cray's Aries compares two minimal paths with two detours and
has a bias (Faanes et al.: Cray Cascade, SC 2012, doi:10.1109/SC.2012.39).

Valiant draws the first and last router, too, and is minimal then; so UGAL may take the links that Valiant may.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabricstudy.core.arrays import Bools
from fabricstudy.core.model import Flag, Number, Whole
from fabricstudy.core.quantities import Size
from fabricstudy.machine.graph import Machine

from .base import Flows, NonMinimalRouting, Routes
from .valiant import valiant_routes


class UgalRoutes(Routes):
    """UGAL's routes on any machine."""

    def __init__(self, machine: Machine, routing: Ugal) -> None:
        super().__init__(machine)
        self._valiant = valiant_routes(machine, routing)

    def support(self, flows: Flows) -> Bools:
        return self._valiant.support(flows)


class Ugal(NonMinimalRouting, kind="ugal"):
    """Minimal or Valiant per packet, whichever has the lower product of queue and hops at the source (Singh 2005)."""

    detours: Whole = Field(
        1,
        ge=1,
        le=64,
        description="random intermediates per packet, of which the best one is compared; packet and CAMINOS only",
    )
    bias: Annotated[Number, Field(ge=0, le=1e6)] = Field(
        1.0,
        description="factor of the detour's product of queue and hops; above 1 favours minimal; packet and CAMINOS "
        "only",
    )
    progressive: Flag = Field(
        True,
        description="on machines with groups, a packet that is still minimal decides again at each router of its first "
        "group (Jiang, Kim and Dally, ISCA 2009); packet and CAMINOS only",
    )
    threshold_bytes: Size | None = Field(
        None,
        alias="threshold",
        description="bytes added to the detour's product of queue and hops, default 0; packet and CAMINOS only",
    )

    @property
    def has_parameters(self) -> bool:
        """True if a parameter differs from its default."""
        return (self.detours, self.bias, self.progressive, self.threshold_bytes) != (1, 1.0, True, None)

    def routes(self, machine: Machine) -> Routes:
        return UgalRoutes(machine, self)
