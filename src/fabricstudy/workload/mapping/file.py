"""The mapping listed in a file."""

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Integers
from fabricstudy.core.input_files import folder_to_read, read
from fabricstudy.core.model import ConfigError, NoPhysics, Whole
from fabricstudy.machine.named import NamedMachine

from ..messages import WorkloadError
from .base import Mapping
from .rank_files import RankFile, parse
from .tasks import Slots, Tasks

RankFormat = Literal["cores", "openmpi", "mpich", "slurm"]


class MappingFile(Mapping, kind="file"):
    """A text file with one number per line: line r has the core (0-based, within the allocation) of rank r.

    Rank files of Open MPI (`rank 0=node1 slot=3`), Cray MPICH (`MPICH_RANK_ORDER`: ranks in the order of the cores)
    and Slurm (`SLURM_HOSTFILE`: line r has the host of rank r) are read, too. Hosts are those of a machine from a file,
    or +n0, +n1, ... for the nodes of the job. The numbers are part of the point; the name of the file is not.
    """

    file: Annotated[str, NoPhysics] = Field(min_length=1, description="the file, relative to the study's folder")
    format: Annotated[RankFormat | None, NoPhysics] = Field(
        None, description="format of the file; default: as its content tells, cores if it is one number a line"
    )
    cores: SkipJsonSchema[tuple[Whole, ...]] = ()
    hosts: SkipJsonSchema[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        folder = folder_to_read(value, info, derived=("cores", "hosts"))
        if folder is None:
            return value
        return {**value, **read_ranks(folder, value["file"], str(value.get("format")))._asdict()}

    def check_ranks(self, ranks: int) -> None:
        if len(self.cores) != ranks:
            problem = f"the mapping file has {len(self.cores)} lines for {ranks} ranks"
            raise ConfigError(problem, "write one core per rank", ("file",), self.file, "invalid-data-file")

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        cores = self._cores_on_hosts(slots) if self.hosts else np.array(self.cores, dtype=np.int64)
        if len(cores) != slots.ranks:
            raise WorkloadError(f"the mapping file has {len(cores)} lines, but the job has {slots.ranks} ranks")
        if not np.array_equal(np.sort(cores), np.arange(slots.ranks)):
            raise WorkloadError(f"the mapping file must list each core from 0 to {slots.ranks - 1} exactly once")
        return cores

    def _cores_on_hosts(self, slots: Slots) -> Integers:
        """Return the core of each rank: those of its host in the order of the job's nodes."""
        known = slots.machine.host_names if isinstance(slots.machine, NamedMachine) else ()
        cores_of: dict[str, list[int]] = defaultdict(list)
        for index, node in enumerate(slots.nodes):
            cores = range(index * slots.ranks_per_node, (index + 1) * slots.ranks_per_node)
            cores_of[f"+n{index}"] += cores
            if known and known[node]:
                cores_of[known[node]] += cores
        for host, position in zip(self.hosts, self.cores, strict=True):
            if position >= len(cores_of.get(host, ())):
                problem = f"has {len(cores_of[host])} cores" if host in cores_of else "is not a host of the job"
                raise WorkloadError(f"the mapping file has rank {position + 1} of {host}, which {problem}")
        return np.array([cores_of[host][at] for host, at in zip(self.hosts, self.cores, strict=True)], dtype=np.int64)


_PARSERS = {form: partial(parse, form=form) for form in ("cores", "openmpi", "mpich", "slurm")}


def read_ranks(folder: Path, name: str, form: str = "") -> RankFile:
    """Read a rank file. Raises ConfigError if the file cannot be read, or has other content."""
    ranks: RankFile = read(folder / name, _PARSERS.get(form, parse), "invalid-data-file")[0]
    return ranks
