"""Cables that are slower than their peers, such as one that came up at a lower speed."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fabricstudy.core.phrasing import count_noun
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.levels import levels
from fabricstudy.machine.named import NamedMachine


def slow_rows(machine: Machine) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the rows of cables that are slower than most of their peers, slowest first, and the peers' bandwidth.

    The peers of a cable join the same two levels of a tree, or the same two routers of any other machine. If two
    bandwidths are equally frequent, the higher one counts.
    """
    level = levels(machine)
    side = np.arange(machine.routers) if level is None else level
    ends = np.sort(np.stack([side[machine.cable_tail], side[machine.cable_head]], axis=1), axis=1)
    peers = np.unique(ends, axis=0, return_inverse=True)[1].reshape(-1)
    of_row_Bps = np.array([link.bandwidth_Bps for link in machine.classes])[machine.cable_class]
    speeds_Bps, speed = np.unique(-of_row_Bps, return_inverse=True)
    cables = np.zeros((peers.max(initial=-1) + 1, len(speeds_Bps)))
    np.add.at(cables, (peers, speed), machine.cable_count)
    usual_Bps = -speeds_Bps[cables.argmax(axis=1)][peers]
    slow = np.flatnonzero(of_row_Bps < usual_Bps)
    slow = slow[np.argsort(of_row_Bps[slow], kind="stable")]
    return slow, usual_Bps[slow]


def slow_cables(machine: Machine) -> list[dict[str, Any]]:
    """Return a record for each row of slow cables: its routers, class, cables and bandwidth, and that of its peers."""
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
    """Return how many cables are slower than most of their peers, or nothing."""
    count = int(machine.cable_count[slow_rows(machine)[0]].sum())
    return f"{count_noun(count, 'cable')} slower than {'its' if count == 1 else 'their'} peers" if count else ""
