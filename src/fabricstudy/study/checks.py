"""What a point's parts must agree on, checked before anything is built."""

from __future__ import annotations

from collections.abc import Sequence

from fabricstudy.machine.base import Topology
from fabricstudy.model import ConfigError
from fabricstudy.routing.base import Routing
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.allocation.cluster import Cluster
from fabricstudy.workload.allocation.explicit import ExplicitNodes
from fabricstudy.workload.holding import nodes_held
from fabricstudy.workload.job import Job
from fabricstudy.workload.mapping.file import MappingFile
from fabricstudy.workload.mapping.recursive_bisection import RecursiveBisection
from fabricstudy.workload.pattern.idle import Idle


def check_point(machine: Topology, routing: Routing, jobs: Sequence[Job]) -> None:
    """Refuse a routing that the machine cannot have, and jobs that cannot run together on it.

    Raises
    ------
    ConfigError
        With the path below the point.
    """
    _check_trait(machine, routing, "routing", ("routing", "kind"))
    for number, job in enumerate(jobs):
        _check_trait(machine, job.allocation, "allocation", ("jobs", str(number), "allocation"))
    _check_sizes(machine, jobs)
    _check_nodes(machine, jobs)
    for number, job in enumerate(jobs):
        _check_ranks(machine, job, ("jobs", str(number)))


_SAYS = {"dimensions": "the dimensions of a grid", "levels": "the levels of a tree", "groups": "groups of routers"}


def _check_trait(machine: Topology, asking: Routing | Allocation, noun: str, path: tuple[str, ...]) -> None:
    if asking.needs is not None and asking.needs not in machine.traits:
        problem = f"this {noun} needs {_SAYS[asking.needs]}, and a machine of kind {machine.kind} has none"
        raise ConfigError(
            problem, f"take another {noun}, such as {_ANYWHERE[noun]}", path, asking.kind, code="machine-does-not-fit"
        )


_ANYWHERE = {"routing": "minimal", "allocation": "cluster"}


def _check_sizes(machine: Topology, jobs: Sequence[Job]) -> None:
    share = sum(job.share or 0 for job in jobs)
    if share > 1 + 1e-9:
        raise ConfigError(
            f"the shares of the jobs sum to {share:g}", "let them sum to at most 1", ("jobs",), code="jobs-too-large"
        )
    needed = 0
    for number, job in enumerate(jobs):
        own = job.node_count(machine.nodes)
        path = ("jobs", str(number), _size_key(job))
        if own == 0:
            problem = f"the job gets no node of a machine of {machine.nodes}"
            raise ConfigError(problem, "raise its share, or say nodes: 1", path, job.share, code="no-node")
        held = _held(machine, job, number)
        needed += held
        if needed > machine.nodes:
            before = f" after {needed - held} for the jobs before it" if number else ""
            whole = f" ({held} by its allocation)" if held > own else ""
            problem = f"the job needs {own} nodes{whole}{before}, and the machine has {machine.nodes}"
            raise ConfigError(
                problem,
                "make the jobs smaller or the machine larger",
                path,
                job.nodes or job.share,
                code="jobs-too-large",
            )


def _held(machine: Topology, job: Job, number: int) -> int:
    try:
        return nodes_held(machine, job)
    except ConfigError as error:
        raise error.below("jobs", str(number)) from None


def _size_key(job: Job) -> str:
    return "nodes" if job.nodes is not None else "share" if job.share is not None else "allocation"


def _check_nodes(machine: Topology, jobs: Sequence[Job]) -> None:
    if not any(isinstance(job.allocation, ExplicitNodes) for job in jobs):
        return
    free = set(range(machine.nodes))
    holder: dict[int, int] = {}
    drawn = False  # whether an earlier job's nodes are known only once they are drawn
    for number, job in enumerate(jobs):
        path = ("jobs", str(number), "allocation")
        if isinstance(job.allocation, ExplicitNodes):
            outside = [node for node in job.allocation.nodes if node >= machine.nodes]
            if outside:
                raise ConfigError(
                    f"there is no such node on a machine of {machine.nodes}",
                    f"take 0 to {machine.nodes - 1}",
                    (*path, "nodes"),
                    outside[0],
                    code="no-such-node",
                )
            if drawn:
                raise ConfigError(
                    "an earlier job may take these nodes", "put jobs with explicit nodes first", path, code="node-taken"
                )
            taken = [node for node in job.allocation.nodes if node not in free]
            if taken:
                raise ConfigError(
                    f"job {holder[taken[0]]} holds the node already",
                    "give each node to one job",
                    (*path, "nodes"),
                    taken[0],
                    code="node-taken",
                )
            nodes = list(job.allocation.nodes)
        elif isinstance(job.allocation, Cluster) and not drawn:
            nodes = sorted(free)[: job.node_count(machine.nodes)]
        else:
            drawn, nodes = True, []
        free.difference_update(nodes)
        holder.update(dict.fromkeys(nodes, number))


def _check_ranks(machine: Topology, job: Job, path: tuple[str, ...]) -> None:
    ranks = job.rank_count(machine.nodes, machine.cores_per_node)
    if job.ranks_per_node is not None and job.ranks_per_node > machine.cores_per_node:
        raise ConfigError(
            f"more ranks than the {machine.cores_per_node} cores of a node",
            "lower it, or raise machine.cores_per_node",
            (*path, "ranks_per_node"),
            job.ranks_per_node,
            code="too-many-ranks",
        )
    if isinstance(job.pattern, Idle):
        return
    if ranks < 2:
        problem = f"the pattern {job.pattern.kind} needs at least 2 ranks and gets {ranks}"
        raise ConfigError(problem, "give the job more nodes", (*path, _size_key(job)), code="too-few-ranks")
    try:
        job.pattern.check_ranks(ranks)
    except ConfigError as error:
        raise error.below(*path, "pattern") from None
    if isinstance(job.mapping, RecursiveBisection) and job.pattern.follows_placement:
        raise ConfigError(
            f"recursive-bisection places ranks by their traffic, and {job.pattern.kind} gets its traffic by placement",
            "take another mapping, such as linear or random",
            (*path, "mapping"),
            job.mapping.kind,
            code="mapping-does-not-fit",
        )
    if isinstance(job.mapping, MappingFile) and len(job.mapping.cores) != ranks:
        raise ConfigError(
            f"the mapping file has {len(job.mapping.cores)} lines for {ranks} ranks",
            "write one core a rank",
            (*path, "mapping", "file"),
            job.mapping.file,
            code="mapping-file",
        )
