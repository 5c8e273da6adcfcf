"""Entries of forwarding tables."""

from typing import NamedTuple


class ForwardingEntry(NamedTuple):
    """Packets at `router` for `destination` go to `next_router`, or through `port`.

    `to_router`: the destination is a router, for all its nodes; `known`: the machine must have the destination.
    """

    router: str
    destination: str
    next_router: str | None
    port: int | None
    where: str
    to_router: bool = False
    known: bool = True
