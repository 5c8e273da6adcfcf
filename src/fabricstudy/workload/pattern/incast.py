"""All to one at once."""

from typing import Literal

from fabricstudy.core.kinds import register

from .collective import Collective, CollectivePart, reverse_steps, scattered


@register
class Incast(Collective):
    """Every other rank sends the root one message, all at once, into one link (Phanishayee et al., FAST 2008)."""

    kind: Literal["incast"] = "incast"

    def parts(self, ranks: int) -> list[CollectivePart]:
        return [reverse_steps(scattered(ranks, int(self.message_bytes), "linear"))]
