"""UGAL: per packet minimal or Valiant, whichever queue is shorter at the source (Singh: thesis, Stanford, 2005).

Valiant draws the first and last router, too, and is minimal then; so UGAL may take the links that Valiant may.
"""

from __future__ import annotations

from typing import Literal

from fabricstudy.kinds import register
from fabricstudy.machine.graph import Machine

from .base import Bools, Detour, Flows, Routes
from .valiant import valiant_routes


class UgalRoutes(Routes):
    """UGAL's routes on any machine."""

    kind = "ugal"

    def __init__(self, machine: Machine, routing: Ugal | None = None) -> None:
        super().__init__(machine)
        self._valiant = valiant_routes(machine, routing)

    def support(self, flows: Flows) -> Bools:
        """Give the links of Valiant's routes."""
        return self._valiant.support(flows)


@register
class Ugal(Detour):
    """Per packet minimal or Valiant, whichever queue is shorter at the source (Singh 2005, UGAL-L)."""

    kind: Literal["ugal"] = "ugal"

    def routes(self, machine: Machine) -> Routes:
        """Give the routes on a machine."""
        return UgalRoutes(machine, self)
