"""Base class of the lists of partitions."""

from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.returned import Returned
from fabricstudy.machine.base import Topology
from fabricstudy.machine.grid import GridConfig

from ..partitions import NodePool, Partitions

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


Loop = Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(min_length=1, max_length=100_000)]
Loops = dict[str, tuple[Loop, ...]]


class PartitionList(Kind, family="partition list"):
    """The partitions that a scheduler allocates to jobs."""

    words = "name of a published list, list of shapes, or mapping of kind"

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Expand the name of a published list, and a list of shapes."""
        if isinstance(value, list | tuple):
            return {"kind": "shapes", "shapes": list(value)}
        if isinstance(value, str) and value in LISTS:
            return dict(LISTS[value])
        return super().from_shorthand(value)

    @classmethod
    def check_written(cls, value: Any) -> None:
        """Refuse an unknown name."""
        if isinstance(value, str) and value not in LISTS and cls.FAMILY.find(value) is None:
            remedy = suggestion(value, [*LISTS, *cls.FAMILY.kinds])
            raise ConfigError("no such list of partitions", remedy, code="unknown-value")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the names of published lists, and lists of shapes, in addition to the members."""
        described = super().__get_pydantic_json_schema__(schema, handler)
        if cls.is_family():
            shapes = {"type": "array", "minItems": 1, "items": {"type": "object"}}
            described = {"anyOf": [{"enum": sorted(LISTS)}, shapes, described]}
        return described

    def partitions(self, machine: Topology) -> Partitions | NodePool:
        """Return the partitions of a machine, in the order of the list.

        Raises ConfigError with the path below the list, if a partition does not fit or is listed twice, or the machine
        is not a grid.
        """
        raise NotImplementedError

    def checked_partitions(self, machine: Topology) -> Partitions | NodePool:
        """Return the partitions; raises ConfigError if those of an extension are of another type, or never returned."""
        returned = Returned(self, "partitions")
        with returned.time_limit():
            found = self.partitions(machine)
        return found if isinstance(found, NodePool) else returned.instance(found, Partitions)


def grid_of(machine: Topology) -> GridConfig:
    """Return the machine, which has cuboids. Raises ConfigError if it is not a grid."""
    if not isinstance(machine, GridConfig):
        problem = f"a machine of kind {machine.kind} {'with faults ' * bool(machine.faults)}has no cuboids"
        raise ConfigError(problem, "use `kind: nodes`, or a grid", code="unsupported")
    return machine
