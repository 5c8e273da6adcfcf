"""All to one at once."""

from typing import Literal

from fabricstudy.core.kinds import register

from .collective import Collective, Part, backwards, scattered


@register
class Incast(Collective):
    """Every other rank sends the root one message, all at once, into one link (Phanishayee et al., FAST 2008)."""

    kind: Literal["incast"] = "incast"

    def parts(self, ranks: int) -> list[Part]:
        return [backwards(scattered(ranks, int(self.message_bytes), "linear"))]
