"""What a study may say about analyses that need no simulation; `fabricstudy.analyse.named` makes their rows."""

from __future__ import annotations

from typing import Annotated

from ..base import ByKind, kind_of, members_of
from .base import Analysis
from .caps import Caps, CapsRun
from .deadlock import Deadlock
from .design import Design, DragonflyFamily, ExpressMeshFamily, FatTreeFamily, SlimFlyFamily
from .express_lines import ExpressLines
from .isoperimetry import Family, Isoperimetry
from .partitions import PRODUCTION, Partitions
from .topologies import Topologies

__all__ = [
    "PRODUCTION",
    "Analysis",
    "AnalysisConfig",
    "Caps",
    "CapsRun",
    "Deadlock",
    "Design",
    "DragonflyFamily",
    "ExpressLines",
    "ExpressMeshFamily",
    "Family",
    "FatTreeFamily",
    "Isoperimetry",
    "Partitions",
    "SlimFlyFamily",
    "Topologies",
    "keys_of",
]

# One entry a kind.
AnalysisConfig = Annotated[Partitions | Isoperimetry | Design | Caps | Topologies | ExpressLines | Deadlock, ByKind()]


def keys_of(kind: str) -> tuple[str, ...]:
    """Give the columns that tell the rows of a kind of analysis apart.

    Examples
    --------
    >>> keys_of("partitions")
    ('machine', 'blocks', 'choice')
    """
    kinds = (member for member in members_of(AnalysisConfig) if issubclass(member, Analysis))
    return next(member.keys for member in kinds if kind_of(member) == kind)
