"""Which rank sits where on the nodes of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from ..base import ByKind, ConfigError, Model, Whole


class LinearMapping(Model):
    """Rank r on core r of the allocation, filling node after node."""

    kind: Literal["linear"] = "linear"


class RandomMapping(Model):
    """Ranks shuffled over the cores of the allocation."""

    kind: Literal["random"] = "random"


class RecursiveBisection(Model):
    """Ranks and nodes bisected together so that heavy traffic stays close (Hoefler and Snir, ICS 2011)."""

    kind: Literal["recursive-bisection"] = "recursive-bisection"


class MappingFile(Model):
    """A text file with one number a line: line r holds the core (0-based, within the allocation) of rank r.

    The numbers become part of the point, so that it does not matter how the file is called.
    """

    kind: Literal["file"] = "file"
    file: str = Field(min_length=1, description="the file, relative to the study's folder")
    cores: SkipJsonSchema[tuple[Whole, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        folder = (info.context or {}).get("folder")
        if folder is None or not isinstance(value, dict) or not isinstance(value.get("file"), str):
            return value
        if "cores" in value:
            raise ConfigError("unknown key", "list the cores in the file", ("cores",))
        return {**value, "cores": read_cores(Path(folder), value["file"])}


def read_cores(folder: Path, name: str) -> tuple[int, ...]:
    """Read a mapping file: the core of each rank, each core from 0 on exactly once.

    Raises
    ------
    ConfigError
        If the file cannot be read, or does not hold that.
    """
    remedy = "write one core number a line: line r holds the core of rank r"
    try:
        lines = (folder / name).read_text(encoding="utf-8").split()
        cores = tuple(int(line) for line in lines)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"the mapping file cannot be read ({reason})", f"put it in {folder} or give its path", ("file",), name
        ) from None
    except ValueError:
        raise ConfigError("the mapping file holds something else than whole numbers", remedy, ("file",), name) from None
    if sorted(cores) != list(range(len(cores))) or not cores:
        problem = f"the mapping file does not hold each core from 0 to {max(len(cores) - 1, 0)} exactly once"
        raise ConfigError(problem, remedy, ("file",), name)
    return cores


MappingConfig = Annotated[LinearMapping | RandomMapping | RecursiveBisection | MappingFile, ByKind()]
