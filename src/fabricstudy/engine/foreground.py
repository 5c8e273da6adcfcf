"""One point in the foreground, with all its files, for a look at what a simulator really gets and says."""

from __future__ import annotations

import shlex
from pathlib import Path

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Record
from fabricstudy.workload.messages import write_parquet
from fabricstudy.workload.placing import place

from .attempt import attempt
from .definitions import built
from .parallel import at_most, usable_cores
from .point import PlannedPoint
from .registry import engine_named
from .settings import Limits


def foreground(planned: PlannedPoint, folder: Path, limits: Limits) -> Record:
    """Simulate a point in `folder`, without the stores; input, output and workload stay there.

    Returns
    -------
    dict
        ``command`` (to be repeated inside ``folder``) or None, ``folder`` and ``record``.

    Raises
    ------
    FabricstudyError
        If the engine is missing.
    """
    engine = engine_named(planned.point.engine.kind)
    probe = engine.probe()
    if not probe.found:
        raise FabricstudyError(f"engine {engine.name} is missing: {probe.reason}", "engine-missing")
    planned = at_most(planned, usable_cores())
    folder.mkdir(parents=True, exist_ok=True)
    analysed = built(planned.point.machine)
    record = attempt(planned.point, engine, analysed, limits, folder)
    command = record.pop("command", None)
    if "jobs" in record:
        write_parquet(place(planned.point, analysed.machine, analysed.cut_side), folder)
    return {"command": command and shlex.join(command), "folder": str(folder), "record": record}
