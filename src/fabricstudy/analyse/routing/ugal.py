"""UGAL: per packet minimal or Valiant, whichever queue is shorter at the source (Singh: thesis, Stanford, 2005).

Valiant draws the first and last router, too, and is minimal then; so UGAL may take the links that Valiant may.
"""

from __future__ import annotations

from ...machine import Machine
from ...study import Ugal
from .base import Bools, Flows, Routes
from .valiant import ValiantRoutes


class UgalRoutes(Routes):
    """UGAL's routes on any machine."""

    kind = "ugal"

    def __init__(self, machine: Machine, _: Ugal | None = None) -> None:
        super().__init__(machine)
        self._valiant = ValiantRoutes(machine)

    def support(self, flows: Flows) -> Bools:
        """Give the links of Valiant's routes."""
        return self._valiant.support(flows)
