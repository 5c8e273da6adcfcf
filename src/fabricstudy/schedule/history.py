"""Histories of the runs that figures draw in time: one Parquet file for each chunk, with a row for each run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.parquet import read_parquet

from .partitions import NodePool, Partitions
from .result import UtilisationSeries
from .run import PlannedRun
from .slowdown import refused

MAX_CACHED_LISTS = 8
_lists: dict[str, Partitions | NodePool] = {}


def partitions_of_run(planned: PlannedRun) -> Partitions | NodePool:
    """Return the partitions of a run; the latest lists are cached, since most runs share theirs with others."""
    if planned.list_id not in _lists:
        if len(_lists) == MAX_CACHED_LISTS:
            del _lists[next(iter(_lists))]
        _lists[planned.list_id] = planned.run.partitions.checked_partitions(planned.run.machine)
    return _lists[planned.list_id]


@dataclass(frozen=True, eq=False)
class History:
    """When and where the jobs of a run ran; arrays as in `Jobs`, `SlowdownFactors` and `ScheduleResult`."""

    planned: PlannedRun
    submit_s: Floats
    start_s: Floats
    end_s: Floats
    class_nodes: Ints
    partition: Ints
    application: Ints
    utilisation: UtilisationSeries

    @property
    def partitions(self) -> Partitions | NodePool:
        """The partitions of the run."""
        return partitions_of_run(self.planned)

    @property
    def ran(self) -> Bools:
        """Whether each job ran."""
        return self.partition >= 0

    @cached_property
    def eligible(self) -> Bools:
        """Whether each job runs on partitions of each variant, bool [jobs, variants]."""
        return ~refused(self.planned.run.slowdown.kinds, self.partitions.variants)[self.application]


_FLOATS = frozenset({"submit_s", "start_s", "end_s", "time_s"})
_OF_JOBS = ("submit_s", "start_s", "end_s", "class_nodes", "partition", "application")
_OF_SERIES = tuple(field.name for field in fields(UtilisationSeries))
HISTORY_COLUMNS = {"run_id": "string"} | {
    name: "double[]" if name in _FLOATS else "int64[]" for name in (*_OF_JOBS, *_OF_SERIES)
}


def history_row(history: History) -> dict[str, Any]:
    """Return `HISTORY_COLUMNS` of a run, which is one row."""
    row: dict[str, Any] = {"run_id": [history.planned.run_id]}
    row |= {name: [getattr(history, name)] for name in _OF_JOBS}
    return row | {name: [getattr(history.utilisation, name)] for name in _OF_SERIES}


def read_histories(paths: Iterable[Path], wanted: Mapping[str, PlannedRun]) -> dict[str, History]:
    """Return the histories of the wanted runs that are in the files, by id."""
    histories = {}
    for path in paths:
        table = read_parquet(path, {"run_id": wanted})
        for number, name in enumerate(table["run_id"].to_pylist()):
            cells = {
                column: table[column][number].values.to_numpy(zero_copy_only=False)
                for column in (*_OF_JOBS, *_OF_SERIES)
            }
            utilisation = UtilisationSeries(**{column: cells.pop(column) for column in _OF_SERIES})
            histories[name] = History(wanted[name], **cells, utilisation=utilisation)
    return histories
