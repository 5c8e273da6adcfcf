"""One attempt at a point with offered traffic: a run at its load, or a search for the saturation load."""

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.files import remove
from fabricstudy.core.store import Record
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.structure.saturation import offered_rates, saturation_bound, zero_load_ns
from fabricstudy.workload.offered import SATURATION
from fabricstudy.workload.traffic.base import Destinations

from .buffers import buffer_columns
from .caveats import takes_other_paths
from .contract import Engine, EngineFailure, OfferedEngine
from .definitions import AnalysedMachine
from .limits import run_program
from .outcome import LINKS
from .point import Point
from .settings import Limits
from .steady_state import SteadyRun, load_run, save_run, state_of, statistics
from .validity import input_digest

RUN_FILES = "run-*.npz"
"""What each run of a point counted, in the order of `runs` in its record."""


def attempt_offered(
    point: Point,
    engine: Engine,
    analysed: AnalysedMachine,
    limits: Limits,
    folder: Path,
    record: Record,
    stored: Mapping[str, Path] | None = None,
) -> None:
    """Run the traffic of a point, and write its row of the table `latency` to `record`.

    Parameters
    ----------
    stored : mapping, optional
        Files of stored runs by the digest of their input, to be read in place of simulations.

    Raises
    ------
    NotDone
        If a limit was reached.
    EngineFailure
        If a run failed.
    KeyError
        If a run is not among those that are stored.
    """
    assert point.offered is not None
    machine, offered = analysed.machine, point.offered
    record |= {"jobs": [], "sharing": {}}
    destinations = offered.destinations(machine, point.seed)
    rates = offered_rates(machine, *destinations)
    bound = saturation_bound(machine, rates, _routing_of_bound(point, engine), analysed.cut_side)
    stored_bytes, router_ns = engine.stored_bytes(point, machine), point.network.router_latency_ns
    hosts_ns = engine.host_latencies_ns(point, machine)
    routing = engine.expected_routing(point)
    zero_ns = zero_load_ns(machine, rates, routing, hosts_ns, router_ns, offered.message_bytes, stored_bytes)
    row: dict[str, Any] = {
        "traffic_kind": offered.traffic.kind,
        "zero_load_ns": zero_ns,
        "saturation_bound": bound.load,
        "bound_method": bound.method,
        **buffer_columns(point, machine, engine),
    }
    if not isinstance(engine, OfferedEngine):
        record["latency"] = row
        return
    runs = OfferedRuns(point, engine, machine, destinations, limits, folder, record, stored)
    if offered.load == SATURATION:
        load, run = search_saturation(runs, offered.tolerance, bound.load)
        # Messages are drawn at random, so that the load that was created differs from the one that was asked for.
        carried = load * min(1.0, float(run.node_arrived.sum() / run.node_created.sum()))
        row |= {"saturation_load": carried, "over_bound": carried / bound.load}
    else:
        run = runs.at(float(offered.load))
    runs.save()
    row |= statistics(run, rates.injection)
    record["latency"] = row
    if run.link_bytes is not None:
        np.save(folder / LINKS, run.link_bytes)
        busy = run.link_bytes / machine.link_capacity_Bps * 1e9 / run.window_ns
        record["latency"]["link_max"] = float(busy.max(initial=0.0))


def prepare_offered(point: Point, engine: OfferedEngine, analysed: AnalysedMachine, folder: Path) -> list[str]:
    """Write the input of the first run of a point to the empty `folder`, and return the command."""
    assert point.offered is not None
    machine, load = analysed.machine, point.offered.load
    destinations = point.offered.destinations(machine, point.seed)
    if load == SATURATION:
        rates = offered_rates(machine, *destinations)
        load = saturation_bound(machine, rates, _routing_of_bound(point, engine), analysed.cut_side).load
    return engine.prepare_offered(folder, point, machine, destinations, float(load))


def _routing_of_bound(point: Point, engine: Engine) -> Routing | None:
    return None if takes_other_paths(engine.caveats, point) else engine.expected_routing(point)


class OfferedRuns:
    """Runs of the traffic of one point in a folder, each at one load."""

    def __init__(
        self,
        point: Point,
        engine: OfferedEngine,
        machine: Machine,
        destinations: Destinations,
        limits: Limits,
        folder: Path,
        record: Record,
        stored: Mapping[str, Path] | None,
    ) -> None:
        self._point, self._engine, self._machine, self._destinations = point, engine, machine, destinations
        self._limits, self._folder, self._record, self._stored = limits, folder, record, stored
        self._runs: list[SteadyRun] = []
        record["runs"] = []

    def at(self, load: float) -> SteadyRun:
        """Return the run at a load."""
        for path in self._folder.iterdir():
            remove(path)  # the output of the run before is no input
        command = self._engine.prepare_offered(self._folder, self._point, self._machine, self._destinations, load)
        digest = input_digest(self._folder, command, self._machine, [])
        if self._stored is None:
            exit_code = run_program(command, self._folder, self._limits, self._record)
            run = self._engine.read_offered(self._folder, exit_code, self._point, self._machine)
        else:
            run = load_run(self._stored[digest])
        self._record["runs"].append({"load": load, "input": digest})
        self._runs.append(run)
        return run

    def save(self) -> None:
        """Write what each run counted to the folder."""
        for number, run in enumerate(self._runs):
            save_run(run, self._folder / RUN_FILES.replace("*", str(number)))


def stored_runs(folder: Path, record: Record) -> dict[str, Path]:
    """Return the files of the runs of a stored point by the digest of their input."""
    return {
        run["input"]: folder / RUN_FILES.replace("*", str(number)) for number, run in enumerate(record.get("runs", []))
    }


def search_saturation(runs: OfferedRuns, tolerance: float, bound: float) -> tuple[float, SteadyRun]:
    """Return the highest load that is sustained, to the tolerance of the study, and its run.

    The search begins at the bound: in a run of finite length, few packets for a link with slightly more than its
    capacity are not seen. After a saturated run it tries the load that this run carried, and lower ones by a step that
    doubles; after the first sustained run the next load by the resolution; otherwise it bisects.
    """
    resolution = tolerance * bound
    low, high, best, load = 0.0, bound, None, bound
    first_step = step = 0.99 * resolution
    while high - low > resolution:
        run = runs.at(load)
        if state_of(run) == "saturated":
            high = load
            guess = min(load * float(run.node_arrived.sum() / run.node_created.sum()), load - step)
            step *= 2
        else:
            guess = inf if best is not None and step == first_step else min(bound, load + first_step)
            low, best, step = load, run, first_step
            if load == high:
                break
        load = guess if low < guess <= high else (low + high) / 2
    if best is None:
        raise EngineFailure(f"no load from {high:.3g} on is sustained; measure longer, or lower the tolerance")
    return low, best
