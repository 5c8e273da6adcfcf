"""Incast."""

import numpy as np

from .collective import Collective, CollectivePart, reverse_steps, scattered


class Incast(Collective, kind="incast"):
    """All other ranks send one message to the root at the same time, over one link (Phanishayee et al., FAST 2008)."""

    def parts(self, ranks: int) -> list[CollectivePart]:
        return [reverse_steps(scattered(np.full(ranks, self.message_bytes), "linear"))]
