"""``fabricstudy plan``: check a study and predict its cost."""

import argparse
from collections.abc import Iterable, Mapping
from math import inf, isfinite
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.phrasing import count_noun, cpu_time
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.core.store import point_store
from fabricstudy.engine.point import PlannedPoint
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.validity import Validity, validity
from fabricstudy.machine.base import ScaleUp
from fabricstudy.workflow.pipeline import BATCH_CPU_S, Seconds
from fabricstudy.workload.pattern.base import Pattern

from .common import add_study, load_pipeline, results_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study(parser)
    parser.add_argument("--list", action="store_true", help="also list the points: id, experiment, labels, seed")
    parser.add_argument("--batch-cpu-s", type=_seconds, default=BATCH_CPU_S, help="predicted seconds per batch")


def _seconds(text: str) -> float:
    try:
        return TypeAdapter(Seconds).validate_python(float(text))
    except (ValueError, ValidationError):
        raise argparse.ArgumentTypeError(f"{text}: not a number of seconds above 0") from None


def summarise_plan(args: argparse.Namespace) -> dict[str, Any]:
    """Count a study's points, cached points and batches, and predict their CPU time."""
    results = results_folder(args)
    pipeline = load_pipeline(args.study, args.batch_cpu_s)
    points = pipeline.plan.points
    states = {key: validity(point_store(results).record(key), planned.point) for key, planned in points.items()}
    new = [points[key] for key, state in states.items() if state is Validity.INVALID]
    unchecked = sum(state is Validity.UNCHECKED for state in states.values())
    limits = pipeline.plan.study.limits
    engines = {planned.point.engine.kind for planned in points.values()}
    forecasts = [(_cost(planned), _memory_bytes(planned), planned.point.engine.processes) for planned in new]
    elapsed_s = [seconds / processes for seconds, _, processes in forecasts]
    summary = {
        "study": pipeline.name, "points": len(points), "rows": len(pipeline.plan.rows), "new": len(new),
        "cached": len(states) - len(new) - unchecked, "unchecked": unchecked,
        "machines": len(pipeline.plan.machines), "batches": len(pipeline.batches),
        "analyses": len(pipeline.plan.study.analyses), "schedules": len(pipeline.plan.study.schedules),
        "runs": len(pipeline.plan.runs),
        "runs_cpu_s": round(sum(chunk.cpu_s for chunk in pipeline.run_chunks.values()), 1),
        "cpu_s": round(sum(cpu_s for cpu_s, *_ in forecasts), 3),
        "cores": max((processes for *_, processes in forecasts), default=1),
        "longest_s": round(max(elapsed_s, default=0.0), 3),
        "over_time": sum(seconds > limits.time_s for seconds in elapsed_s),
        "over_memory": sum(size_bytes > limits.memory_bytes for _, size_bytes, _ in forecasts),
        "missing_engines": sorted(name for name in engines if not engine_named(name).probe().found),
        "steps": _steps(points.values()),
    }  # fmt: skip
    if args.list:
        summary["list"] = [
            {
                "point_id": row.point_id,
                "experiment": row.experiment,
                **{f"axis.{name}": label for name, label in row.labels.items()},
                "seed": row.seed,
                "machine_id": points[row.point_id].machine_id,
                **pipeline.columns_of(points[row.point_id]),
            }
            for row in pipeline.plan.rows
        ]
    return summary


