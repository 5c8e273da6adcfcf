"""What a detour leads through: a router or a group drawn at random, as far as an engine can choose."""

from typing import Literal

from fabricstudy.routing.base import NonMinimalRouting, Routing

from .contract import Unsupported

Via = Literal["router", "group"]


def via(routing: Routing) -> Via | None:
    """Give what detours lead through; None for a routing without any."""
    return routing.via if isinstance(routing, NonMinimalRouting) else None


def check_via(routing: Routing, can: Via, where: str) -> None:
    """Refuse a routing whose detours lead through what an engine cannot have.

    Parameters
    ----------
    can : {"router", "group"}
        What the engine's detours lead through.
    where : str
        Engine and model, for the message.

    Raises
    ------
    Unsupported
        If the study says otherwise.
    """
    if via(routing) not in (None, can):
        raise Unsupported(
            f"{where}, a detour leads through a {can} drawn at random; set routing.via: {can}, or take another engine"
        )
