"""The study as a whole."""

from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, ValidationInfo, field_validator, model_validator

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, Name, check_all
from fabricstudy.core.phrasing import join_words
from fabricstudy.core.store import STORES
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import EngineSettings, Limits, Network
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.workload.job import Job

from .checks import check_point
from .claims import Claim, check_names
from .default_figures import default_figures
from .figures import AnyFigure, Names
from .schedules import Schedule
from .sweep import Experiment, Sweep

MAX_POINTS = 1_000_000
MAX_LISTED_PATHS = 3
DEFAULT_EXPERIMENT = "main"
"""Name of the experiment of a study that has only one."""

StudyName = Annotated[
    str, Name("[a-z0-9][a-z0-9-]{0,63}", "take small letters, digits and '-', with a letter or digit first")
]


_OF_A_POINT = ("machine", "routing", "jobs", "engine")
"""What every point needs."""


class Study(Sweep):
    """One complete point, what varies around it, and what to show of it.

    A study of analyses and schedules alone leaves out machine, routing, jobs, engine and all that belongs to points.
    """

    study: StudyName = Field(description="name of the study, and of its folders in results/ and reports/")
    title: str = Field("", max_length=200, description="one line, for the report")
    description: str = Field("", max_length=10_000, description="what is asked and why, for the report")
    extensions: tuple[str, ...] = Field(
        (), max_length=100, description="Python files beside the study with kinds of its own: [mlfm.py]"
    )
    machine: Topology | None = Field(None, description="routers, links and nodes")
    routing: Routing | None = Field(None, description="how packets find their way")
    jobs: tuple[Job, ...] = Field(
        (), min_length=1, max_length=1000, description="jobs; nodes are given out in this order"
    )
    network: Network = Field(default_factory=Network, description="routers and network interfaces")
    engine: EngineSettings | None = Field(None, description="the simulator")
    limits: Limits = Field(default_factory=Limits, description="what one simulation may use; no part of the point")
    experiments: dict[StudyName, Experiment] = Field(
        default_factory=dict, description="named parts that share the base, each with a sweep of its own"
    )
    analyses: dict[StudyName, Analysis] = Field(
        default_factory=dict, description="named tables of what needs no simulation"
    )
    schedules: dict[StudyName, Schedule] = Field(
        default_factory=dict, description="named schedules: jobs on the partitions of a machine in time"
    )
    check: Literal["resolution"] | None = Field(
        None,
        description="resolution: points drawn at random are simulated on CAMINOS again with half the phit, and the "
        "report says how far their times differ",
    )
    link_loads: Names = Field(
        (), description="experiments of which each link of each point is a row of the table `link_loads`"
    )
    figures: tuple[AnyFigure, ...] = Field(
        (), description="figures of the report; left out: the time of each experiment against what varies in it"
    )
    claims: tuple[Claim, ...] = Field((), description="statements to check against the tables")

    _base: dict[str, Any] = PrivateAttr(default_factory=dict)
    _file: FilePath | None = PrivateAttr(None)
    _extension_package: str = PrivateAttr("")

    @model_validator(mode="wrap")
    @classmethod
    def _keep_source(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        study = handler(data)
        if isinstance(data, dict):
            study._base = {key: data[key] for key in Point.model_fields if key in data}
        study._file = (info.context or {}).get("file")
        study._extension_package = (info.context or {}).get("extensions", "")
        return study

    @field_validator("study")
    @classmethod
    def _is_no_store(cls, name: str) -> str:
        if name in STORES:
            remedy = f"call it otherwise: results/{name} belongs to all studies"
            raise ConfigError("the name is that of a store", remedy, value=name, code="invalid-name")
        return name

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        check_all(
            [self._check_ways_to_vary, self._check_base, self._check_size, self._check_link_loads, self._check_names]
        )
        return self

    def _check_ways_to_vary(self) -> None:
        both = self.model_fields_set & set(Sweep.model_fields)
        if "experiments" in self.model_fields_set and both:
            key = "zip" if "zip_" in both else sorted(both)[0]
            problem = "a study has either experiments or a sweep of its own"
            raise ConfigError(problem, "move it into an experiment", (key,), code="conflicting-keys")

    def _check_base(self) -> None:
        if not self.simulates:
            return
        for key in _OF_A_POINT:
            if not getattr(self, key):
                about = type(self).model_fields[key].description
                raise ConfigError("this key is missing", f"add {key}: ... ({about})", (key,), code="missing-key")
        assert self.machine is not None and self.routing is not None
        check_point(self.machine, self.routing, self.jobs)

    def _check_size(self) -> None:
        points = sum(experiment.size for experiment in self.all_experiments.values())
        if points > MAX_POINTS:
            path, remedy = ("experiments" if self.experiments else "sweep",), f"stay at or below {MAX_POINTS:,}"
            raise ConfigError(f"{points:,} points are too many", remedy, path, code="point-count")

    def _check_names(self) -> None:
        axes = {name: tuple(experiment.sweep) for name, experiment in self.all_experiments.items()}
        schedules = {name: tuple(schedule.sweep) for name, schedule in self.schedules.items()}
        mapping_axes = {name: one.axes_below("jobs.*.mapping") for name, one in self.all_experiments.items()}
        slowed = [name for name, experiment in self.all_experiments.items() if experiment.slowdown]
        known = (axes, self.analyses, schedules, mapping_axes, slowed, self.link_loads)
        check_names(self.figures, self.claims, *known)

    def _check_link_loads(self) -> None:
        for number, name in enumerate(self.link_loads):
            if name not in self.all_experiments:
                path, remedy = ("link_loads", str(number)), suggestion(name, self.all_experiments)
                raise ConfigError("no such experiment", remedy, path, name, code="unknown-name")

    @property
    def simulates(self) -> bool:
        """Return whether the study has points; one that says nothing of any has analyses or schedules only."""
        of_points = {*_OF_A_POINT, "network", "experiments", *Sweep.model_fields}
        return not (self.analyses or self.schedules) or bool(self.model_fields_set & of_points)

    @property
    def report_figures(self) -> tuple[AnyFigure, ...]:
        """The figures of the report: those named, or the usual ones where the file says nothing of figures."""
        return self.figures if "figures" in self.model_fields_set else default_figures(self.all_experiments)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of all axes; each is a column of the tables, empty in the rows of experiments that do not have it."""
        return tuple(dict.fromkeys(name for experiment in self.all_experiments.values() for name in experiment.sweep))

    @property
    def meanings(self) -> dict[str, str]:
        """For each axis that is not called after what it sets: the paths that it sets, such as `machine.bandwidth`."""
        found: dict[str, list[str]] = {}
        for part in (*self.all_experiments.values(), *self.schedules.values()):
            for name, axis in part.sweep.items():
                found.setdefault(name, []).extend(path for change in axis.changes for path in change)
        return {
            name: join_words(list(dict.fromkeys(paths)))
            for name, paths in found.items()
            if len(set(paths)) <= MAX_LISTED_PATHS and not any(name in path.split(".") for path in paths)
        }

    @property
    def base(self) -> dict[str, Any]:
        """The point as it stands in the file, before anything varies."""
        return self._base

    @property
    def file(self) -> FilePath | None:
        """The study file, if there is one."""
        return self._file

    @property
    def extension_package(self) -> str:
        """The package of its extensions, as `fabricstudy.core.extensions.load` imported them; "" if it has none."""
        return self._extension_package

    @property
    def folder(self) -> FilePath:
        """The folder against which the study's other files are sought."""
        return self._file.parent if self._file is not None else FilePath()

    @cached_property
    def all_experiments(self) -> dict[str, Experiment]:
        """The experiments by name; a study with only a sweep has one, called "main", and one of analyses none."""
        if not self.simulates:
            return {}
        if self.experiments:
            return self.experiments
        sweep = {name: getattr(self, name) for name in Sweep.model_fields}
        return {DEFAULT_EXPERIMENT: Experiment.model_construct(**sweep, settings={})}
