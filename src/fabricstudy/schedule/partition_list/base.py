"""Base class of the lists of partitions."""

from typing import Annotated, Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.grid import GridConfig

from ..partitions import NodePool, Partitions
from .published import LISTS

Loop = Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(min_length=1, max_length=100_000)]
Loops = dict[str, tuple[Loop, ...]]


class PartitionList(Kind):
    """The partitions that a scheduler allocates to jobs."""

    FAMILY: ClassVar[Family] = Family("partition list")
    words: ClassVar[str] = "name of a published list, list of shapes, or mapping of kind"

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


def grid_of(machine: Topology) -> GridConfig:
    """Return the machine, which has cuboids. Raises ConfigError if it is not a grid."""
    if not isinstance(machine, GridConfig):
        problem = f"a machine of kind {machine.kind} has no cuboids"
        raise ConfigError(problem, "use `kind: nodes`, or a grid", code="unsupported")
    return machine
