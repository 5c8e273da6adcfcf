"""The topologies of CODES, a module each with its `CodesModel`."""

from fabricstudy.machine.aries import AriesConfig
from fabricstudy.machine.base import Topology
from fabricstudy.machine.bluegene import BlueGenePConfig, BlueGeneQConfig
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grids import ExpressMeshConfig, HypercubeConfig, HyperXConfig, MeshConfig, TorusConfig
from fabricstudy.machine.percs import PercsConfig
from fabricstudy.machine.slim_fly import SlimFlyConfig

from ...failures import Unsupported
from ...point import Point
from ..models import aries, dragonfly, express_mesh, fat_tree, slim_fly, torus
from ..network import CodesModel, CodesNetwork

MODELS: dict[type[Topology], CodesModel] = {
    DragonflyConfig: dragonfly.MODEL,
    AriesConfig: aries.MODEL,
    PercsConfig: dragonfly.MODEL,
    TorusConfig: torus.MODEL,
    BlueGeneQConfig: torus.MODEL,
    BlueGenePConfig: torus.MODEL,
    MeshConfig: express_mesh.MODEL,
    HypercubeConfig: express_mesh.MODEL,
    HyperXConfig: express_mesh.MODEL,
    ExpressMeshConfig: express_mesh.MODEL,
    FatTreeConfig: fat_tree.MODEL,
    SlimFlyConfig: slim_fly.MODEL,
}


def codes_model(point: Point) -> CodesModel | None:
    """Return CODES' model of the topology of a point, if it has one."""
    return MODELS.get(type(point.machine))


def network_of(point: Point, machine: Machine) -> CodesNetwork:
    """Translate machine and routing of a point; raise `Unsupported` if CODES has no model, or it lacks a feature."""
    model = codes_model(point)
    if point.machine.faults is not None:
        raise Unsupported("CODES routes as if all cables of a group worked; use packet, flow or sst for faults")
    if model is None:
        raise Unsupported(f"CODES has no model of the topology {point.machine.kind}; use another engine")
    return model.network(point, machine)
