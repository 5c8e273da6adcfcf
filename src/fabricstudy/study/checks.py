"""Checks that the parts of a point fit together, before anything is built."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.registry import engine_of, engines
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.job import MAX_JOBS, Job
from fabricstudy.workload.offered import Offered
from fabricstudy.workload.pattern.base import Pattern


def check_point(machine: Topology, routing: Routing, jobs: Sequence[Job], offered: Offered | None = None) -> None:
    """Refuse routings and offered traffic that the machine cannot have, and jobs that cannot run together on it.

    Raises ConfigError with the path below the point.
    """
    _check_trait(machine, routing, "routing", ("routing", "kind"))
    with _below("routing"):
        routing.check_machine(machine)
    if offered is not None:
        with _below("offered", "traffic"):
            offered.traffic.check_on(machine)
    numbered = [(str(number), copy) for number, job in enumerate(jobs) for copy in job.copies()]
    if len(numbered) > MAX_JOBS:
        problem = f"{len(numbered):,} jobs are too many"
        raise ConfigError(problem, f"use at most {MAX_JOBS:,}", ("jobs",), code="out-of-range")
    for number, job in enumerate(jobs):
        _check_trait(machine, job.allocation, "allocation", ("jobs", str(number), "allocation"))
    background = [number for number, job in enumerate(jobs) if job.background]
    if background and all(job.background or job.pattern.is_idle for job in jobs):
        problem = "all communicating jobs are background jobs, so that the simulation would never end"
        path = ("jobs", str(background[0]), "background")
        raise ConfigError(problem, "leave background out of one of them", path, True, code="conflicting-keys")
    _check_sizes(machine, numbered)
    _check_nodes(machine, numbered)
    for number, job in enumerate(jobs):
        _check_ranks(machine, job, ("jobs", str(number)))


def check_engine(engine: EngineSettings) -> None:
    """Refuse several processes on an engine that uses one. Raises ConfigError with the path below the engine."""
    if engine.processes > 1 and not engine_of(engine).shares_cores:
        parallel = " or ".join(name for name, adapter in engines().items() if adapter.shares_cores)
        problem = f"the engine {engine.kind} simulates a point on one core"
        remedy = f"leave it out, or use {parallel}; Snakemake's --cores simulates several points at once"
        raise ConfigError(problem, remedy, ("processes",), engine.processes, "unsupported")


_TRAITS = {
    "dimensions": "the dimensions of a grid", "levels": "the levels of a tree", "pods": "the pods of a fat-tree",
    "groups": "groups of routers",
}  # fmt: skip


def _check_trait(machine: Topology, asking: Routing | Allocation, noun: str, path: tuple[str, ...]) -> None:
    if asking.needs is not None and asking.needs not in machine.traits:
        faults = "" if machine.faults is None else " with faults"
        needed = _TRAITS.get(asking.needs, asking.needs)
        problem = f"this {noun} needs {needed}, and a machine of kind {machine.kind}{faults} has none"
        others = "minimal, valiant, ugal, adaptive or table" if noun == "routing" else "cluster or random"
        remedy = f"use another {noun}, such as {others}"
        raise ConfigError(problem, remedy, path, asking.kind, code="unsupported")


def _check_sizes(machine: Topology, jobs: Sequence[tuple[str, Job]]) -> None:
    share = sum(job.share or 0 for _, job in jobs)
    if share > 1 + 1e-9:
        problem = f"the shares of the jobs sum to {share:g}"
        raise ConfigError(problem, "lower them to a sum of at most 1", ("jobs",), code="does-not-fit")
    needed = 0
    for number, job in jobs:
        nodes = job.node_count(machine.nodes)
        path = ("jobs", number, _size_key(job))
        if nodes == 0:
            problem = f"its share of {machine.nodes} nodes is less than one node"
            raise ConfigError(problem, "raise it, or write nodes: 1", path, job.share, code="does-not-fit")
        with _below("jobs", number, "allocation"):
            reserved = job.allocation.reserved_nodes(machine, nodes)
        needed += reserved
        if needed > machine.nodes:
            before = f" after {needed - reserved} for the jobs before it" if needed > reserved else ""
            by_allocation = f" ({reserved} by its allocation)" if reserved > nodes else ""
            problem = f"the job needs {nodes} nodes{by_allocation}{before}, and the machine has {machine.nodes}"
            remedy = "use smaller jobs or a larger machine"
            raise ConfigError(problem, remedy, path, job.nodes or job.share, code="does-not-fit")


@contextmanager
def _below(*path: str) -> Iterator[None]:
    """Prepend the path of a point's part to that of a mistake in it."""
    try:
        yield
    except ConfigError as error:
        raise error.below(*path) from None
    except (Exception, SystemExit) as error:
        raise ConfigError.of_extension(error).below(*path) from None


def _size_key(job: Job) -> str:
    return "nodes" if job.nodes is not None else "share" if job.share is not None else "allocation"


def _check_nodes(machine: Topology, jobs: Sequence[tuple[str, Job]]) -> None:
    if all(job.allocation.node_count() is None for _, job in jobs):
        return
    holder: dict[int, int] | None = {}
    for position, (number, job) in enumerate(jobs):
        with _below("jobs", number, "allocation"):
            nodes = job.allocation.planned_nodes(machine, holder, job.node_count(machine.nodes))
        # After a random allocation it is not known which nodes are free.
        holder = None if nodes is None or holder is None else holder | dict.fromkeys(nodes, position)


def _check_ranks(machine: Topology, job: Job, path: tuple[str, ...]) -> None:
    ranks = job.rank_count(machine.nodes, machine.cores_per_node)
    if job.ranks_on_node(machine.cores_per_node) > machine.cores_per_node * job.ranks_per_core:
        problem = f"more ranks than {job.ranks_per_core} for each of the {machine.cores_per_node} cores of a node"
        remedy, path = "lower it, or raise ranks_per_core or machine.cores_per_node", (*path, "ranks_per_node")
        raise ConfigError(problem, remedy, path, job.ranks_per_node, code="does-not-fit")
    if job.pattern.is_idle:
        return
    if ranks < 2:
        problem = f"the pattern {job.pattern.kind} needs at least 2 ranks and gets {ranks}"
        raise ConfigError(problem, "raise the nodes of the job", (*path, _size_key(job)), code="does-not-fit")
    with _below(*path, "pattern"):
        job.pattern.check_machine(machine)
        job.pattern.check_ranks(ranks)
        _check_traffic(job.pattern, ranks)
    with _below(*path, "mapping"):
        job.mapping.check_fit(machine, job.pattern, ranks)


def _check_traffic(pattern: Pattern, ranks: int) -> None:
    """Refuse closed forms of a pattern that are not finite, on which bounds and forecasts depend."""
    counts = [pattern.traffic_messages(ranks)]
    with suppress(NotImplementedError):
        counts += [number for part in pattern.traffic(ranks) for number in (part.messages, part.size_bytes)]
    for count in counts:
        if not 0 <= count < inf:
            problem = f"its closed form returns {count} messages or bytes on {ranks} ranks"
            raise ConfigError(problem, "fix traffic_messages or traffic", (), pattern.kind, "extension")
