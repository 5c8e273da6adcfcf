"""``fabricstudy plan``: check a study and predict its cost."""

import argparse
from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fabricstudy.core.phrasing import count_noun, cpu_time, duration
from fabricstudy.core.store import point_store
from fabricstudy.engine.buffers import least_buffer_limit, may_be_short
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.forecast import measured_factors, predicted_cpu_s
from fabricstudy.engine.packet_remarks import packet_remarks
from fabricstudy.engine.point import PlannedPoint, Point
from fabricstudy.engine.registry import engine_of, missing_engines
from fabricstudy.engine.validity import is_valid, is_valid_with_same_input
from fabricstudy.machine.graph import Machine
from fabricstudy.workflow.forecast import job_counts, stage_cpu_s
from fabricstudy.workflow.jobs import jobs_of
from fabricstudy.workflow.pipeline import BATCH_CPU_S, JOB_CPU_S, SNAKEMAKE_CPU_S, Seconds
from fabricstudy.workflow.snakefile import SMALL_CPU_S
from fabricstudy.workload.allocation.base import Allocation
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


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Count a study's points, cached points and batches, and predict their CPU time."""
    results = results_folder(args)
    pipeline = load_pipeline(args.study, args.batch_cpu_s)
    points = pipeline.plan.points
    records = {key: point_store(results).record(key) for key in points}
    others = [key for key, planned in points.items() if not is_valid(records[key], planned.point)]
    new = [points[key] for key in others if not is_valid_with_same_input(records[key], points[key].point)]
    unchecked = len(others) - len(new)
    second = [planned for planned in new if planned.point_id in pipeline.plan.second_stage]
    limits, stages_s = pipeline.plan.study.limits, stage_cpu_s(pipeline)
    factors = measured_factors(points, point_store(results))
    unknown = Counter(planned.point.engine.kind for planned in new if planned.point.engine.kind not in factors)
    known = [planned for planned in new if planned.point.engine.kind in factors]
    cpu_s = {planned.point_id: factors[planned.point.engine.kind] * predicted_cpu_s(planned) for planned in known}
    elapsed_s = [cpu_s[planned.point_id] / planned.point.engine.processes for planned in known]
    memory_bytes = [engine_of(planned.point.engine).predict_memory_bytes(planned.point) for planned in known]
    job_count = 1 if jobs_of(pipeline).is_small(SMALL_CPU_S) else sum(job_counts(pipeline).values())
    summary = {
        "study": pipeline.name, "points": len(points), "rows": len(pipeline.plan.rows), "new": len(new),
        "cached": len(points) - len(others), "unchecked": unchecked,
        "machines": len(pipeline.plan.machines), "jobs": job_count,
        "batches": len(pipeline.batches),
        "analyses": len(pipeline.plan.study.analyses), "schedules": len(pipeline.plan.study.schedules),
        "runs": len(pipeline.plan.runs),
        "runs_cpu_s": round(sum(chunk.cpu_s for chunk in pipeline.run_chunks.values()), 1),
        "stages_cpu_s": {rule: round(seconds, 1) for rule, seconds in stages_s.items()},
        "cpu_s": round(sum(cpu_s.values()), 3),
        "second_stage": len(second),
        "second_stage_cpu_s": round(sum(cpu_s.get(planned.point_id, 0.0) for planned in second), 3),
        "cores": max((planned.point.engine.processes for planned in known), default=1),
        "longest_s": round(max(elapsed_s, default=0.0), 3),
        "over_time": sum(seconds > limits.time_s for seconds in elapsed_s),
        "over_memory": sum(size_bytes > limits.memory_bytes for size_bytes in memory_bytes),
        "unknown": dict(unknown),
        "missing_engines": missing_engines(planned.point.engine for planned in points.values()),
        "refused": dict(Counter(filter(None, (engine_of(part.point.engine).lacks(part.point) for part in new)))),
        "buffer_limits": _buffer_limits(points.values()),
        "allocation_remarks": _allocation_remarks(points.values()),
        "packet_remarks": packet_remarks(planned.point for planned in points.values()),
        "estimates": _estimates(points.values()),
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


def _buffer_limits(planned: Iterable[PlannedPoint]) -> dict[str, int]:
    """Return what is known of points whose buffers do not keep links in full use, each with its number of points."""
    found: Counter[str] = Counter()
    texts: dict[tuple[Any, ...], str] = {}
    machines: dict[str, Machine] = {}
    for machine_id, point in ((planned_point.machine_id, planned_point.point) for planned_point in planned):
        parts = (machine_id, *map(id, (point.routing, point.network, point.engine, point.offered)))
        if parts not in texts:
            if machine_id not in machines:
                machines[machine_id] = point.machine.build()
            texts[parts] = _buffer_limit(point, machines[machine_id])
        if texts[parts]:
            found[texts[parts]] += 1
    return dict(found)


def _buffer_limit(point: Point, machine: Machine) -> str:
    if not may_be_short(point, machine):
        return ""
    try:
        limit = least_buffer_limit(point, machine, engine_of(point.engine))
    except Unsupported:
        return ""
    return "" if limit is None or limit.share == 1 else limit.describe()


def _allocation_remarks(planned: Iterable[PlannedPoint]) -> dict[str, int]:
    """Return what is known of allocations of so many nodes, each with its number of points."""
    found: Counter[str] = Counter()
    for point in (planned_point.point for planned_point in planned):
        jobs = [job for job in point.jobs if type(job.allocation).remark is not Allocation.remark]
        for allocation in {job.allocation for job in jobs}:
            nodes = sum(job.node_count(point.machine.nodes) for job in jobs if job.allocation == allocation)
            if remark := allocation.remark(nodes, point.machine.nodes):
                found[f"allocation {allocation.kind}: {remark}"] += 1
    return dict(found)


def _estimates(planned: Iterable[PlannedPoint]) -> list[dict[str, Any]]:
    """Return the distinct estimates of the jobs whose patterns have some, each with its number of points."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for point in (planned_point.point for planned_point in planned):
        for job in point.jobs:
            if type(job.pattern).estimates is not Pattern.estimates:
                cores = point.machine.cores_per_node
                ranks = job.rank_count(point.machine.nodes, cores)
                # Messages within a node take no time.
                ports_Bps = point.network.ports_per_node * point.machine.build().host.bandwidth_Bps
                Bps = inf if job.ranks_on_node(cores) > 1 else ports_Bps
                estimates = job.pattern.estimates(ranks, Bps, point.machine.scale_up)
                text = job.pattern.describe(estimates)
                row = {"ranks": ranks, **estimates, "text": text, "points": 0}
                found.setdefault((ranks, *estimates.values()), row)["points"] += 1
    return list(found.values())


def show(summary: dict[str, Any]) -> None:
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
    print(f"predicted {cpu_time(summary['cpu_s'])} of the simulators for the new points")
    if summary["second_stage"]:
        least_s = summary["cpu_s"] - summary["second_stage_cpu_s"]
        decided = count_noun(summary["second_stage"], "point")
        print(f"          at most; at least {cpu_time(least_s)}: results decide which of {decided} are simulated")
    for engine, count in summary["unknown"].items():
        print(f"          and that of {count_noun(count, 'point')} on {engine}, not known yet: none is finished")
    others = {rule: seconds for rule, seconds in summary["stages_cpu_s"].items() if rule != "simulate"}
    listed = ", ".join(f"{rule} {duration(seconds)}" for rule, seconds in others.items())
    print(f"stages    predicted {cpu_time(sum(others.values()))} beside the simulations, if all run: {listed}")
    overhead_s = SNAKEMAKE_CPU_S + JOB_CPU_S * summary["jobs"]
    print(f"overhead  about {cpu_time(overhead_s)} of Snakemake for {count_noun(summary['jobs'], 'job')}, if all run")
    if summary["cores"] > 1:
        minutes = f"{summary['longest_s'] / 60:.1f} minutes"
        print(f"cores     up to {summary['cores']} for a point, if --cores allows; the longest then takes {minutes}")
    for limit, count in (("time", summary["over_time"]), ("memory", summary["over_memory"])):
        if count:
            problem = f"{count} of the new points {'is' if count == 1 else 'are'} predicted to exceed limits.{limit}"
            print(f"warning   {problem} and would not be done; raise it, or make them smaller")
    for engine in summary["missing_engines"]:
        print(f"warning   engine {engine} is missing, its points will be skipped; see: fabricstudy list engines")
    for reason, count in summary["refused"].items():
        print(f"warning   {count_noun(count, 'point')} would not be simulated: {reason}")
    for limit, count in summary["buffer_limits"].items():
        print(f"warning   {count_noun(count, 'point')}: {limit}")
    for remark, count in (summary["allocation_remarks"] | summary["packet_remarks"]).items():
        print(f"warning   {count_noun(count, 'point')}: {remark}")
    for estimate in summary["estimates"]:
        print(f"estimate  of {count_noun(estimate['points'], 'point')}, {count_noun(estimate['ranks'], 'rank')} each:")
        print(*(f"          {line}" for line in estimate["text"]), sep="\n")
