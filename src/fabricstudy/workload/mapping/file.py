"""The mapping listed in a file."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Integers
from fabricstudy.core.input_files import InputFileError, folder_to_read, numbered_lines, position_text, read, whole
from fabricstudy.core.model import ConfigError, NoPhysics, Whole

from ..messages import WorkloadError
from .base import Mapping
from .tasks import Slots, Tasks


class MappingFile(Mapping, kind="file"):
    """A text file with one number per line: line r has the core (0-based, within the allocation) of rank r.

    The numbers are part of the point; the name of the file is not.
    """

    file: Annotated[str, NoPhysics] = Field(min_length=1, description="the file, relative to the study's folder")
    cores: SkipJsonSchema[tuple[Whole, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        folder = folder_to_read(value, info, derived=("cores",))
        return value if folder is None else {**value, "cores": read_cores(folder, value["file"])}

    def check_ranks(self, ranks: int) -> None:
        if len(self.cores) != ranks:
            problem = f"the mapping file has {len(self.cores)} lines for {ranks} ranks"
            raise ConfigError(problem, "write one core per rank", ("file",), self.file, "invalid-data-file")

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        cores = np.array(self.cores, dtype=np.int64)
        if len(cores) != slots.ranks:
            raise WorkloadError(f"the mapping file has {len(cores)} lines, but the job has {slots.ranks} ranks")
        if not np.array_equal(np.sort(cores), np.arange(slots.ranks)):
            raise WorkloadError(f"the mapping file must list each core from 0 to {slots.ranks - 1} exactly once")
        return cores


def read_cores(folder: Path, name: str) -> tuple[int, ...]:
    """Read a mapping file: the core of each rank, each core from 0 on exactly once.

    Raises ConfigError if the file cannot be read, or has other content.
    """
    cores: tuple[int, ...] = read(folder / name, _cores_of, "invalid-data-file")[0]
    return cores


def _cores_of(path: Path, data: bytes) -> tuple[int, ...]:
    words = [(word, line) for line, text in numbered_lines(data) for word in text.split()]
    if not words:
        raise InputFileError("the file is empty", "write one core per line: line r has the core of rank r")
    first: dict[int, int] = {}
    for word, line in words:
        core = whole(word, 0, len(words) - 1, (line,))
        if core in first:
            problem = f"duplicate core, also in line {first[core]}"
            raise InputFileError(problem, "list each core once", position_text(line), core)
        first[core] = line
    return tuple(first)
