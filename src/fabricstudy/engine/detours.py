"""Routings that an engine has, and what a detour leads through: a router or a group drawn at random."""

from collections.abc import Mapping
from typing import Literal

from fabricstudy.core.kinds import kind_of
from fabricstudy.routing.base import NonMinimalRouting, Routing
from fabricstudy.routing.valiant import Valiant, ValiantThroughOtherGroups

from .failures import Unsupported

Via = Literal["router", "group"]


def routing_name(routing: Routing, names: Mapping[type[Routing], str], model: str) -> str:
    """Return a simulator's name of a routing; raise `Unsupported` if its model does not have it."""
    if type(routing) not in names:
        raise Unsupported(f"{model} does not support {routing.kind} routing; use {', '.join(map(kind_of, names))}")
    return names[type(routing)]


def via(routing: Routing) -> Via | None:
    """Return what detours lead through; None for a routing without any."""
    return routing.via if isinstance(routing, NonMinimalRouting) else None


def check_via(routing: Routing, supported: Via, where: str) -> None:
    """Raise `Unsupported` for detours through anything else than the engine's; `where` is for the message."""
    if via(routing) not in (None, supported):
        raise Unsupported(
            f"{where}, a detour leads through a {supported} drawn at random; set routing.via: {supported}, or use "
            "another engine"
        )


def through_other_groups(routing: Routing) -> Routing:
    """Return the routing by which SST and CODES route on dragonflies: Valiant avoids the groups of both ends."""
    if isinstance(routing, Valiant) and routing.via == "group":
        return ValiantThroughOtherGroups(via="group")
    return routing
