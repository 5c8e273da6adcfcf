"""An allocation that no job of the study has."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register
from fabricstudy.workload.allocation.base import Allocation, Grant, Request


@register
class FromTheEnd(Allocation):
    """The free nodes of the highest numbers."""

    kind: Literal["from-the-end"] = "from-the-end"

    def allocate(self, request: Request) -> Grant:
        """Take the last free nodes."""
        return Grant(np.flatnonzero(request.free)[::-1][: request.wanted])
