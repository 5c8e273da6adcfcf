"""Slowdown of jobs on partitions that lack rings or bisection: given, measured, or from bisections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.model import ConfigError, Model, Name, Number, Whole, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.machine.grid import GridConfig
from fabricstudy.structure.partitions import partition_space

from .jobs import Jobs
from .partitions import NodePool, Partitions, Variant

_Label = bool | int | float | str
_Condition = _Label | Annotated[tuple[_Label, ...], Field(min_length=1)]
Loss = Annotated[Number, Field(ge=0, le=100)]
_Share = Annotated[Number, Field(ge=0, le=1)]
_Numbers = tuple[Annotated[Whole, Field(ge=0)], ...]

_DRAW = 20_483
"""Separates the random stream of applications from those of the trace, which have the same seed."""


class Application(Model):
    """A part of the jobs with equal communication."""

    name: Annotated[
        str, Name("[A-Za-z0-9][A-Za-z0-9 _.-]{0,31}", "use letters, digits, blanks, '_', '.' and '-'", 32)
    ] = Field(description="name, for the tables")
    share: Annotated[Number, Field(gt=0)] = Field(1.0, description="share of the jobs, relative to the sum of shares")
    executables: _Numbers = Field((), description="numbers of its programs in the log, instead of a share")
    queues: _Numbers = Field((), description="numbers of its queues in the log, instead of a share")
    where: dict[str, _Condition] = Field(
        default_factory=dict, description="with `measured`: its points, {axis: label or [labels]}"
    )
    communication: _Share | None = Field(
        None, description="part of its run time that is communication; default: all (or that of `bisection`)"
    )
    mesh: Loss | None = Field(None, description="its loss on a mesh, instead of `slowdown.mesh`")
    partition: Literal["any", "torus", "mesh"] = Field(
        "any",
        description="partitions on which it runs: any; torus, never a mesh; or mesh, no torus if its size has meshes",
    )


class Measured(Model):
    """Slowdown from simulations of the same study: time on the degraded network over that on the torus, by size.

    Medians over seeds are compared. For sizes that the experiment does not have, it is the ratio of the times at the
    expected link loads of the experiment `beyond`, under the same labels.
    """

    experiment: str = Field(description="experiment whose points are compared")
    metric: Literal["runtime_ns", "expected_load_ns"] = Field("runtime_ns", description="column of the table `jobs`")
    of: dict[str, _Condition] = Field(
        min_length=1, description="labels of the degraded network: {axis: label or [labels]}"
    )
    against: dict[str, _Label] = Field(min_length=1, description="labels of the torus: {axis: label}")
    nodes: str = Field(description="axis whose labels are the nodes of the partition")
    beyond: str | None = Field(
        None, description="experiment whose times at the expected link loads are used at sizes that are not simulated"
    )

    @model_check
    def _same_axes(self) -> None:
        if set(self.of) != set(self.against):
            problem = "`of` and `against` name different axes"
            raise ConfigError(problem, "name the same axes in both", ("against",), code="not-comparable")


class Slowdown(Model):
    """Slowdown of jobs on partitions that are not tori; by default none.

    `mesh: 0.05` is 5 % longer. With `bisection: 0.3`, 30 % of the run time is communication, which grows by the ratio
    of the largest bisection of any partition of this size on the machine to that of the partition.
    """

    mesh: Loss | None = Field(None, description="loss of every job on a mesh: 0.05 is 5 % longer")
    measured: Measured | None = Field(None, description="from simulations of this study")
    bisection: _Share | None = Field(None, description="from bisections: part of the run time that is communication")
    applications: tuple[Application, ...] = Field(
        (), max_length=100, description="parts of the jobs with different communication; default: all are equal"
    )

    @model_check
    def _one_way(self) -> None:
        ways = [name for name in ("mesh", "measured", "bisection") if getattr(self, name) is not None]
        if len(ways) > 1:
            problem = f"the slowdown is given by {' and '.join(ways)}"
            raise ConfigError(problem, "keep one of them", (ways[1],), code="conflicting-keys")
        names = [application.name for application in self.applications]
        for number, name in enumerate(names):
            if name in names[:number]:
                path = ("applications", str(number), "name")
                raise ConfigError("two applications have this name", "use distinct names", path, name, "duplicate")

    @cached_property
    def kinds(self) -> tuple[Application, ...]:
        """The applications; one for all jobs if the study has none."""
        return self.applications or (Application(name="all"),)


@dataclass(frozen=True)
class Ratio:
    """Time on a lesser partition over that on a torus, and its source: simulated, or expected load."""

    value: float
    source: str


Ratios = Mapping[tuple[int, int], Ratio]
"""By number of the application and nodes of the partition."""


@dataclass(frozen=True, eq=False)
class SlowdownFactors:
    """Slowdown of each job on each variant of partition."""

    table: Floats
    """float64 array [jobs, variants], infinite where a job never runs."""
    application: Ints
    """int64 array [jobs]: number of the application."""
    source: npt.NDArray[np.str_]
    """text array [applications, variants]: source of the factor, none, given, bisection, simulated or expected load."""


def slowdown_factors(
    slowdown: Slowdown, jobs: Jobs, partitions: Partitions | NodePool, machine: Topology, seed: int, ratios: Ratios
) -> SlowdownFactors:
    """Return the slowdown of each job on each variant of partition.

    The best bisections of `machine` are the baseline of `bisection`; `seed` is that of the draw of applications;
    `ratios`, for `measured`, are those of all `non_torus_sizes`.
    """
    kinds, variants = slowdown.kinds, partitions.variants
    shares = np.array([application.share for application in kinds])
    drawn = np.random.default_rng([seed, _DRAW]).choice(len(kinds), len(jobs), p=shares / shares.sum())
    for number, application in enumerate(kinds):
        drawn[np.isin(jobs.executable, application.executables) | np.isin(jobs.queue, application.queues)] = number
    factors = [
        _factor(slowdown, application, variant, machine, ratios.get((number, variant.nodes)))
        for number, application in enumerate(kinds)
        for variant in variants
    ]
    shape = len(kinds), len(variants)
    table, source = (np.array(column).reshape(shape) for column in zip(*factors, strict=True))
    table[refused(kinds, variants)] = np.inf
    return SlowdownFactors(table[drawn], drawn.astype(np.int64), source)


def refused(kinds: Sequence[Application], variants: Sequence[Variant]) -> Bools:
    """Return whether jobs of an application never run on partitions of a variant, [applications, variants]."""
    meshes = {variant.nodes for variant in variants if not variant.torus}
    unwanted = {
        "any": [False for _ in variants],
        "torus": [not variant.torus for variant in variants],
        "mesh": [variant.torus and variant.nodes in meshes for variant in variants],
    }
    return np.array([unwanted[application.partition] for application in kinds])


def non_torus_sizes(partitions: Partitions | NodePool) -> list[int]:
    """Return the sizes, in nodes, of partitions that are not tori."""
    return sorted({variant.nodes for variant in partitions.variants if not variant.torus})


def _factor(
    slowdown: Slowdown, application: Application, variant: Variant, machine: Topology, ratio: Ratio | None
) -> tuple[float, str]:
    if slowdown.bisection is not None:
        share = slowdown.bisection if application.communication is None else application.communication
        if not variant.bisection_Bps or not isinstance(machine, GridConfig):
            return 1.0, "bisection"
        return 1 + share * (best_bisections(machine)[variant.nodes] / variant.bisection_Bps - 1), "bisection"
    loss = slowdown.mesh if application.mesh is None else application.mesh
    if variant.torus:
        return 1.0, "none"
    if slowdown.measured is not None:
        assert ratio is not None  # planned for all of them
        share = 1.0 if application.communication is None else application.communication
        return 1 + share * (ratio.value - 1), ratio.source
    return (1.0, "none") if loss is None else (1 + loss, "given")


def best_bisections(machine: GridConfig) -> dict[int, float]:
    """Return the largest bisection of each size of partition, in bytes per second by nodes.

    Examples
    --------
    >>> from fabricstudy.machine.base import published_machine
    >>> mira = best_bisections(published_machine("mira"))
    >>> mira[8 * 512] / mira[4 * 512]
    2.0
    """
    space = partition_space(machine)
    best: dict[int, float] = {}
    for geometry in space.geometries():
        nodes = space.nodes(geometry)
        best[nodes] = max(best.get(nodes, 0.0), space.bisection_Bps(geometry))
    return best
