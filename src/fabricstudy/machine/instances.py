"""Published machines by name, written as a study would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Instance:
    """A published machine.

    Parameters
    ----------
    description : dict
        What a study would say about it.
    about : str
        One line, with the source.
    """

    description: dict[str, Any]
    about: str


def _bluegene(kind: str, midplanes: list[int], about: str) -> Instance:
    return Instance({"kind": kind, "midplanes": midplanes}, about)


def _table_1(description: dict[str, Any], about: str) -> Instance:
    """One of the five systems of Jain et al., whose nodes run four ranks; their links have 10 GB/s."""
    common = {"cores_per_node": 4, "bandwidth": "10 GB/s"}
    return Instance(description | common, f"{about} (Jain et al., IPDPS 2017, Table I)")


_DRAGONFLY = {"kind": "dragonfly", "groups": 106, "routers_per_group": 15, "nodes_per_router": 7}

INSTANCES: dict[str, Instance] = {
    "mira": _bluegene("bluegene-q", [4, 4, 3, 2], "Argonne, 49,152 nodes"),
    "juqueen": _bluegene("bluegene-q", [7, 2, 2, 2], "Jülich, 28,672 nodes"),
    "juqueen-48": _bluegene("bluegene-q", [4, 3, 2, 2], "hypothetical, of 48 midplanes (Oltchik and Schwartz)"),
    "juqueen-54": _bluegene("bluegene-q", [3, 3, 3, 2], "hypothetical, of 54 midplanes (Oltchik and Schwartz)"),
    "sequoia": _bluegene("bluegene-q", [4, 4, 4, 3], "Livermore, 98,304 nodes"),
    "intrepid": _bluegene("bluegene-p", [5, 4, 4], "Argonne, 40,960 nodes (Desai et al.)"),
    "dragonfly-11k": _table_1(_DRAGONFLY, "11,130 nodes on 106 groups of 15 routers"),
    "fat-tree-11k": _table_1(
        {"kind": "fat-tree", "radix": 44, "pods": 22, "core_cables": 2},
        "10,648 nodes in 22 of 44 possible pods; 242 core routers with all ports used",
    ),
    "slim-fly-11k": _table_1({"kind": "slim-fly", "q": 19, "nodes_per_router": 15}, "10,830 nodes"),
    "express-mesh-11k-g1": _table_1(
        {"kind": "express-mesh", "shape": [12, 10, 10], "gap": 1, "nodes_per_router": 9}, "10,800 nodes"
    ),
    "express-mesh-11k-g2": _table_1(
        {"kind": "express-mesh", "shape": [14, 12, 12], "gap": 2, "nodes_per_router": 5}, "10,080 nodes"
    ),
}
