"""From all ranks to one."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.quantities import Size

from .collective import Collective, Part, backwards, star, tree_down


@register
class Gather(Collective):
    """Each rank's block of `message` bytes reaches the root.

    ``linear``: all at once, straight to it. ``binomial``: up a binomial tree, whose inner ranks hand on what they got,
    as MPICH does (Thakur, Rabenseifner and Gropp 2005).
    """

    kind: Literal["gather"] = "gather"
    message_bytes: Size = Field(alias="message", description="block of each rank")
    algorithm: Literal["linear", "binomial"] = Field(
        "binomial", description="linear (straight to the root) or binomial (up a tree)"
    )

    def parts(self, ranks: int) -> list[Part]:
        size_bytes = int(self.message_bytes)
        if self.algorithm == "linear":
            return [[star(ranks, size_bytes)]]
        return [backwards(tree_down(np.arange(ranks + 1) * size_bytes))]
