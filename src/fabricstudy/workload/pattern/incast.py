"""Incast."""

from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register

from .collective import Collective, CollectivePart, reverse_steps, scattered


@register
class Incast(Collective):
    """All other ranks send one message to the root at the same time, over one link (Phanishayee et al., FAST 2008)."""

    kind: Literal["incast"] = "incast"

    def parts(self, ranks: int) -> list[CollectivePart]:
        return [reverse_steps(scattered(np.full(ranks, self.message_bytes), "linear"))]
