"""What every list of partitions has."""

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
    """The partitions that a scheduler may give to jobs."""

    FAMILY: ClassVar[Family] = Family("partition list")
    words: ClassVar[str] = "name of a published list, list of shapes, or mapping of kind"

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Let a name stand for a published list, and a list for the shapes in it."""
        if isinstance(value, list | tuple):
            return {"kind": "shapes", "shapes": list(value)}
        if isinstance(value, str) and value in LISTS:
            return dict(LISTS[value])
        return super().from_shorthand(value)

    @classmethod
    def check_written(cls, value: Any) -> None:
        """Refuse the name of a list that is not published."""
        if isinstance(value, str) and value not in LISTS and cls.FAMILY.find(value) is None:
            remedy = suggestion(value, [*LISTS, *cls.FAMILY.kinds])
            raise ConfigError("no list of this name", remedy, code="unknown-value")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe a published list's name, and a list of shapes, beside the members."""
        described = super().__get_pydantic_json_schema__(schema, handler)
        if cls.is_family():
            shapes = {"type": "array", "minItems": 1, "items": {"type": "object"}}
            described = {"anyOf": [{"enum": sorted(LISTS)}, shapes, described]}
        return described

    def check(self, machine: Topology) -> None:
        """Refuse a machine that has no such partitions, as `partitions` does.

        Raises ConfigError with the path below the list.
        """
        self.partitions(machine)

    def partitions(self, machine: Topology) -> Partitions | NodePool:
        """Return the partitions of a machine, in the order of the list.

        Raises ConfigError with the path below the list, if one does not fit or is listed twice, or the machine is no
        grid.
        """
        raise NotImplementedError


def grid_of(machine: Topology) -> GridConfig:
    """Return a machine that has cuboids.

    Raises
    ------
    ConfigError
        If it has none.
    """
    if not isinstance(machine, GridConfig):
        problem = f"a machine of kind {machine.kind} has no cuboids"
        raise ConfigError(problem, "take `kind: nodes`, or a machine that is a grid", code="unsupported")
    return machine
