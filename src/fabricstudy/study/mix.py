"""Random workloads of several jobs: a mix is drawn when the study is read, and expands to lists of jobs."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from fabricstudy.core.model import ConfigError, Flag, Model, Number, Whole, model_check
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.job import Compute, Job, JobName
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.pattern.base import Pattern

DRAWS = 10_000
"""Attempts to fill a workload."""

_Share = Annotated[Number, Field(gt=0, le=1)]
_Nodes = Annotated[Whole, Field(ge=1)]


class Mix(Model):
    """Workloads of jobs drawn at random until no further job fits, as in Jain et al. (IPDPS 2017).

    Sizes are drawn uniformly from those that still fit, patterns from those with fewer than `most_of_a_pattern` jobs. A
    workload that runs out of patterns before it is full is drawn again.
    """

    count: Whole = Field(ge=1, le=10_000, description="number of workloads; their labels are w01, w02, ...")
    seed: Whole = Field(1, ge=0, lt=2**31, description="seed of the draw; the same seed gives the same workloads")
    shares: tuple[_Share, ...] = Field((), description="sizes of jobs to draw from, as shares of the machine's nodes")
    nodes: tuple[_Nodes, ...] = Field((), description="sizes of jobs to draw from in nodes, instead of shares")
    fill: Number | None = Field(
        None, gt=0, description="total size to fill, in the unit of the sizes; default with shares: 1, all nodes"
    )
    patterns: dict[JobName, Pattern] = Field(
        min_length=1, description="patterns to draw from by name; a job has the name of its pattern"
    )
    most_of_a_pattern: Whole = Field(2, ge=1, description="most jobs of one pattern in a workload")
    allocation: Allocation | None = Field(None, description="allocation of the jobs drawn")
    mapping: Mapping | None = Field(None, description="mapping of the jobs drawn")
    ranks_per_node: Whole | None = Field(None, ge=1, description="ranks on each node of the jobs drawn")
    ranks_per_core: Whole = Field(1, ge=1, le=10_000, description="maximum ranks per core of the jobs drawn")
    compute: Compute | None = Field(None, description="what the ranks of the jobs drawn compute")
    background: Flag = Field(False, description="true: the jobs drawn repeat until those of `first` have ended")
    first: tuple[Job, ...] = Field((), description="jobs at the head of every workload")

    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_check
    def _one_unit(self) -> None:
        if bool(self.shares) == bool(self.nodes):
            remedy = "write either shares: [0.1, 0.2] or nodes: [100, 200]"
            raise ConfigError("a mix has either shares or nodes", remedy, code="conflicting-keys")
        if self.nodes and self.fill is None:
            problem = "sizes in nodes need the number of nodes to fill"
            raise ConfigError(problem, "add fill: 1000, for example", ("fill",), code="missing-key")
        if self.shares and self._capacity > 1:
            remedy = "write at most 1, or leave it out"
            raise ConfigError("more than the machine", remedy, ("fill",), self.fill, "out-of-range")
        unit = "share" if self.shares else "nodes"
        for number, job in enumerate(self.first):
            if self._size(job) is None:
                problem = "its size is not in the unit of the sizes to draw from"
                raise ConfigError(problem, f"write {unit}: ...", ("first", str(number)), code="invalid-quantity")
        if self._room < min(self._sizes):
            path, remedy = ("shares" if self.shares else "nodes",), "raise fill, or lower the smallest size"
            raise ConfigError("no size fits", remedy, path, code="does-not-fit")

    @model_validator(mode="wrap")
    @classmethod
    def _draw_all(cls, data: Any, handler: ModelWrapValidatorHandler[Mix]) -> Mix:
        mix = handler(data)
        mix._written = dict(data) if isinstance(data, dict) else {}
        assert mix.workloads  # drawn now, for mistakes
        return mix

    @property
    def _sizes(self) -> list[Fraction]:
        return [_exact(size) for size in self.shares or self.nodes]

    @property
    def _capacity(self) -> Fraction:
        return Fraction(1) if self.fill is None else _exact(self.fill)

    @property
    def _room(self) -> Fraction:
        """The part of the capacity that the jobs in `first` leave."""
        return self._capacity - sum((self._size(job) or Fraction(0) for job in self.first), Fraction(0))

    def _size(self, job: Job) -> Fraction | None:
        size = job.share if self.shares else job.nodes
        return None if size is None else _exact(size)

    @cached_property
    def workloads(self) -> dict[str, list[dict[str, Any]]]:
        """The workloads by label, each a list of jobs as in a study file."""
        digits, rng = max(2, len(str(self.count))), random.Random(self.seed)
        first = self._written.get("first", [])
        return {
            f"w{number:0{digits}d}": [*first, *(self._job(size, name) for size, name in self._draw(rng))]
            for number in range(1, self.count + 1)
        }

    def _draw(self, rng: random.Random) -> list[tuple[int, str]]:
        """Draw sizes (as positions) and patterns until nothing fits."""
        sizes = self._sizes
        for _ in range(DRAWS):
            jobs: list[tuple[int, str]] = []
            left, stock = self._room, [name for name in self.patterns for _ in range(self.most_of_a_pattern)]
            while stock and (fitting := [i for i, size in enumerate(sizes) if size <= left]):
                size = _choice(rng, fitting)
                name = _choice(rng, list(dict.fromkeys(stock)))
                stock.remove(name)
                left -= sizes[size]
                jobs.append((size, name))
            if left < min(sizes):
                return jobs
        problem = f"{DRAWS:,} draws did not fill a workload"
        remedy = "raise most_of_a_pattern, add patterns, or add larger sizes"
        raise ConfigError(problem, remedy, ("most_of_a_pattern",), self.most_of_a_pattern, "does-not-fit")

    def _job(self, size: int, name: str) -> dict[str, Any]:
        written = self._written
        keys = ("allocation", "mapping", "ranks_per_node", "ranks_per_core", "compute", "background")
        sizes = {"share": self.shares[size]} if self.shares else {"nodes": self.nodes[size]}
        return {"name": name, **sizes, "pattern": written["patterns"][name]} | {
            key: written[key] for key in keys if key in written
        }


def _exact(size: float) -> Fraction:
    """Return a decimal number exactly as written: 0.1 is a tenth."""
    return Fraction(repr(size))


def _choice(rng: random.Random, options: list[Any]) -> Any:
    # random.choice may change with the version of Python; random.random does not.
    return options[int(rng.random() * len(options))]
