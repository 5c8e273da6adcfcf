"""The first free nodes, in order of node number or nearly so."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fabricstudy.kinds import register

from .base import Allocation
from .request import Grant, Request


@register
class Cluster(Allocation):
    """The first free nodes in order of node number."""

    kind: Literal["cluster"] = "cluster"

    def allocate(self, request: Request) -> Grant:
        """Take the first free nodes in order of node number."""
        return Grant(np.flatnonzero(request.free)[: request.wanted])
