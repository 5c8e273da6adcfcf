"""The parts of points, each distinct one checked once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from fabricstudy.core.errors import combine_errors
from fabricstudy.core.model import ConfigError, Model
from fabricstudy.engine.point import Point, canonical_json, idle_job
from fabricstudy.engine.point_file import SECTIONS
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.routing.minimal import Minimal
from fabricstudy.workload.job import Job
from fabricstudy.workload.offered import Offered

from .checks import check_engine, check_point
from .messages import explain_errors


@dataclass(frozen=True, eq=False, slots=True)
class Section:
    """A checked part of a point (machine, routing, one job, network or engine) and its physics as JSON."""

    model: Any
    text: str


def section_of(model: Model) -> Section:
    return Section(model, canonical_json(model.physics()))


_TYPES = SECTIONS | {"job": Job, "offered": Offered}

_FIELDS = set(Point.model_fields)
"""Shared by all points: a set for each would need as much memory as the point."""


class Sections(NamedTuple):
    """The checked parts of a point."""

    machine: Section
    routing: Section
    jobs: tuple[Section, ...]
    offered: Section | None
    """Offered traffic instead of jobs."""
    network: Section
    engine: Section

    def point(self, seed: int) -> Point:
        """Return the point of these parts."""
        models = {name: getattr(self, name).model for name in SECTIONS}
        jobs = tuple(job.model for job in self.jobs)
        offered = None if self.offered is None else self.offered.model
        return Point.model_construct(_FIELDS, **models, jobs=jobs, offered=offered, seed=seed)


class SectionCache:
    """Checks each distinct part of points once: points share most of their parts."""

    def __init__(self, folder: Path) -> None:
        self._context = {"folder": folder}
        self._checked: dict[tuple[str, str], Section] = {}
        self._mistakes: list[ConfigError] = []
        self._idle: dict[Section, Section] = {}
        self._counted: dict[Section, list[Section]] = {}
        self._fitting: set[tuple[Section | None, ...]] = set()

    def of(self, tree: dict[str, Any]) -> Sections:
        """Check all parts of a point, and that they fit together. Raises ConfigError with the mistakes of all."""
        self._mistakes = []
        network, offered = tree.get("network"), tree.get("offered")
        if offered is not None and tree.get("jobs"):
            remedy = "a point has either; write jobs: [] next to offered in `set`, or offered: null next to jobs"
            raise ConfigError("both offered traffic and jobs", remedy, ("offered",), code="conflicting-keys")
        declared = self._jobs(tree.get("jobs")) if offered is None else ()
        sections = Sections(
            self._section("machine", tree.get("machine"), ("machine",)),
            self._section("routing", tree.get("routing"), ("routing",)),
            tuple(copy for job in declared for copy in self._copies(job)),
            None if offered is None else self._section("offered", offered, ("offered",)),
            self._section("network", {} if network is None else network, ("network",)),
            self._section("engine", tree.get("engine"), ("engine",)),
        )
        key = (sections.machine, sections.routing, *sections.jobs, sections.offered)
        if key not in self._fitting:
            traffic = None if sections.offered is None else sections.offered.model
            jobs = [job.model for job in declared]
            if sections.machine.model is not None and None not in jobs:
                try:
                    check_point(sections.machine.model, sections.routing.model or Minimal(), jobs, traffic)
                except ConfigError as error:
                    self._mistakes.append(error)
        if self._mistakes:
            raise combine_errors(self._mistakes)
        self._fitting.add(key)
        return sections

    def _jobs(self, raw: Any) -> tuple[Section, ...]:
        if not isinstance(raw, list) or not raw:
            remedy = "write [{pattern: ..., share: 1.0}]"
            self._mistakes.append(ConfigError("not a list of jobs", remedy, ("jobs",), raw, code="wrong-type"))
            return ()
        return tuple(self._section("job", job, ("jobs", str(number))) for number, job in enumerate(raw))

    def _section(self, kind: str, raw: Any, path: tuple[str, ...]) -> Section:
        """Return a part; after a mistake, which it keeps for later, one without a model."""
        key, annotation = (kind, repr(raw)), _TYPES[kind]
        if key not in self._checked:
            try:
                model = annotation.model_validate(raw, context=self._context, by_alias=True, by_name=False)
                if isinstance(model, EngineSettings):
                    check_engine(model)
            except (ValidationError, ConfigError) as error:
                mistake = error if isinstance(error, ConfigError) else explain_errors(error, raw, annotation)
                self._mistakes.append(mistake.below(*path))
                return Section(None, "")
            self._checked[key] = section_of(model)
        return self._checked[key]

    def _copies(self, job: Section) -> list[Section]:
        """Return the jobs that a job counts for."""
        if job.model is None or job.model.count == 1:
            return [job]
        if job not in self._counted:
            self._counted[job] = list(map(section_of, job.model.copies()))
        return self._counted[job]

    def idle(self, job: Section) -> Section:
        """Return the job on the same nodes that sends nothing."""
        if job not in self._idle:
            self._idle[job] = section_of(idle_job(job.model))
        return self._idle[job]

    def from_start(self, job: Section) -> Section:
        """Return the job as it starts with the simulation."""
        return section_of(job.model.model_copy(update={"start_ns": 0.0})) if job.model.start_ns else job
