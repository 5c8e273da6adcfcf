"""Hops along one dimension of express meshes."""

from typing import Annotated

from pydantic import Field

from fabricstudy.analysis.base import IN_ORDER, Analysis, Row
from fabricstudy.core.model import Whole
from fabricstudy.machine.dimension import Dimension


def _facts(length: int, gap: int) -> Row:
    line = Dimension(length, gap=gap)
    hops = line.hops()
    diameter, links = int(hops.max()), line.ports
    return {
        "length": length, "gap": gap, "diameter": diameter, "over_gap": diameter - gap,
        "mean_hops": float(hops.sum() / (length * (length - 1))), "links": links,
        "over_rule": links - (2 + (length - 3) // gap),
    }  # fmt: skip


_Length = Annotated[Whole, Field(ge=2, le=200)]
Gap = Annotated[Whole, Field(ge=1, le=100)]


class ExpressLines(Analysis, kind="express-lines"):
    """Hops and links along one dimension of express meshes; hops add up over the dimensions (Jain et al., 2017).

    Gaps that add no link to a line are left out. The columns:

    * `length`, `gap`: routers along the dimension, and g
    * `diameter`; `over_gap`: `diameter` less the g hops that suffice according to the source
    * `mean_hops`: between distinct routers
    * `links`: most links of a router; `over_rule`: `links` less 2 + (length - 3) / g, rounded down
    """

    keys = ("length", "gap")
    numbers = ("length", "gap", "diameter", "over_gap", "mean_hops", "links", "over_rule")

    lengths: Annotated[tuple[_Length, _Length], IN_ORDER] = Field(
        description="least and largest number of routers along the dimension"
    )
    gaps: Annotated[tuple[Gap, Gap], IN_ORDER] = Field(description="least and largest gap")

    def rows(self) -> list[Row]:
        return [
            _facts(length, gap)
            for gap in range(self.gaps[0], self.gaps[1] + 1)
            for length in range(self.lengths[0], self.lengths[1] + 1)
            if gap <= length - 2
        ]
