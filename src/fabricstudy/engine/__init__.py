"""Simulators behind one contract, how they are run, and what is kept of it.

In: a planned point, its machine and best cut from the stores, its placed jobs.
Out: one record a point (`simulate`): status, reason, usage, and for each job its size, bound and runtime, for each
link class its load. `batches` divides a plan into the jobs of the workflow; `run_batch` works one off, taking from
the store whatever is finished. `ENGINES` lists the simulators; each is one module that implements `Engine`.
"""

from .batch import Batch, batches, run_batch
from .contract import Engine, EngineFailure, EngineResult, Probe
from .foreground import foreground
from .provenance import is_current, is_finished, made_by_other_code
from .registry import ENGINES, engine_named
from .run import Outcome, run
from .simulate import Stores, fingerprint, simulate

__all__ = [
    "ENGINES",
    "Batch",
    "Engine",
    "EngineFailure",
    "EngineResult",
    "Outcome",
    "Probe",
    "Stores",
    "batches",
    "engine_named",
    "fingerprint",
    "foreground",
    "is_current",
    "is_finished",
    "made_by_other_code",
    "run",
    "run_batch",
    "simulate",
]
