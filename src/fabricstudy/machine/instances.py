"""Published machines by name, as study-file keys."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Instance:
    """A published machine: its study-file keys, and a line about it with the source."""

    description: dict[str, Any]
    about: str


def _bluegene(kind: str, midplanes: list[int], about: str) -> Instance:
    return Instance({"kind": kind, "midplanes": midplanes}, about)


def _table_1(description: dict[str, Any], about: str) -> Instance:
    """Return one of the systems of Jain et al.: four ranks per node, links of 10 GB/s."""
    common = {"cores_per_node": 4, "bandwidth": "10 GB/s"}
    return Instance(description | common, f"{about} (Jain et al., IPDPS 2017, Table I)")


def _slingshot(groups: int, nodes: int, links: int, ports: int, cores: int, about: str) -> Instance:
    """Return a dragonfly of groups of 32 Slingshot-11 switches; links and node ports have 200 Gb/s each."""
    bandwidth = {"local": "25 GB/s", "global": "25 GB/s", "host": f"{25 * ports} GB/s"}
    sizes = {"groups": groups, "routers_per_group": 32, "nodes_per_router": nodes, "links_per_group_pair": links}
    return Instance({"kind": "dragonfly", **sizes, "cores_per_node": cores, "bandwidth": bandwidth}, about)


_DRAGONFLY = {"kind": "dragonfly", "groups": 106, "routers_per_group": 15, "nodes_per_router": 7}

# A node with several ports has all of them on one router here; on the real machines they are on several.
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
    "frontier": _slingshot(
        74, 4, 4, 4, 64,
        "Oak Ridge, 74 groups of 128 nodes (9,472, of which 9,408 are installed) with 4 global links between each two "
        "(Atchley et al., SC 2023, doi:10.1145/3581784.3607089)",
    ),
    "aurora": _slingshot(
        166, 2, 2, 8, 104,
        "Argonne, 166 groups of 64 nodes (10,624; Ibeid et al. 2025, arXiv:2512.04291); 2 global links between each "
        "two follow from the 0.69 PB/s, both directions, that the site states of its bisection, as we read it",
    ),
    "fugaku": Instance(
        {"kind": "tofu-d", "units": [24, 23, 24]},
        "RIKEN, 158,976 nodes (Ajima et al., CLUSTER 2018, doi:10.1109/CLUSTER.2018.00090); x, y, z assumed rings",
    ),
    "leonardo": Instance(
        {
            "kind": "megafly", "groups": 19, "leaves_per_group": 18, "spines_per_group": 18, "nodes_per_leaf": 10,
            "links_per_group_pair": 18, "cores_per_node": 32,
            "bandwidth": {"local": "25 GB/s", "global": "25 GB/s", "host": "50 GB/s"},
        },
        "CINECA, the 19 of its 23 cells that hold 180 Booster nodes each (3,420 of 3,456; Turisini et al. 2023, "
        "arXiv:2307.16885); leaves and spines of a cell as we read them",
    ),
    "summit": Instance(
        {
            "kind": "xgft", "down": [9, 16, 32], "up": [18, 18], "cores_per_node": 44,
            "bandwidth": {"links": "12.5 GB/s", "host": "25 GB/s"},
        },
        "Oak Ridge, 4,608 nodes on 512 leaves, not tapered (Stunkel et al., IBM J. Res. Dev. 64(3/4), 2020, "
        "doi:10.1147/JRD.2020.2967330); 32 pods of 16 leaves are assumed",
    ),
    "tpu-v4": Instance(
        {"kind": "torus", "shape": [16, 16, 16], "bandwidth": {"links": "50 GB/s", "host": "300 GB/s"}},
        "Google, a pod of 4,096 chips (Jouppi et al., ISCA 2023, doi:10.1145/3579371.3589350); a chip is assumed to "
        "send on all six links at once",
    ),
}  # fmt: skip