def _steps(planned: Iterable[PlannedPoint]) -> list[dict[str, Any]]:
    """Return the distinct estimates of the jobs whose patterns have some, by ranks and bound."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for point in (planned_point.point for planned_point in planned):
        for job in point.jobs:
            if type(job.pattern).estimates is not Pattern.estimates:
                cores = point.machine.cores_per_node
                ranks = job.rank_count(point.machine.nodes, cores)
                # Messages within a node take no time.
                Bps = inf if job.ranks_on_node(cores) > 1 else point.machine.build().host.bandwidth_Bps
                step = {"ranks": ranks} | job.pattern.estimates(ranks, Bps)
                step["outside_ns"] = outside_ns(step, point.machine.scale_up)
                found[tuple(step.values())] = step
    return sorted(found.values(), key=lambda step: (step["ranks"], step["bound_ns"]))


def outside_ns(step: Mapping[str, Any], domains: ScaleUp | None) -> float:
    """Return the additional time of all-reduces if tensor-parallel groups cross scale-up domains.

    The ranks of a domain are consecutive.
    """
    if domains is None or domains.accelerators % step["tensor_span"] == 0:
        return 0.0
    tensor_bytes: float = step["tensor_bytes"]
    return tensor_bytes * (1 / domains.outside_Bps - 1 / domains.inside_Bps) * NS_PER_S


def _cost(point: PlannedPoint) -> float:
    cpu_s = engine_named(point.point.engine.kind).predict_cpu_s(point.point)
    if not isfinite(cpu_s):
        problem = f"{point.point_id}: its predicted time is {cpu_s}"
        raise FabricstudyError(f"{problem}; fix the closed forms of the extension of its kinds", "extension")
    return cpu_s


def _memory_bytes(planned: PlannedPoint) -> float:
    return engine_named(planned.point.engine.kind).predict_memory_bytes(planned.point) or 0.0


def show_plan(summary: dict[str, Any]) -> None:
    print(f"study     {summary['study']}")
    rows = summary.get("list", [])
    for row in [rows[0].keys(), *(row.values() for row in rows)] if rows else []:
        print(*row, sep="\t")
    if summary["analyses"]:
        print(f"analyses  {summary['analyses']} without simulation")
    if summary["runs"]:
        schedules = count_noun(summary["schedules"], "schedule")
        print(f"runs      {summary['runs']} of {schedules}, predicted {cpu_time(summary['runs_cpu_s'])}")
    machines, rows_of_tables = count_noun(summary["machines"], "machine"), count_noun(summary["rows"], "row")
    print(f"points    {summary['points']} on {machines}, for {rows_of_tables} of the tables")
    print(f"new       {summary['new']}")
    print(f"cached    {summary['cached']} (simulated before)")
    if summary["unchecked"]:
        print(f"unchecked {summary['unchecked']} (code changed: simulated again if the simulator's input changed)")
    print(f"batches   {summary['batches']}")
    print(f"predicted {cpu_time(summary['cpu_s'])} for the new points")
    if summary["cores"] > 1:
        minutes = f"{summary['longest_s'] / 60:.1f} minutes"
        print(f"cores     up to {summary['cores']} for a point, if --cores allows; the longest then takes {minutes}")
    for limit, count in (("time", summary["over_time"]), ("memory", summary["over_memory"])):
        if count:
            problem = f"{count} of the new points {'is' if count == 1 else 'are'} predicted to exceed limits.{limit}"
            print(f"warning   {problem} and would not be done; raise it, or make them smaller")
    for engine in summary["missing_engines"]:
        print(f"warning   engine {engine} is missing, its points will be skipped; see: fabricstudy engines")
    _show_steps(summary["steps"])


def _show_steps(steps: list[dict[str, Any]]) -> None:
    """Print what a rank sends and computes in each training step."""
    for step in steps:
        degrees = " x ".join(f"{name} {step[name]}" for name in ("tensor", "pipeline", "data", "expert"))
        print(f"step      {step['model'] or 'model'} of {step['parameters'] / 1e9:.4g} billion parameters: {degrees}")
        sent = (f"{name} {step[f'{name}_bytes'] / 1e9:.3g} GB" for name in ("tensor", "pipeline", "data", "expert"))
        print(f"          a rank sends {', '.join(sent)}")
        print(
            f"          and computes {step['compute_ns'] / 1e6:,.4g} ms; bubble {step['bubble']:.1%}; "
            f"the step takes {step['bound_ns'] / 1e6:,.4g} ms or more"
        )
        if step["outside_ns"] > 0:
            print(
                "warning   tensor-parallel groups cross scale-up domains, whose links are faster than those between "
                f"them: a step takes about {step['outside_ns'] / 1e6:,.4g} ms more; set parallel.tensor to a divisor "
                "of machine.accelerators"
            )
