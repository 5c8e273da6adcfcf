"""One attempt at a point with offered traffic: a run at its load, or a search for the saturation load."""

from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.store import Record
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.saturation import SaturationBound, offered_rates, saturation_bound, zero_load_ns
from fabricstudy.workload.offered import SATURATION
from fabricstudy.workload.traffic.base import Destinations

from .caveats import takes_other_paths
from .contract import Engine, EngineFailure, OfferedEngine
from .definitions import AnalysedMachine
from .limits import run_program
from .outcome import LINKS
from .point import Point
from .settings import Limits
from .steady_state import SteadyRun, state_of, statistics
from .validity import input_digest

FIRST_FACTORS = (1.02, 0.92)
"""Loads over the saturation bound between which the saturation load mostly is: the first two of a search."""


def attempt_offered(
    point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path, record: Record
) -> None:
    """Run the traffic of a point, and write its row of the table `latency` to `record`.

    Raises
    ------
    NotDone
        If a limit was reached.
    EngineFailure
        If a run failed.
    """
    assert point.offered is not None
    machine, offered = analysed.machine, point.offered
    record |= engine.derived(point, machine)
    destinations = offered.destinations(machine, point.seed)
    rates = offered_rates(machine, *destinations)
    routing = None if takes_other_paths(engine.caveats, point) else point.routing
    bound = saturation_bound(machine, rates, routing, analysed.cut_side)
    stored_bytes = engine.stored_bytes(point, machine)
    zero_ns = zero_load_ns(
        machine, rates, point.routing, point.network.router_latency_ns, offered.message_bytes, stored_bytes
    )
    row: dict[str, Any] = {
        "traffic_kind": offered.traffic.kind,
        "zero_load_ns": zero_ns,
        "saturation_bound": bound.load,
        "bound_method": bound.method,
    }
    if not isinstance(engine, OfferedEngine):
        record["latency"] = row
        return
    attempt = SteadyAttempt(point, engine, machine, destinations, limits, folder, record)
    run = attempt.saturation(bound) if offered.load == SATURATION else attempt.run(float(offered.load))
    row |= statistics(run, rates.injection)
    if offered.load == SATURATION:
        # Messages are drawn at random, so that what was offered differs from what was asked for.
        row |= {"saturation_load": row["accepted_load"], "over_bound": row["accepted_load"] / bound.load}
    record["latency"] = row
    if run.link_bytes is not None:
        np.save(folder / LINKS, run.link_bytes)
        busy = run.link_bytes / machine.link_capacity_Bps * 1e9 / run.window_ns
        record["latency"]["link_max"] = float(busy.max(initial=0.0))


class SteadyAttempt:
    """Runs of the traffic of one point in a folder."""

    def __init__(
        self,
        point: Point,
        engine: OfferedEngine,
        machine: Machine,
        destinations: Destinations,
        limits: Limits,
        folder: Path,
        record: Record,
    ) -> None:
        self._point, self._engine, self._machine, self._destinations = point, engine, machine, destinations
        self._limits, self._folder, self._record = limits, folder, record

    def run(self, load: float) -> SteadyRun:
        """Run the traffic at one load."""
        command = self._engine.prepare_offered(self._folder, self._point, self._machine, self._destinations, load)
        scale = self._engine.scale(self._point, self._machine)
        self._record.setdefault("input", input_digest(self._folder, command, self._machine, [], scale))
        exit_code = run_program(command, self._folder, self._limits, self._record)
        return self._engine.read_offered(self._folder, exit_code, self._point, self._machine)

    def saturation(self, bound: SaturationBound) -> SteadyRun:
        """Return the run at the highest load that is sustained, to the tolerance of the study.

        Bisection; the first two loads are near the bound.
        """
        assert self._point.offered is not None
        tolerance = self._point.offered.tolerance
        low, high, best = 0.0, 1.0, None
        first = [load for factor in FIRST_FACTORS if 0.0 < (load := bound.load * factor) < 1.0]
        if bound.load * FIRST_FACTORS[0] >= 1.0:
            first.insert(0, 1.0)
        while high - low > tolerance * min(1.0, bound.load) or first:
            load = first.pop(0) if first else (low + high) / 2
            if not low < load <= high:
                continue
            run = self.run(load)
            if state_of(run) == "saturated":
                high = load
            else:
                low, best = load, run
                if load == high:
                    break
        if best is None:
            raise EngineFailure(f"no load from {high:.3g} on is sustained; measure longer, or lower the tolerance")
        return best
