"""The entries of a forwarding table."""

from typing import NamedTuple


class ForwardingEntry(NamedTuple):
    """Packets at `router` for `destination` go on to the router `onward`, or through the `port`.

    `to_router`: the destination is a router, which stands for all its nodes; `known`: the machine must have it.
    """

    router: str
    destination: str
    next_router: str | None
    port: int | None
    where: str
    to_router: bool = False
    known: bool = True
