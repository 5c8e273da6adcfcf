"""Cables that are slower than their peers, such as those with a degraded link speed."""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.phrasing import count_noun
from fabricstudy.machine.distances import levels
from fabricstudy.machine.graph import Machine, NamedMachine


def slow_rows(machine: Machine) -> tuple[Ints, Floats]:
    """Return the rows of cables below the most frequent bandwidth of their peers, slowest first, and that bandwidth.

    Peers join the same two levels of a tree, or the same two routers of any other machine; on rails they are of the
    same class. Ties are resolved in favour of the higher bandwidth.
    """
    if not machine.cables:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    level = levels(machine)
    side = np.arange(machine.routers) if level is None else level
    ends = np.sort(np.stack([side[machine.cable_tail], side[machine.cable_head]], axis=1), axis=1)
    if machine.router_in_node:
        designed = np.unique([link.name.removesuffix("-degraded") for link in machine.classes], return_inverse=True)[1]
        ends = designed[machine.cable_class][:, None]
    peers = np.unique(ends, axis=0, return_inverse=True)[1].reshape(-1)
    row_Bps = np.array([link.bandwidth_Bps for link in machine.classes])[machine.cable_class]
    speeds_Bps, speed = np.unique(-row_Bps, return_inverse=True)
    cables = np.zeros((peers.max(initial=-1) + 1, len(speeds_Bps)))
    np.add.at(cables, (peers, speed), machine.cable_count)
    usual_Bps = -speeds_Bps[cables.argmax(axis=1)][peers]
    slow = np.flatnonzero(row_Bps < usual_Bps)
    slow = slow[np.argsort(row_Bps[slow], kind="stable")]
    return slow, usual_Bps[slow]


def slow_cables(machine: Machine) -> list[dict[str, Any]]:
    """Return routers, class, cables, bandwidth, and peers' bandwidth of each row of slow cables."""
    names = machine.router_names if isinstance(machine, NamedMachine) else range(machine.routers)
    return [
        {
            "routers": [names[machine.cable_tail[row]], names[machine.cable_head[row]]],
            "class": (link := machine.classes[machine.cable_class[row]]).name,
            "cables": int(machine.cable_count[row]),
            "bandwidth_Bps": link.bandwidth_Bps,
            "usual_bandwidth_Bps": float(usual_Bps),
        }
        for row, usual_Bps in zip(*slow_rows(machine), strict=True)
    ]


def slow_cables_in_words(machine: Machine) -> str:
    """Return the number of slow cables as a phrase, or ""."""
    count = int(machine.cable_count[slow_rows(machine)[0]].sum())
    return f"{count_noun(count, 'cable')} slower than {'its' if count == 1 else 'their'} peers" if count else ""
