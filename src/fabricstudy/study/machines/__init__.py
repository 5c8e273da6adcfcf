"""What a study may say about machines; `fabricstudy.machine` builds them. One module a family of topologies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from ..base import ByKind, ConfigError, kind_of, members_of
from ..paths import suggestion
from .base import ClassBandwidths, ClassLatencies, EachClass, Topology
from .bluegene import BlueGenePConfig, BlueGeneQConfig
from .dragonfly import DragonflyConfig
from .fat_tree import FatTreeConfig, TreeBandwidths, TreeLatencies
from .grid import (
    ExpressMeshConfig,
    Grid,
    GridBandwidths,
    GridConfig,
    GridLatencies,
    HypercubeConfig,
    HyperXConfig,
    MeshConfig,
    TorusConfig,
)
from .instances import INSTANCES, Instance
from .slim_fly import SlimFlyConfig

__all__ = [
    "INSTANCES",
    "BlueGenePConfig",
    "BlueGeneQConfig",
    "ClassBandwidths",
    "ClassLatencies",
    "DragonflyConfig",
    "EachClass",
    "ExpressMeshConfig",
    "FatTreeConfig",
    "Grid",
    "GridBandwidths",
    "GridConfig",
    "GridLatencies",
    "HyperXConfig",
    "HypercubeConfig",
    "Instance",
    "MachineConfig",
    "MeshConfig",
    "SlimFlyConfig",
    "Topology",
    "TorusConfig",
    "TreeBandwidths",
    "TreeLatencies",
    "published",
]


@dataclass(frozen=True)
class ByKindOrName(ByKind):
    """Marks a union whose members `kind` tells apart, or for which the name of a published machine stands."""

    words: ClassVar[str] = "name of a published machine, or mapping of kind"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Build the union, and refuse unknown names."""
        kinds = [kind_of(member) for member in members_of(source)]

        def known(value: Any) -> Any:
            _check_name(value, kinds)
            return value

        return core_schema.no_info_before_validator_function(
            known, super().__get_pydantic_core_schema__(source, handler)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe all ways of writing."""
        name = {"enum": sorted(INSTANCES)}
        altered = {"type": "object", "properties": {"instance": name}, "required": ["instance"]}
        return {"anyOf": [name, altered, handler(schema)]}


def _check_name(value: Any, kinds: list[str]) -> None:
    if isinstance(value, str) and value not in (*INSTANCES, *kinds):
        raise ConfigError("no machine of this name", suggestion(value, [*INSTANCES, *kinds]))
    if isinstance(value, dict) and "instance" in value and value["instance"] not in list(INSTANCES):
        raise ConfigError(
            "no machine of this name", suggestion(value["instance"], INSTANCES), ("instance",), value["instance"]
        )


# One entry a topology.
MachineConfig = Annotated[
    DragonflyConfig
    | TorusConfig
    | MeshConfig
    | BlueGeneQConfig
    | BlueGenePConfig
    | HypercubeConfig
    | HyperXConfig
    | ExpressMeshConfig
    | FatTreeConfig
    | SlimFlyConfig,
    ByKindOrName(),
]


def published(name: str) -> MachineConfig:
    """Give the published machine of this name.

    Raises
    ------
    KeyError
        If there is none in `INSTANCES`.

    Examples
    --------
    >>> published("mira").nodes
    49152
    """
    machine: MachineConfig = TypeAdapter(MachineConfig).validate_python(INSTANCES[name].description)
    return machine
