"""The study as a whole."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, ValidationInfo, field_validator, model_validator

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.errors import Code, suggestion
from fabricstudy.core.model import ConfigError, Flag, Name, Whole, check_all, model_check
from fabricstudy.core.phrasing import join_words
from fabricstudy.core.store import STORES
from fabricstudy.engine.settings import EngineSettings, Limits, Network
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.workload.job import MAX_JOBS, Job
from fabricstudy.workload.offered import Offered

from .checks import check_point
from .claims import Claim, KnownNames
from .default_figures import default_figures
from .figures import AnyFigure, Names
from .schedules import Schedule
from .seeds import DECIDED
from .sweep import Axis, Experiment, Sweep

MAX_POINTS = 1_000_000
MAX_LISTED_PATHS = 3
DEFAULT_EXPERIMENT = "main"
"""Name of the experiment of a study that has only one."""

StudyName = Annotated[
    str, Name("[a-z0-9][a-z0-9-]{0,63}", "use lower-case letters, digits and '-', with a letter or digit first")
]

_OF_A_POINT = ("machine", "routing", "engine")
"""Keys that every point needs, beside jobs or offered."""


_CHOSEN = {"machine", "routing", "network", "allocation", "mapping", "partitions", "order", "backfill"}
_GIVEN = {"jobs", "pattern", "trace", "engine"}
_ALGORITHMS = {"algorithm", "collectives"}
"""Keys of patterns with which the same work is done by other messages."""


class Study(Sweep):
    """One complete point, what varies, and what the report shows.

    A study of only analyses and schedules leaves out machine, routing, jobs, engine and all other keys of points.
    """

    study: StudyName = Field(description="name of the study, and of its folders in results/ and reports/")
    title: str = Field("", max_length=200, description="one line, for the report")
    description: str = Field("", max_length=10_000, description="the question and its motivation, for the report")
    extensions: tuple[str, ...] = Field(
        (), max_length=100, description="Python files with further kinds, relative to the study: [mlfm.py]"
    )
    machine: Topology | None = Field(None, description="routers, links and nodes")
    routing: Routing | None = Field(None, description="how packets find their way")
    jobs: tuple[Job, ...] = Field(
        (), min_length=1, max_length=MAX_JOBS, description="jobs; nodes are allocated in this order"
    )
    offered: Offered | None = Field(None, description="steady traffic that all nodes offer, instead of jobs")
    network: Network = Field(default_factory=Network, description="routers and network interfaces")
    engine: EngineSettings | None = Field(None, description="the simulator")
    limits: Limits = Field(default_factory=Limits, description="limits of one simulation; not part of the point")
    allow_failed_points: Flag = Field(
        False, description="whether a run may end with exit code 0 if a simulation or analysis fails or exceeds a limit"
    )
    experiments: dict[StudyName, Experiment] = Field(
        default_factory=dict, description="named parts that share the base, each with its own sweep"
    )
    analyses: dict[StudyName, Analysis] = Field(
        default_factory=dict, description="named tables that are computed without simulation"
    )
    schedules: dict[StudyName, Schedule] = Field(
        default_factory=dict, description="named schedules: jobs on the partitions of a machine in time"
    )
    check: Literal["engines"] | None = Field(
        None, description="engines: CAMINOS also simulates a random sample of the points of the engine packet, and the "
        "report shows how far the runtimes differ"
    )  # fmt: skip
    spot_check: Whole | None = Field(
        None, ge=0, le=10_000, description="points of the engine flow that the engine packet repeats, and with "
        "`check: engines` of packet that CAMINOS repeats; default: 3 % and at least 10, but none of fewer than 100 "
        "points on flow"
    )  # fmt: skip
    link_loads: Names = Field(
        (), description="experiments whose links are rows of the table `link_loads`, one for each link and point"
    )
    figures: tuple[AnyFigure, ...] = Field(
        (), description="figures of the report; default: the runtime of each experiment against its axes"
    )
    claims: tuple[Claim, ...] = Field((), description="statements to check against the tables")

    _file: FilePath | None = PrivateAttr(None)
    _extension_package: str = PrivateAttr("")

    @model_validator(mode="wrap")
    @classmethod
    def _keep_source(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        study, context = handler(data), info.context or {}
        study._file, study._extension_package = context.get("file"), context.get("extensions", "")
        return study

    @field_validator("study")
    @classmethod
    def _is_no_store(cls, name: str) -> str:
        if name in STORES:
            remedy = f"choose another name: all studies share results/{name}"
            raise ConfigError("the name is that of a store", remedy, value=name, code="invalid-name")
        return name

    @model_check
    def _agrees(self) -> None:
        check_all([
            self._check_sweep, self._check_base, self._check_size, self._check_link_loads, self._check_names,
            self._check_screens, self._check_decisions,
        ])  # fmt: skip

    def _check_sweep(self) -> None:
        sweep_keys = self.model_fields_set & set(Sweep.model_fields)
        if "experiments" in self.model_fields_set and sweep_keys:
            key = "zip" if "zip_" in sweep_keys else min(sweep_keys)
            problem = "a study has either experiments or a sweep"
            raise ConfigError(problem, "move it into an experiment", (key,), code="conflicting-keys")

    def _check_base(self) -> None:
        if not self.simulates:
            return
        for key in _OF_A_POINT:
            if not getattr(self, key):
                about = type(self).model_fields[key].description
                raise ConfigError("this key is missing", f"add {key}: ... ({about})", (key,), code="missing-key")
        if bool(self.jobs) == (self.offered is not None):
            problem = "a study has jobs or offered traffic" + ", not both" * bool(self.jobs)
            key = "offered" if self.jobs else "jobs"
            code: Code = "conflicting-keys" if self.jobs else "missing-key"
            raise ConfigError(problem, "write either jobs: [...] or offered: {...}", (key,), code=code)
        assert self.machine is not None and self.routing is not None
        check_point(self.machine, self.routing, self.jobs, self.offered)

    def _check_size(self) -> None:
        points = sum(experiment.size for experiment in self.all_experiments.values())
        if points > MAX_POINTS:
            path, remedy = ("experiments" if self.experiments else "sweep",), f"use at most {MAX_POINTS:,}"
            raise ConfigError(f"{points:,} points are too many", remedy, path, code="point-count")

    def _check_names(self) -> None:
        experiments = self.all_experiments
        KnownNames(
            {name: tuple(experiment.sweep) for name, experiment in experiments.items()},
            self.analyses,
            {name: tuple(schedule.sweep) for name, schedule in self.schedules.items()},
            {name: experiment.axes_below("jobs.*.mapping") for name, experiment in experiments.items()},
            [name for name, experiment in experiments.items() if experiment.slowdown],
            self.link_loads,
        ).check(self.figures, self.claims)

    def _check_link_loads(self) -> None:
        for number, name in enumerate(self.link_loads):
            if name not in self.all_experiments:
                path, remedy = ("link_loads", str(number)), suggestion(name, self.all_experiments)
                raise ConfigError("no such experiment", remedy, path, name, code="unknown-name")

    def _check_screens(self) -> None:
        for name, experiment in self.all_experiments.items():
            if experiment.screen and experiment.screen.or_ and self.cost is None:
                remedy = "add analyses: {bill: {kind: cost, machines: {label: ...}}}"
                path = ("experiments", name, "screen", "or") if self.experiments else ("screen", "or")
                raise ConfigError("a front needs prices", remedy, path, experiment.screen.or_, "missing-key")

    def _check_decisions(self) -> None:
        for name, experiment in self.all_experiments.items():
            seeds = experiment.seeds
            if seeds.is_adaptive and seeds.until == DECIDED and not (seeds.decide or self.claims):
                path = ("experiments", name, "seeds", "until") if self.experiments else ("seeds", "until")
                remedy = "name axes in decide: [...], write claims, or until: 2 %"
                raise ConfigError("nothing is to be decided", remedy, path, DECIDED, "missing-key")

    @property
    def cost(self) -> Analysis | None:
        """The first analysis of prices."""
        return next((one for one in self.analyses.values() if one.kind == "cost"), None)

    @property
    def simulates(self) -> bool:
        """Return whether the study has points; one without any of their keys has analyses or schedules only."""
        point_keys = {*_OF_A_POINT, "jobs", "offered", "network", "experiments", *Sweep.model_fields}
        return not (self.analyses or self.schedules) or bool(self.model_fields_set & point_keys)

    @property
    def report_figures(self) -> tuple[AnyFigure, ...]:
        """The figures of the report: those of the study, or the default ones if it has no key `figures`."""
        if "figures" in self.model_fields_set:
            return self.figures
        return default_figures(self.all_experiments, self.offered is not None)

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of all axes; each is a column of the tables, empty for experiments without it."""
        return tuple(dict.fromkeys(name for experiment in self.all_experiments.values() for name in experiment.sweep))

    def all_axes(self) -> Iterator[tuple[str, Axis]]:
        """Yield each axis of each experiment and schedule, with its name."""
        for part in (*self.all_experiments.values(), *self.schedules.values()):
            yield from part.sweep.items()

    @property
    def axis_paths(self) -> dict[str, list[str]]:
        """The paths that each axis sets, such as `machine.bandwidth`."""
        paths_of: dict[str, list[str]] = {}
        for name, axis in self.all_axes():
            paths_of.setdefault(name, []).extend(path for change in axis.changes for path in change)
        return paths_of

    @property
    def design_axes(self) -> set[str]:
        """The axes of machine, routing, placement and scheduling, not of workload or simulator."""
        sections_of = {}
        for name, paths in self.axis_paths.items():
            keys = [path.split(".") for path in paths]
            sections_of[name] = {key[2] if key[0] == "jobs" and len(key) > 2 else key[0] for key in keys}
        return {name for name, sections in sections_of.items() if sections & _CHOSEN and not sections & _GIVEN}

    @property
    def algorithm_axes(self) -> set[str]:
        """The axes that set nothing but algorithms of collective operations."""
        return {
            name
            for name, paths in self.axis_paths.items()
            if paths and all(path.split(".")[3:4] and path.split(".")[3] in _ALGORITHMS for path in paths)
        }

    @property
    def meanings(self) -> dict[str, str]:
        """The paths that an axis sets, for each axis whose name is not in its path."""
        return {
            name: join_words(list(dict.fromkeys(paths)))
            for name, paths in self.axis_paths.items()
            if len(set(paths)) <= MAX_LISTED_PATHS and not any(name in path.split(".") for path in paths)
        }

    @property
    def file(self) -> FilePath | None:
        """The study file, if there is one."""
        return self._file

    @property
    def extension_package(self) -> str:
        """The package of its extensions, as `fabricstudy.core.extensions` imported them, or ""."""
        return self._extension_package

    @property
    def folder(self) -> FilePath:
        """The folder that paths in the study are relative to."""
        return self._file.parent if self._file is not None else FilePath()

    @cached_property
    def all_experiments(self) -> dict[str, Experiment]:
        """The experiments by name: "main" for a study with only a sweep, none for one of only analyses."""
        if not self.simulates:
            return {}
        if self.experiments:
            return self.experiments
        sweep = {name: getattr(self, name) for name in Sweep.model_fields}
        return {DEFAULT_EXPERIMENT: Experiment.model_construct(**sweep, settings={})}
