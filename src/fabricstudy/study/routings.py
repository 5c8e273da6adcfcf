"""What a study may say about routing; engines translate the names, `fabricstudy.analyse` computes loads."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from .base import ByKind, Model


class Routing(Model):
    """What every routing has."""

    # What a machine must have for it: see `traits` of the machines.
    needs: ClassVar[str | None] = None


class Minimal(Routing):
    """Shortest paths; on a dragonfly at most one global hop. Ties are split equally hop by hop."""

    kind: Literal["minimal"] = "minimal"


class DimensionOrder(Routing):
    """One dimension after the other, the first one first; never past the destination (Dally and Seitz 1987).

    On a ring the shorter way round. Express links are taken while they do not pass the destination, longest first.
    """

    needs: ClassVar[str | None] = "dimensions"

    kind: Literal["dimension-order"] = "dimension-order"
    tie: Literal["split", "positive", "alternate"] = Field(
        "split",
        description="half-way round a ring: both ways equally, always up, or up from even coordinates only",
    )


class DModK(Routing):
    """Up a fat tree by the digits of the destination node's number, then straight down (Zahavi 2012)."""

    needs: ClassVar[str | None] = "levels"

    kind: Literal["d-mod-k"] = "d-mod-k"


class Adaptive(Routing):
    """Per packet and hop, of the links that shortest paths take the one with the most room.

    In a grid: of the links that dimension order would take in any unfinished dimension.
    """

    kind: Literal["adaptive"] = "adaptive"


class Valiant(Routing):
    """Minimal to a router drawn at random for each packet, then minimal to the destination (Valiant 1982)."""

    kind: Literal["valiant"] = "valiant"


class Ugal(Routing):
    """Per packet minimal or Valiant, whichever queue is shorter at the source (Singh 2005, UGAL-L)."""

    kind: Literal["ugal"] = "ugal"


RoutingConfig = Annotated[Minimal | DimensionOrder | DModK | Adaptive | Valiant | Ugal, ByKind()]
