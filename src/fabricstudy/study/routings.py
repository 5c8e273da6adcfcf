"""What a study may say about routing; engines translate the names, `fabricstudy.analyse` computes loads."""

from __future__ import annotations

from typing import Annotated, Literal

from .base import ByKind, Model


class Minimal(Model):
    """Shortest paths; on a dragonfly at most one global hop. Ties are split equally hop by hop."""

    kind: Literal["minimal"] = "minimal"


class Valiant(Model):
    """Minimal to a router drawn at random for each packet, then minimal to the destination (Valiant 1982)."""

    kind: Literal["valiant"] = "valiant"


class Ugal(Model):
    """Per packet minimal or Valiant, whichever queue is shorter at the source (Singh 2005, UGAL-L)."""

    kind: Literal["ugal"] = "ugal"


RoutingConfig = Annotated[Minimal | Valiant | Ugal, ByKind()]
