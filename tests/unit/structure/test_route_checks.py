"""Routes of an extension that are none: each use of them refuses them with the same error, and none runs for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fabricstudy.routing.base import (
    Flows,
    MemorylessRoutes,
    NextHops,
    ObliviousMemorylessRoutes,
    RouteError,
    Routing,
    cached_routes,
)  # fmt: skip
from fabricstudy.routing.listed import PathRoutes, hop_list
from fabricstudy.routing.minimal import MinimalRoutes
from fabricstudy.structure.deadlock import channel_dependencies
from fabricstudy.study.file import validate_machine

MACHINE = validate_machine({"kind": "torus", "shape": [8], "bandwidth": "1 GB/s"}).build()
FLOWS = Flows(np.arange(8), (np.arange(8) + 3) % 8, np.full(8, 5.0))

Change = Callable[[NextHops, Any, Any], Any]


def twice(hops: NextHops, at: Any, goal: Any) -> NextHops:
    both = NextHops(*(np.concatenate([part, part]) for part in hops[:3]))
    return both._replace(share=np.concatenate([2 * hops.share, -hops.share]))


WRONG: dict[str, Change] = {
    "half": lambda hops, at, goal: hops._replace(share=hops.share / 2),
    "twice": lambda hops, at, goal: hops._replace(share=hops.share * 2),
    "none at all": lambda hops, at, goal: hops._replace(share=hops.share * 0),
    "not a number": lambda hops, at, goal: hops._replace(share=hops.share * np.nan),
    "infinite": lambda hops, at, goal: hops._replace(share=hops.share * np.inf),
    "negative": twice,
    "no hops": lambda hops, at, goal: NextHops(hops.packet[:0], hops.link[:0], hops.share[:0]),
    "None": lambda hops, at, goal: None,
    "tuple": lambda hops, at, goal: tuple(hops),
    "lists": lambda hops, at, goal: NextHops(*map(list, hops[:3])),  # type: ignore[arg-type]
    "scalar": lambda hops, at, goal: hops._replace(share=1.0),  # type: ignore[arg-type]
    "shorter": lambda hops, at, goal: hops._replace(share=hops.share[:-1]),
    "table": lambda hops, at, goal: hops._replace(share=hops.share[:, None]),
    "link out of range": lambda hops, at, goal: hops._replace(link=hops.link + 10**6),
    "link below 0": lambda hops, at, goal: hops._replace(link=hops.link - 16),
    "link of float": lambda hops, at, goal: hops._replace(link=hops.link.astype(float)),
    "links as text": lambda hops, at, goal: hops._replace(link=hops.link.astype(str)),
    "packet out of range": lambda hops, at, goal: hops._replace(packet=hops.packet + len(at)),
    "link of another router": lambda hops, at, goal: hops._replace(link=(hops.link + 4) % 16),
    "channel too high": lambda hops, at, goal: hops._replace(channel=np.full(len(hops.link), 1000)),
    "channel below 0": lambda hops, at, goal: hops._replace(channel=np.full(len(hops.link), -1)),
    "channels too few": lambda hops, at, goal: hops._replace(channel=np.zeros(1, dtype=np.int64)),
    "beyond the goal": lambda hops, at, goal: next_around(at, goal, stop=False),
    "for ever": lambda hops, at, goal: back_and_forth(at, goal),
}


def next_around(at: Any, goal: Any, stop: bool = True) -> NextHops:
    """Go around the ring in one direction."""
    packet = np.flatnonzero(at != goal) if stop else np.arange(len(at))
    link = [np.flatnonzero((MACHINE.link_tail == r) & (MACHINE.link_head == (r + 1) % 8))[0] for r in at[packet]]
    return NextHops(packet, np.array(link, dtype=np.int64), np.ones(len(packet)))


def back_and_forth(at: Any, goal: Any) -> NextHops:
    """Half of the packets turn back at each hop, so that some never arrive and their parts double."""
    packet = np.repeat(np.flatnonzero(at != goal), 2)
    link = np.concatenate([np.flatnonzero(MACHINE.link_tail == router) for router in at[packet[::2]]] or [packet])
    return NextHops(packet, link.astype(np.int64), np.full(len(packet), 0.5))


def routes_with(change: Change, base: Any) -> MemorylessRoutes:
    class Wrong(base):  # type: ignore[misc]
        def next_hops(self, at: Any, goal: Any) -> Any:
            return change(MinimalRoutes(MACHINE).next_hops(at, goal), at, goal)

    return Wrong(MACHINE)


USES: dict[str, Callable[[Any], object]] = {
    "loads": lambda routes: routes.loads(FLOWS),
    "support": lambda routes: routes.support(FLOWS),
    "path_graph": lambda routes: routes.path_graph(FLOWS),
    "hop list": lambda routes: hop_list.__wrapped__(routes),
    "dependencies": lambda routes: channel_dependencies(MACHINE, Fixed(routes)),
}


class Fixed(Routing):
    """A routing with given routes."""

    kind: Any = "fixed"

    def __init__(self, routes: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_given", routes)

    def __hash__(self) -> int:
        return id(self)

    def routes(self, machine: Any) -> Any:
        return self._given  # type: ignore[attr-defined]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_next_hops_are_refused_by_each_use(wrong: str, use: str) -> None:
    if (wrong, use) == ("for ever", "support"):
        return  # the links that they may use are known
    with pytest.raises(RouteError) as caught:
        USES[use](routes_with(WRONG[wrong], ObliviousMemorylessRoutes))
    assert caught.value.code == "extension"


@pytest.mark.parametrize("use", [use for use in USES if use != "loads"])
@pytest.mark.parametrize("wrong", ["no hops", "None", "link of another router", "beyond the goal"])
def test_wrong_candidates_are_refused_by_each_use(wrong: str, use: str) -> None:
    with pytest.raises(RouteError):
        USES[use](routes_with(WRONG[wrong], MemorylessRoutes))


@pytest.mark.parametrize("use", USES)
def test_right_next_hops_are_taken(use: str) -> None:
    for change in (lambda hops, at, goal: hops, lambda hops, at, goal: next_around(at, goal)):
        USES[use](routes_with(change, ObliviousMemorylessRoutes))


def test_packets_that_are_merged_load_the_same_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minimal paths on a square mesh split at each hop; parts that meet again are one packet from there."""
    machine = validate_machine({"kind": "mesh", "shape": [6, 6], "bandwidth": "1 GB/s"}).build()

    class Again(ObliviousMemorylessRoutes):
        def next_hops(self, at: Any, goal: Any) -> NextHops:
            return MinimalRoutes(machine).next_hops(at, goal)

    flows = Flows(np.array([0, 7]), np.array([35, 28]), np.array([64.0, 3.0]))
    expected = MinimalRoutes(machine).loads(flows)
    assert Again(machine).loads(flows) == pytest.approx(expected)
    monkeypatch.setattr("fabricstudy.routing.base.PACKETS_AT_ONCE", 2)
    assert Again(machine).loads(flows) == pytest.approx(expected)


