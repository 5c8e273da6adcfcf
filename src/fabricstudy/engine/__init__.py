"""Simulators behind one contract, how they are run, and what is kept of it.

In: a planned point, its machine and best cut from the stores, its placed jobs.
Out: one record a point (`simulate`): status, reason, usage, and for each job its size, bound and runtime, for each
link class its load. `make_batches` divides points into the jobs of the workflow; `run_batch` works one off, taking from
the store whatever is finished; `validity` says whether a record may be believed. Each engine is a separate package,
with what a study may say about it (`EngineSettings`) and its adapter (`Engine`).
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
