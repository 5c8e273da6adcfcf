"""One attempt at a point with offered traffic: a run at its load, or a search for the saturation load."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.files import remove
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.core.store import Record
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.structure.saturation import Rates, offered_rates, saturation_bound, zero_load_ns
from fabricstudy.workload.offered import SATURATION

from .buffers import buffer_columns
from .built_point import BuiltPoint
from .caveats import takes_other_paths
from .definitions import AnalysedMachine
from .engine import Engine
from .failures import EngineFailure
from .outcome import LINKS
from .point import Point
from .process import run_program
from .settings import Limits
from .steady_state import (
    MAX_GROWTH,
    State,
    SteadyRun,
    counting_error,
    growth,
    load_run,
    may_settle,
    save_run,
    state_of,
    statistics,
)
from .validity import input_digest

RUN_FILES = "run-*.npz"
"""What each run of a point counted, in the order of `runs` in its record."""

DOUBLINGS, DOUBLINGS_OF_SEARCH = 3, 2
"""How often warm-up and window are doubled while a run has not settled or is undecided, at a load and in a search."""


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
        Files of stored runs by the digest of their input, to be read instead of simulations.

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
    runs = OfferedRuns(point, engine, machine, limits, folder, record, stored)
    bound = saturation_bound(machine, runs.rates, _routing_of_bound(point, engine), analysed.cut_side)
    row: dict[str, Any] = {
        "traffic_kind": offered.traffic.kind,
        "zero_load_ns": runs.zero_load_ns,
        "saturation_bound": bound.load,
        "bound_method": bound.method,
        **buffer_columns(point, machine, engine),
    }
    if not engine.runs_offered:
        record["latency"] = row
        return
    record["runs"] = []
    runs.bound = bound.load
    if offered.load == SATURATION:
        run, found = search_saturation(runs, offered.tolerance, bound.load)
        row |= found | {"over_bound": found["saturation_load"] / bound.load}
    else:
        run = runs.at(float(offered.load))
    runs.save()
    row |= statistics(run, runs.rates.injection)
    record["latency"] = row
    if run.link_bytes is not None:
        np.save(folder / LINKS, run.link_bytes)
        record["latency"]["link_max"] = machine.bottleneck_s(run.link_bytes) * 1e9 / run.window_ns


def prepare_offered(point: Point, engine: Engine, analysed: AnalysedMachine, folder: Path) -> list[str]:
    """Write the input of the first run of a point to the empty `folder`, and return the command."""
    assert point.offered is not None
    machine, load = analysed.machine, point.offered.load
    runs = OfferedRuns(point, engine, machine, Limits(), folder, {})
    if load == SATURATION:
        load = saturation_bound(machine, runs.rates, _routing_of_bound(point, engine), analysed.cut_side).load
    return engine.write(runs.built(float(load)), folder)


def _routing_of_bound(point: Point, engine: Engine) -> Routing | None:
    return None if takes_other_paths(engine.caveats, point) else engine.expected_routing(point)


@dataclass
class OfferedRuns:
    """Runs of the traffic of one point in a folder, each at one load; `record` has the list `runs`."""

    point: Point
    engine: Engine
    machine: Machine
    limits: Limits
    folder: Path
    record: Record
    stored: Mapping[str, Path] | None = None
    """See `attempt_offered`."""
    bound: float = inf
    """Below this load a run is saturated only if the growth of its backlog lasts."""
    finished: list[SteadyRun] = field(default_factory=list)

    @cached_property
    def rates(self) -> Rates:
        """Rates of the traffic between routers and nodes."""
        return offered_rates(self.machine, *BuiltPoint(self.point, self.machine).destinations)

    @cached_property
    def zero_load_ns(self) -> float:
        """Mean latency of messages without load."""
        point, engine, machine = self.point, self.engine, self.machine
        assert point.offered is not None
        return zero_load_ns(
            machine,
            self.rates,
            engine.expected_routing(point),
            engine.host_latencies_ns(point, machine),
            point.network.router_latency_ns,
            point.offered.mean_bytes,
            engine.stored_bytes(point, machine),
        )

    def built(self, load: float, factor: int = 1) -> BuiltPoint:
        """Return the point at a load, with its warm-up and window, both times `factor`."""
        offered = self.point.offered
        assert offered is not None
        latency = self.zero_load_ns * self.machine.host.bandwidth_Bps / (NS_PER_S * offered.mean_bytes)
        offered = offered.long_enough(load, float(self.rates.injection.sum()), latency, factor)
        return BuiltPoint(self.point.model_copy(update={"offered": offered}), self.machine, load=load)

    def at(
        self, load: float, states: Container[State] = ("steady", "saturated"), doublings: int = DOUBLINGS
    ) -> SteadyRun:
        """Return the run at a load, repeated with twice the warm-up and window until its state is among `states`."""
        shorter = None
        for doubled in range(doublings + 1):
            run = self._simulate(load, 2**doubled)
            if load < self.bound:
                run = replace(run, may_settle=may_settle(run, shorter, doublings - doubled))
            self.finished.append(run)
            if state_of(run) in states:
                break
            shorter = run
        return run

    def _simulate(self, load: float, factor: int) -> SteadyRun:
        for path in self.folder.iterdir():
            remove(path)  # the output of the run before is no input
        built = self.built(load, factor)
        command = self.engine.write(built, self.folder)
        digest = input_digest(self.folder, command, self.machine, [])
        if self.stored is None:
            exit_code = run_program(command, self.folder, self.limits, self.record)
            self.engine.check_exit(self.folder, exit_code)
            run = self.engine.read_offered(built, self.folder)
        else:
            run = load_run(self.stored[digest])
        check_moves(run)
        self.record["runs"].append({"load": load, "input": digest})
        return run

    def save(self) -> None:
        """Write what each run counted to the folder."""
        for number, run in enumerate(self.finished):
            save_run(run, self.folder / RUN_FILES.replace("*", str(number)))


def _counting_error(run: SteadyRun) -> float:
    return counting_error(run.created if run.created_load is None else run.created_load)


def check_moves(run: SteadyRun) -> None:
    """Raise `EngineFailure` if no message arrived in the second half of the window, though messages wait."""
    half = len(run.created) // 2
    if run.arrived is not None and run.backlog is not None and run.backlog[1] and not run.arrived[half:].any():
        raise EngineFailure(f"deadlock: {run.backlog[1]} messages wait, and none arrives; choose more virtual channels")


def stored_runs(folder: Path, record: Record) -> dict[str, Path]:
    """Return the files of the runs of a stored point by the digest of their input."""
    return {
        run["input"]: folder / RUN_FILES.replace("*", str(number)) for number, run in enumerate(record.get("runs", []))
    }


def search_saturation(runs: OfferedRuns, tolerance: float, bound: float) -> tuple[SteadyRun, dict[str, float]]:
    """Return the run at the highest load that is sustained, and columns: this load and its interval.

    The search begins at the bound: in a run of finite length, a link whose load slightly exceeds its capacity need not
    appear saturated. After a saturated run it tries the load that this run carried, and lower ones by a step that
    doubles; after the first sustained run the next load by the resolution; otherwise it bisects, to the tolerance of
    the study. An undecided run counts by the growth of its backlog, not by its interval.

    The interval of the load is from what the run carries at least to the lowest load that is certainly saturated; both
    ends allow for the growth of the backlog and the number of messages, which are drawn at random.
    """
    resolution = tolerance * bound
    low, high, saturated, best, load = 0.0, bound, bound, None, bound
    first_step = step = 0.99 * resolution
    while high - low > resolution:
        run = runs.at(load, ("steady", "unsteady", "saturated"), DOUBLINGS_OF_SEARCH)
        state = state_of(run)
        if state == "saturated" or (state == "undecided" and growth(run).mean > MAX_GROWTH):
            high = load
            saturated = load * (1 + _counting_error(run)) if state == "saturated" else saturated
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
    # Messages are drawn at random, so that the load that was created differs from the one that was asked for.
    carried = low * min(1.0, float(best.node_arrived.sum() / best.node_created.sum()))
    least = low * (1 - max(0.0, growth(best).high) - _counting_error(best))
    return best, {
        "saturation_load": carried,
        "saturation_low": max(0.0, min(carried, least)),
        "saturation_high": min(bound, saturated),
    }
