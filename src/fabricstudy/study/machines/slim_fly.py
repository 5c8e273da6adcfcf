"""Slim Fly."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..base import ConfigError, Whole
from .base import ClassBandwidths, ClassLatencies, NodesPerRouter, Topology


def prime_of(q: int) -> int | None:
    """Give the prime of which `q` is a power, or None if it is no prime power.

    Examples
    --------
    >>> prime_of(27), prime_of(19), prime_of(12), prime_of(1)
    (3, 19, None, None)
    """
    prime = next((number for number in range(2, q + 1) if q % number == 0), None)
    if prime is None:
        return None
    while q % prime == 0:
        q //= prime
    return prime if q == 1 else None


class SlimFlyConfig(Topology):
    """Slim Fly: graphs of diameter 2 with nearly as many routers as any can have (Besta and Hoefler, SC 2014).

    Two sides of q groups of q routers; a router is joined to half the routers of its group and to one of each group
    of the other side.
    """

    traits: ClassVar[frozenset[str]] = frozenset({"groups"})

    kind: Literal["slim-fly"] = "slim-fly"
    q: Whole = Field(ge=3, le=1_000, description="a prime power: 3, 4, 5, 7, 8, 9, 11, ...; there are 2 q^2 routers")
    nodes_per_router: NodesPerRouter
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: ClassLatencies = Field(
        default_factory=ClassLatencies, description="latency of a cable; one value or one a class"
    )

    @property
    def delta(self) -> int:
        """The integer -1, 0 or 1 for which q = 4 w + delta."""
        return (self.q + 1) % 4 - 1

    @property
    def degree(self) -> int:
        """Cables of a router to other routers."""
        return (3 * self.q - self.delta) // 2

    @property
    def routers(self) -> int:
        """Number of routers."""
        return 2 * self.q**2

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.routers * self.nodes_per_router

    @property
    def group_nodes(self) -> int:
        """Number of nodes of a group."""
        return self.q * self.nodes_per_router

    @property
    def cables(self) -> int:
        """Number of cables between routers."""
        return self.routers * self.degree // 2

    def _check(self) -> None:
        if prime_of(self.q) is None:
            near = ", ".join(map(str, sorted(_prime_powers_near(self.q))))
            raise ConfigError("q must be a prime power", f"take one of {near}", ("q",), self.q)


def _prime_powers_near(q: int) -> set[int]:
    """Give the next prime power below and above `q`."""
    below = next(number for number in range(q - 1, 2, -1) if prime_of(number))
    above = next(number for number in range(q + 1, 2 * q + 1) if prime_of(number))
    return {below, above}
