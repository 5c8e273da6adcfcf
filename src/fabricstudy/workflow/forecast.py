"""Predicted processor time of each stage of a study, for the jobs of one run.

Constants were measured on one core of a Xeon of 2.1 GHz; ``python -m benches stages`` compares them with a run.
"""

from collections.abc import Mapping

from fabricstudy.machine.base import Topology

from .pipeline import Pipeline

START_CPU_S = {
    "plan": 1.2, "machine": 0.8, "structure": 0.7, "workload": 0.7, "simulate": 0.9, "schedule": 0.9,
    "analysis": 0.9, "table": 1.9, "report": 2.2,
}  # fmt: skip
"""Of a job of each rule, mostly imports."""

PLAN_POINT_CPU_S = 1.2e-3
"""Of the plan for each point."""
BUILD_CPU_S, CABLE_CPU_S = 0.02, 2e-6
STRUCTURE_CPU_S, PAIR_CPU_S = 0.3, 5e-7
"""Of the bisection of a machine, and of each searched distance of two routers."""
ROW_CPU_S, FIGURE_CPU_S = 2e-3, 0.7
"""Of the tables and the report for each row of a point, and of each figure."""


def stage_cpu_s(pipeline: Pipeline) -> dict[str, float]:
    """Return the predicted processor time of all jobs of each rule; rules without jobs are left out."""
    work = _work_cpu_s(pipeline)
    return {rule: START_CPU_S[rule] * n + work.get(rule, 0.0) for rule, n in job_counts(pipeline).items() if n}


def work_cpu_s(pipeline: Pipeline) -> float:
    """Return the predicted processor time of all jobs, without the starts of processes."""
    return sum(_work_cpu_s(pipeline).values())


def _work_cpu_s(pipeline: Pipeline) -> dict[str, float]:
    plan = pipeline.plan
    machines = plan.machines.values()
    return {
        "plan": PLAN_POINT_CPU_S * len(plan.points),
        "machine": sum(BUILD_CPU_S + CABLE_CPU_S * machine.cables for machine in machines),
        "structure": sum(STRUCTURE_CPU_S + PAIR_CPU_S * _searched_pairs(machine) for machine in machines),
        "workload": sum(workload.cpu_s for workload in pipeline.workloads.values()),
        "simulate": sum(batch.cpu_s for batch in pipeline.batches.values()),
        "schedule": sum(chunk.cpu_s for chunk in pipeline.run_chunks.values()),
        "analysis": sum(analysis.predicted_cpu_s for analysis in plan.study.analyses.values()),
        "table": ROW_CPU_S * len(plan.rows),
        "report": ROW_CPU_S * len(plan.rows) + FIGURE_CPU_S * len(plan.study.report_figures),
    }


def _searched_pairs(machine: Topology) -> int:
    """Return the number of pairs of routers whose distance is searched; in a grid it is a sum over dimensions."""
    return 0 if "dimensions" in machine.traits else machine.routers**2


def job_counts(pipeline: Pipeline) -> dict[str, int]:
    """Return the number of jobs of each rule."""
    chunks = len(pipeline.machine_chunks)
    return {
        "plan": 1, "machine": chunks, "structure": chunks, "workload": len(pipeline.workload_chunks),
        "simulate": len(pipeline.batches), "schedule": len(pipeline.run_chunks),
        "analysis": len(pipeline.plan.study.analyses), "table": 1, "report": 1,
    }  # fmt: skip


def job_cpu_s(pipeline: Pipeline) -> Mapping[str, float]:
    """Return the mean predicted processor time of a job of each rule."""
    jobs, stages = job_counts(pipeline), stage_cpu_s(pipeline)
    small = {f"small_{pipeline.name}": work_cpu_s(pipeline) + max(START_CPU_S.values())}
    return {rule: cpu_s / jobs[rule] for rule, cpu_s in stages.items()} | small
