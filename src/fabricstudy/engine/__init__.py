"""Simulators behind one contract: point → record.

In: a planned point, its machine and best cut from the stores, its placed jobs.
Out: one record a point (`simulate`): status, reason, usage, size, bound and runtime of each job, load of each link
class. `make_batches` divides points into jobs of the workflow; `run_batch` runs one, except for points with a valid
record in the store (`validity`). Each engine is a package with its keys (`EngineSettings`) and adapter (`Engine`).
"""

from .batch import Batch, make_batches, run_batch
from .contract import Engine, EngineFailure, Probe
from .definitions import AnalysedMachine, Definitions
from .outcome import EngineResult
from .point import PlannedPoint, Point
from .registry import engine_named, engines
from .settings import EngineSettings, Limits, Network
from .simulate import simulate
from .single_point import simulate_in_folder
from .validity import Validity, validity

__all__ = [
    "AnalysedMachine",
    "Batch",
    "Definitions",
    "Engine",
    "EngineFailure",
    "EngineResult",
    "EngineSettings",
    "Limits",
    "Network",
    "PlannedPoint",
    "Point",
    "Probe",
    "Validity",
    "engine_named",
    "engines",
    "make_batches",
    "run_batch",
    "simulate",
    "simulate_in_folder",
    "validity",
]
