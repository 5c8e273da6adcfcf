"""What a row of a forwarding table says."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Packets at `router` for `destination` go on to the router `onward`, or through the `port`.

    `to_router` says that the destination is a router, which stands for all its nodes; `known` that it has to be there.
    """

    router: str
    destination: str
    onward: str | None
    port: int | None
    where: str
    to_router: bool = False
    known: bool = True
