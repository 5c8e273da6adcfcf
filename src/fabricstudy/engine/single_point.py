"""One point in the foreground, with all files that its simulator reads and writes."""

import shlex
from pathlib import Path

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Record
from fabricstudy.workload.messages import write_workload_tables
from fabricstudy.workload.placing import place

from .attempt import attempt_point, check_supported, prepare
from .batch import at_most, usable_cores
from .definitions import built
from .engine import Engine
from .failures import EngineFailure
from .offered_traffic import prepare_offered
from .point import PlannedPoint
from .process import NotDone
from .registry import engine_of
from .settings import Limits


def write_inputs(planned: PlannedPoint, folder: Path) -> list[str]:
    """Write the input of a point's simulator to `folder`; return the command to run there, empty without a program.

    Raises `FabricstudyError` if the engine is missing, or cannot simulate the point.
    """
    engine = _found(planned)
    folder.mkdir(parents=True, exist_ok=True)
    analysed = built(planned.point.machine)
    try:
        check_supported(planned.point, engine, analysed.machine)
        if engine.runs_offered and planned.point.offered is not None:
            return prepare_offered(planned.point, engine, analysed, folder)
        return prepare(planned.point, engine, analysed, folder, {})[1]
    except (NotDone, EngineFailure) as error:
        raise FabricstudyError(f"{planned.point_id}: {engine.name} cannot run it: {error}", "invalid-value") from None


def _found(planned: PlannedPoint) -> Engine:
    engine = engine_of(planned.point.engine)
    probe = engine.probe()
    if not probe.found:
        raise FabricstudyError(f"engine {engine.name} is missing: {probe.reason}", "engine-missing")
    return engine


def simulate_in_folder(planned: PlannedPoint, folder: Path, limits: Limits) -> Record:
    """Simulate a point in `folder`, without the stores; input, output and workload remain there.

    Returns ``command`` (to be repeated inside ``folder``) or None, ``folder`` and ``record``. Raises `FabricstudyError`
    if the engine is missing.
    """
    engine = _found(planned)
    planned = at_most(planned, usable_cores())
    folder.mkdir(parents=True, exist_ok=True)
    analysed = built(planned.point.machine)
    record = attempt_point(planned.point, engine, analysed, limits, folder)
    command = record.pop("command", None)
    if "input" in record:
        write_workload_tables(place(planned.point, analysed.machine, analysed.cut_side), folder)
    return {"command": command and shlex.join(command), "folder": str(folder), "record": record}
