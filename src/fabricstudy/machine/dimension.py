"""The machine as arrays: routers, nodes, cables and link classes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    """One dimension of a grid of routers: which routers with the other coordinates equal are joined.

    Parameters
    ----------
    length : int
        Routers along it.
    wrap : bool
        Whether its neighbours form a ring; otherwise a line.
    gap : int, optional
        Express links: coordinate l is joined to l +- 1 and to l +- (1 + m * gap), m >= 1; so 1 joins all pairs.
    """

    length: int
    wrap: bool = False
    gap: int | None = None
