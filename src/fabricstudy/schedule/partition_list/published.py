"""Published lists of partitions by name, written as a study would."""

from typing import Any

_SMALL: list[dict[str, Any]] = [{"shape": [1, 1, 1]}, {"shape": [1, 1, 2]}, {"shape": [1, 1, 4]}]
_4K: dict[str, Any] = {"shape": [1, 2, 4]}
_8K: dict[str, Any] = {"shape": [1, 4, 4]}

# The partitions in production above a row of racks; the source names none of them. Cobalt's list of Intrepid has one
# more of 16K, of two rows that are not neighbours.
_ROWS: list[dict[str, Any]] = [
    {"shape": [2, 4, 4], "at": [[0, 0, 0], [2, 0, 0], [3, 0, 0]]},
    {"shape": [3, 4, 4], "at": [[2, 0, 0]]},
    {"shape": [4, 4, 4], "at": [[0, 0, 0], [1, 0, 0]]},
    {"shape": [5, 4, 4]},
]
# A mesh in the one dimension whose ring would occupy cables of other partitions.
_1K_MESH = {"shape": [1, 1, 2], "wrap": [True, True, False]}
_4K_MESH = {"shape": [1, 2, 4], "wrap": [True, False, True]}
# Rows whose X cables close by themselves, by the wires of Cobalt's description of Intrepid (tools/local_sim/
# simulator.xml). With them the partitions conflict as there; by the source each torus takes the whole line.
_LOOPS = {"x": [[0, 1], [2, 3], [2, 3, 4]]}


def _shapes(*shapes: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"kind": "shapes", "shapes": list(shapes), **keys}


LISTS: dict[str, dict[str, Any]] = {
    # Desai et al., section III: the partitions of a row, at multiples of their sides.
    "intrepid-torus": _shapes(*_SMALL, _4K, _8K, *_ROWS),
    # Section V-C: only those of 1,024 and 4,096 nodes need meshes.
    "intrepid-mesh": _shapes(_SMALL[0], _1K_MESH, _SMALL[2], _4K_MESH, _8K, *_ROWS),
    # The same partitions with the X cables of the machine.
    "intrepid-torus-loops": _shapes(*_SMALL, _4K, _8K, *_ROWS, loops=_LOOPS),
    "intrepid-mesh-loops": _shapes(_SMALL[0], _1K_MESH, _SMALL[2], _4K_MESH, _8K, *_ROWS, loops=_LOOPS),
    # Section VI: both, to be chosen by the user.
    "intrepid-both": _shapes(*_SMALL, _4K, _8K, *_ROWS, _1K_MESH, _4K_MESH),
    # Oltchik and Schwartz, Table 6, which has geometries without positions: at multiples of their sides.
    "mira": {"kind": "cuboids", "geometries": "mira", "at": "aligned"},
    "mira-proposed": {"kind": "cuboids", "geometries": "mira-proposed", "at": "aligned"},
    # Oltchik and Schwartz, section II: any cuboid that fits.
    "juqueen": {"kind": "cuboids"},
    "sequoia": {"kind": "cuboids", "at": "aligned"},
}
