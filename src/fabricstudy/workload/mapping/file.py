"""The mapping listed in a file: which rank is on which host or core.

* A column of numbers: line r has the core of rank r.
* Open MPI (mpirun --map-by rankfile): ``rank 0=node1 slot=3`` or ``rank 0=+n0 slot=1:2``.
* Cray MPICH (``MPICH_RANK_ORDER``): the ranks in the order of the cores, ``1,3`` or ``0-3,8``.
* Slurm (``SLURM_HOSTFILE``): line r has the host of rank r, or lists of hosts such as ``node[1-2]``.
"""

import re
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Integers
from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import (
    MAX_RANKS,
    InputFileError,
    folder_to_read,
    numbered_lines,
    position_text,
    read,
    whole,
)
from fabricstudy.core.model import ConfigError, NoPhysics, Whole
from fabricstudy.machine.graph import NamedMachine

from ..messages import WorkloadError
from .base import Mapping
from .tasks import Slots, Tasks

RankFormat = Literal["cores", "openmpi", "mpich", "slurm"]
_OPEN_MPI = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(\S+)", re.I)
_ORDER = re.compile(r"\d+(?:-\d+)?(?:\s*,\s*\d+(?:-\d+)?)*,?")
_Lines = list[tuple[int, str]]


class RankFile(NamedTuple):
    """Cores of the ranks within the job; with `hosts`, their positions among the ranks of their host."""

    cores: tuple[int, ...]
    hosts: tuple[str, ...] = ()


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


def read_ranks(folder: Path, name: str, form: str = "") -> RankFile:
    """Read a rank file. Raises ConfigError if the file cannot be read, or has other content."""
    ranks: RankFile = read(folder / name, _PARSERS.get(form, parse), "invalid-data-file")[0]
    return ranks


def parse(path: Path, data: bytes, form: RankFormat | None = None) -> RankFile:
    """Parse a rank file; `form` is cores, openmpi, mpich or slurm, by default that of its content.

    Raises InputFileError with the line.

    Examples
    --------
    >>> parse(Path("f"), b"rank 1=b slot=0\\nrank 0=a slot=3\\nrank 2=a slot=1\\n")
    RankFile(cores=(1, 0, 0), hosts=('a', 'b', 'a'))
    >>> parse(Path("f"), b"2,0\\n1,3\\n").cores
    (1, 2, 0, 3)
    """
    lines = [(number, line.partition("#")[0].strip()) for number, line in numbered_lines(data)]
    lines = [(number, line) for number, line in lines if line]
    if not lines:
        raise InputFileError("the file is empty", "write one core per line: line r has the core of rank r")
    first = lines[0][1]
    if form == "openmpi" or (form is None and first.lower().startswith("rank")):
        return _open_mpi(lines)
    if form == "mpich" or (
        form is None and all(_ORDER.fullmatch(line) for _, line in lines) and set(",-") & set(first)
    ):
        return RankFile(_cores_in_order(lines))
    if form == "slurm" or (form is None and re.match(r"[^\W\d]", first)):
        return _on_hosts([(0, name) for number, line in lines for name in _names(line, position_text(number))])
    return RankFile(_permutation([(word, number) for number, line in lines for word in line.split()]))


def _names(line: str, where: str) -> list[str]:
    words = line.split()
    if wrong := next((word for word in words if set("=:*") & set(word)), None):
        raise InputFileError("not a name of a host, or a list of hosts", "write one for each rank", where, wrong)
    return [name for word in words for name in expanded(word, where)]


def _on_hosts(slots: list[tuple[object, str]]) -> RankFile:
    """Return the ranks, each with its slot and host, by their order on the host."""
    of_host = defaultdict(list)
    for rank, (slot, host) in enumerate(slots):
        of_host[host].append((slot, rank))
    position = {rank: index for ranks in of_host.values() for index, (_, rank) in enumerate(sorted(ranks))}
    return RankFile(tuple(position[rank] for rank in range(len(slots))), tuple(host for _, host in slots))


def _open_mpi(lines: _Lines) -> RankFile:
    slots: dict[int, tuple[object, str]] = {}
    for number, line in lines:
        found, where = _OPEN_MPI.fullmatch(line), position_text(number)
        if found is None:
            raise InputFileError("not a line of a rank file of Open MPI", "write rank 0=host1 slot=3", where, line)
        rank = whole(found[1], 0, len(lines) - 1, where)
        if rank in slots:
            raise InputFileError("duplicate rank", "list each rank once", where, rank)
        # socket:core, or a list of cores of which the first counts
        slots[rank] = [int(part) for part in re.findall(r"\d{1,9}", found[3])], found[2]
    return _on_hosts([slots[rank] for rank in range(len(lines))])


def _cores_in_order(lines: _Lines) -> tuple[int, ...]:
    """Return the core of each rank from lists and ranges of the ranks in the order of the cores."""
    ranges: list[tuple[int, int, int]] = []
    for number, line in lines:
        for part in line.rstrip(",").split(","):
            first, _, last = part.strip().partition("-")
            start = whole(first, 0, MAX_RANKS - 1, (number,))
            ranges.append((start, whole(last or first, start, MAX_RANKS - 1, (number,)), number))
    ranks = sum(end - start + 1 for start, end, _ in ranges)
    if ranks > MAX_RANKS:
        raise InputFileError(f"more than {MAX_RANKS:,} ranks", "list each rank once", position_text(lines[0][0]))
    core_of = np.full(ranks, -1, dtype=np.int64)
    core = 0
    for start, end, number in ranges:
        if end >= ranks or (core_of[start : end + 1] >= 0).any():
            problem = f"not each of the ranks 0 to {ranks - 1} once"
            raise InputFileError(problem, "list each rank once", position_text(number), f"{start}-{end}")
        core_of[start : end + 1] = np.arange(core, core + end - start + 1)
        core += end - start + 1
    return tuple(core_of.tolist())


def _permutation(words: list[tuple[str, int]]) -> tuple[int, ...]:
    """Return numbers that are each of 0, 1, ... exactly once."""
    first: dict[int, int] = {}
    for word, line in words:
        number = whole(word, 0, len(words) - 1, (line,))
        if number in first:
            problem = f"duplicate number, also in line {first[number]}"
            raise InputFileError(problem, "list each core or rank once", position_text(line), number)
        first[number] = line
    return tuple(first)


_PARSERS = {form: partial(parse, form=form) for form in get_args(RankFormat)}
