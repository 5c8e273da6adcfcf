"""An allocation that no job of the study has."""

from __future__ import annotations

import numpy as np

from fabricstudy.workload.allocation.base import Allocation, Grant, Request


class FromTheEnd(Allocation, kind="from-the-end"):
    """The free nodes of the highest numbers."""

    def allocate(self, request: Request) -> Grant:
        """Take the last free nodes."""
        return Grant(np.flatnonzero(request.free)[::-1][: request.wanted])
