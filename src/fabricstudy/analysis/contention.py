"""Messages that share links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Model, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.hops import hop_distances
from fabricstudy.routing.dimension_order import DimensionOrderRoutes
from fabricstudy.workload.job import Job
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.mapping.linear import LinearMapping
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.placing import place

from .base import Analysis

Ints = npt.NDArray[np.int64]


class Case(Model):
    """A job on all nodes of a machine with dimensions."""

    machine: Topology = Field(description="a machine with dimensions")
    pattern: Pattern = Field(description="pattern of the messages, whose sizes do not count")
    mapping: Mapping = Field(default_factory=LinearMapping, description="mapping of the ranks")

    @model_validator(mode="after")
    def _has_dimensions(self) -> Case:
        if "dimensions" not in self.machine.traits:
            problem = f"a machine of kind {self.machine.kind} has no dimensions"
            raise ConfigError(problem, "use a torus or a mesh", ("machine",), code="unsupported")
        self.mapping.check_fit(self.machine, self.pattern, self.machine.nodes * self.machine.cores_per_node)
        return self


@register
class Contention(Analysis):
    """How many messages share the links when all are under way at once, in dimension order, one way half-way round.

    If each link is shared fairly, a large message takes as long as the bottleneck link on its way needs. So `on_way` of
    one case over that of another predicts the ratio of their mean times, and `bottleneck_uses` that of their last
    messages.
    Phases are counted by themselves; random cases are drawn several times. The columns:

    * `case`: label of the row
    * `links`, `diameter`: directed links between routers, and most hops between two of them
    * `hop_distances`: mean hops of a message
    * `uses`, `uses_of_link`: links that all messages take together, and that over `links`
    * `bottleneck_uses`: messages on the bottleneck link of a phase
    * `on_way`: messages on the bottleneck link of a message's route, mean over all messages
    """

    keys: ClassVar[tuple[str, ...]] = ("case",)
    numbers: ClassVar[tuple[str, ...]] = (
        "links",
        "diameter",
        "hops",
        "uses",
        "uses_of_link",
        "bottleneck_uses",
        "on_way",
    )

    kind: Literal["contention"] = "contention"
    cases: dict[str, Case] = Field(min_length=1, max_length=100, description="{label: job on a machine}")
    draws: Whole = Field(5, ge=1, le=1000, description="seeds over which random cases are averaged, from 1 on")

    def rows(self) -> list[dict[str, Any]]:
        return [{"case": label, **_facts(case, self.draws)} for label, case in self.cases.items()]


@dataclass(frozen=True)
class _Drawn:
    jobs: tuple[Job, ...]
    seed: int


def _facts(case: Case, draws: int) -> dict[str, Any]:
    machine = case.machine.build()
    job = Job(share=1.0, pattern=case.pattern, mapping=case.mapping)
    drawn = [_counted(machine, _Drawn((job,), seed)) for seed in range(1, draws + 1)]
    uses, highest, on_way, length = np.mean(drawn, axis=0).tolist()
    return {
        "links": machine.links, "diameter": int(hop_distances(machine).matrix().max()), "hops": length, "uses": uses,
        "uses_of_link": uses / machine.links, "bottleneck_uses": highest, "on_way": on_way,
    }  # fmt: skip


def _counted(machine: Machine, drawn: _Drawn) -> tuple[float, float, float, float]:
    """Return uses of links, messages on the bottleneck link, on that of a message's route, and hops of a message."""
    (job,) = place(drawn, machine, np.zeros(machine.routers, dtype=np.bool_))
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


def _steps(machine: Machine, at: Ints, goal: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield hop after hop the messages that still move, and the link that each uses."""
    routes, at = DimensionOrderRoutes(machine, "positive"), at.copy()
    while (at != goal).any():
        step = routes.next_hops(at, goal)
        yield step.packet, step.link
        at[step.packet] = machine.link_head[step.link]
