"""Messages that share links."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from fabricstudy.analysis.base import Analysis, Row
from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Model, Whole, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.dimension_order import DimensionOrderRoutes
from fabricstudy.workload.job import Job
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.mapping.linear import LinearMapping
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.placing import place


class Case(Model):
    """A job on all nodes of a machine with dimensions."""

    machine: Topology = Field(description="a machine with dimensions")
    pattern: Pattern = Field(description="pattern of the messages, whose sizes do not count")
    mapping: Mapping = Field(default_factory=LinearMapping, description="mapping of the ranks")

    @model_check
    def _has_dimensions(self) -> None:
        if "dimensions" not in self.machine.traits:
            problem = f"a machine of kind {self.machine.kind} has no dimensions"
            raise ConfigError(problem, "use a torus or a mesh", ("machine",), code="unsupported")
        self.mapping.check_fit(self.machine, self.pattern, self.machine.nodes * self.machine.cores_per_node)


class Contention(Analysis, kind="contention"):
    """Messages on each link if all are sent at once, with dimension-order routing and ties resolved upwards.

    If links are shared fairly, the time of a large message is that of the bottleneck link of its route. `on_way` of one
    case over that of another then predicts the ratio of their mean times, and `bottleneck_uses` that of their last
    messages. Phases are counted separately; random cases are averages over several seeds. The columns:

    * `case`: label of the row
    * `links`, `diameter`: directed links between routers, and most hops between two of them
    * `hops`: mean hops of a message
    * `uses`, `uses_of_link`: hops of all messages, and these over `links`
    * `bottleneck_uses`: messages on the bottleneck link of a phase
    * `on_way`: messages on the bottleneck link of a message's route, mean over all messages
    """

    keys = ("case",)
    numbers = ("links", "diameter", "hops", "uses", "uses_of_link", "bottleneck_uses", "on_way")

    cases: dict[str, Case] = Field(min_length=1, max_length=100, description="{label: job on a machine}")
    draws: Whole = Field(5, ge=1, le=1000, description="seeds over which random cases are averaged, from 1 on")

    def rows(self) -> list[Row]:
        return [{"case": label, **_facts(case, self.draws)} for label, case in self.cases.items()]


@dataclass(frozen=True)
class _PlacedPoint:
    jobs: tuple[Job, ...]
    seed: int


def _facts(case: Case, draws: int) -> Row:
    machine = case.machine.build()
    job = Job(share=1.0, pattern=case.pattern, mapping=case.mapping)
    counts = [_count(machine, _PlacedPoint((job,), seed)) for seed in range(1, draws + 1)]
    uses, highest, on_way, hops = np.mean(counts, axis=0).tolist()
    return {
        "links": machine.links, "diameter": int(hop_distances(machine).matrix().max()), "hops": hops, "uses": uses,
        "uses_of_link": uses / machine.links, "bottleneck_uses": highest, "on_way": on_way,
    }  # fmt: skip


def _count(machine: Machine, point: _PlacedPoint) -> tuple[float, float, float, float]:
    """Return uses of links, messages on the bottleneck link, on that of a message's route, and hops of a message."""
    (job,) = place(point, machine, np.zeros(machine.routers, dtype=np.bool_))
    router = machine.node_router[job.node_of_rank].astype(np.int64)
    uses, highest, on_way = 0, 0, 0.0
    for phase in np.unique(job.messages.phase):
        sent = job.messages.phase == phase
        steps = list(_steps(machine, router[job.messages.source[sent]], router[job.messages.destination[sent]]))
        load = sum((np.bincount(link, minlength=machine.links) for _, link in steps), np.zeros(machine.links, np.int64))
        most = np.zeros(np.count_nonzero(sent), dtype=np.int64)
        for packet, link in steps:
            most[packet] = np.maximum(most[packet], load[link])
        uses, highest, on_way = uses + int(load.sum()), max(highest, int(load.max())), on_way + float(most.sum())
    messages = max(1, len(job.messages))
    return uses, highest, on_way / messages, uses / messages


def _steps(machine: Machine, router: Ints, goal: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield for each hop the messages that are not at their goal yet, and the link that each uses."""
    routes, router = DimensionOrderRoutes(machine, "positive"), router.copy()
    while (router != goal).any():
        step = routes.next_hops(router, goal)
        yield step.packet, step.link
        router[step.packet] = machine.link_head[step.link]
