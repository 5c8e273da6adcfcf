"""What to run.

In: a study file (YAML), which is one complete point and what varies.
Out: `load_study` gives the checked `Study` (`load_machine` its machine alone); `plan` expands it into a `Plan`, the
table of its points in a stable order; each `Point` carries one simulation's machine, jobs, routing, engine and seed,
and `point_id` names it by its physics alone. Quantities are text with a unit in the file and plain numbers inside
(`bandwidth_Bps`). Whatever cannot be is refused here, before anything runs, with one `StudyError` that names file,
path, value and remedy. This package reads files, and builds and simulates nothing.
"""

from ..errors import FabricstudyError, StudyError
from .base import Model
from .claims import Claim
from .engines import Caminos, EngineConfig, Limits, Network
from .figures import Figure
from .file import load_machine, load_study
from .machines import ClassBandwidths, ClassLatencies, DragonflyConfig, MachineConfig
from .model import Study
from .plan import Plan, PlannedPoint, Row, plan
from .point import (
    Point,
    alone,
    canonical_json,
    machine_from_json,
    machine_id,
    physics,
    point_from_json,
    point_id,
)
from .routings import Minimal, RoutingConfig, Ugal, Valiant
from .sweep import RESERVED, Axis, Experiment
from .units import OUR_UNITS
from .workloads import (
    AllocationConfig,
    AllToAll,
    Bisection,
    Cluster,
    ExplicitNodes,
    FurthestPairing,
    Idle,
    Job,
    LinearMapping,
    MappingConfig,
    MappingFile,
    Pattern,
    PatternConfig,
    Permutation,
    RandomAllocation,
    RandomMapping,
    RecursiveBisection,
    Ring,
    SendOrder,
    Spread,
    Stencil,
    UniformRandom,
)

__all__ = [
    "OUR_UNITS",
    "RESERVED",
    "AllToAll",
    "AllocationConfig",
    "Axis",
    "Bisection",
    "Caminos",
    "Claim",
    "ClassBandwidths",
    "ClassLatencies",
    "Cluster",
    "DragonflyConfig",
    "EngineConfig",
    "Experiment",
    "ExplicitNodes",
    "FabricstudyError",
    "Figure",
    "FurthestPairing",
    "Idle",
    "Job",
    "Limits",
    "LinearMapping",
    "MachineConfig",
    "MappingConfig",
    "MappingFile",
    "Minimal",
    "Model",
    "Network",
    "Pattern",
    "PatternConfig",
    "Permutation",
    "Plan",
    "PlannedPoint",
    "Point",
    "RandomAllocation",
    "RandomMapping",
    "RecursiveBisection",
    "Ring",
    "RoutingConfig",
    "Row",
    "SendOrder",
    "Spread",
    "Stencil",
    "Study",
    "StudyError",
    "Ugal",
    "UniformRandom",
    "Valiant",
    "alone",
    "canonical_json",
    "load_machine",
    "load_study",
    "machine_from_json",
    "machine_id",
    "physics",
    "plan",
    "point_from_json",
    "point_id",
]