PATHS: dict[str, Any] = {
    "text as weight": [("a", [1, 2, 3])],
    "no weight": [[1, 2, 3]],
    "None": None,
    "number": 5,
    "path of None": [(1.0, None)],
    "fractions": [(1.0, [1.5, 2, 3])],
    "negative weight": [(-1.0, [1, 2, 3]), (2.0, [1, 2, 3])],
    "weight not a number": [(float("nan"), [1, 2, 3])],
    "infinite weight": [(float("inf"), [1, 2, 3])],
    "weight 0": [(0.0, [1, 2, 3])],
    "no paths": [],
    "empty path": [(1.0, [])],
    "elsewhere": [(1.0, [1, 2])],
    "no cable": [(1.0, [2, 3])],
    "router out of range": [(1.0, [9, 3])],
    "router below 0": [(1.0, [-7, 2, 3])],
}


@pytest.mark.parametrize("wrong", PATHS)
def test_wrong_paths_are_refused(wrong: str) -> None:
    class Wrong(PathRoutes):
        def paths(self, source: int, goal: int) -> Any:
            if (source, goal) == (0, 3):
                return PATHS[wrong]
            return [(1.0, [(source + hop) % 8 for hop in range(1, (goal - source) % 8 + 1)])]

    for use in ("loads", "support"):
        with pytest.raises(RouteError):
            USES[use](Wrong(MACHINE))


@pytest.mark.parametrize("given", [None, 5, MinimalRoutes])
def test_a_routing_without_routes_is_refused(given: Any) -> None:
    with pytest.raises(RouteError):
        cached_routes(MACHINE, Fixed(given))
