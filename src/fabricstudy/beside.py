"""Files beside a study whose content, not their name or place, is part of a point."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.errors import Code, StudyError
from fabricstudy.model import ConfigError, Model, NoPhysics

LARGEST_BYTES = 2_000_000_000

T = TypeVar("T")


class FileMistake(Exception):
    """What is wrong in a file.

    Parameters
    ----------
    problem, remedy : str
        As in `fabricstudy.errors.StudyError`.
    where : str
        Line and column, or what there is in their place.
    value : object, optional
        What stands there.
    """

    def __init__(self, problem: str, remedy: str, where: str = "", value: object = None) -> None:
        self.problem, self.remedy, self.where, self.value = problem, remedy, where, value
        super().__init__(problem)


def at(line: int, column: int | None = None, name: str = "") -> str:
    """Say where in a text something stands; both count from 1.

    Examples
    --------
    >>> at(3, 2, "count"), at(4)
    ('line 3, column 2 (count)', 'line 4')
    """
    place = f"line {line}" if column is None else f"line {line}, column {column}"
    return f"{place} ({name})" if name else place


def text_of(data: bytes) -> str:
    """Give the text of a file.

    Raises
    ------
    FileMistake
        If it is none.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileMistake("not UTF-8", "save it as text", at(data.count(b"\n", 0, error.start) + 1)) from None


def rows_of(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Give the rows of a CSV file with the numbers of their lines; empty lines and comments (``#``) are left out.

    Raises
    ------
    FileMistake
        If the file is no text.

    Examples
    --------
    >>> list(rows_of(b"a, b\\n# no\\n1,2\\n"))
    [(1, ['a', 'b']), (3, ['1', '2'])]
    """
    for number, line in enumerate(text_of(data).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]


def check_width(number: int, row: list[str], head: list[str]) -> None:
    """Refuse a row with other cells than the head of its file has columns.

    Raises
    ------
    FileMistake
        With its line.
    """
    if len(row) != len(head):
        raise FileMistake(f"{len(row)} cells below {len(head)} columns", "write one cell a column", at(number))


def by_suffix(readers: dict[str, Callable[[bytes], T]], path: Path) -> Callable[[bytes], T]:
    """Give the reader for the end of a file's name.

    Raises
    ------
    FileMistake
        If there is none.
    """
    if path.suffix not in readers:
        raise FileMistake(
            f"no format of ours ends in '{path.suffix}'", f"let its name end in one of {', '.join(readers)}"
        )
    return readers[path.suffix]


@lru_cache(maxsize=16)
def _kept(path: Path, changed: int, reader: Callable[[Path, bytes], T], code: Code) -> tuple[T, str]:
    value: object = None
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise FileMistake("the file has more than 2 GB", "take a smaller one")
        data = path.read_bytes()
        return reader(path, data), hashlib.sha256(data).hexdigest()
    except OSError as error:
        problem = f"{path.name} cannot be read ({error.strerror or type(error).__name__})"
        remedy, value = "check its name and permissions", str(path)
    except FileMistake as mistake:
        place = f"{path.name}, {mistake.where}" if mistake.where else path.name
        problem, remedy, value = f"{place}: {mistake.problem}", mistake.remedy, mistake.value
    raise ConfigError(problem, remedy, ("file",), value, code)


def read(path: Path, reader: Callable[[Path, bytes], T], code: Code) -> tuple[T, str]:
    """Give what `reader` makes of a file, and the SHA-256 of its bytes; read once while the file stays as it is.

    Raises
    ------
    ConfigError
        With the path ``file`` and this code, if it cannot be read or `reader` raises a `FileMistake`.
    """
    return _kept(path, changed_ns(path), reader, code)


def changed_ns(path: Path) -> int:
    """Give what changes with a file, so that it is read once while it stays; -1 if it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1


def folder_to_read(value: Any, info: ValidationInfo, told: tuple[str, ...]) -> Path | None:
    """Give the study's folder if a kind is written there with a file to read now; None if not.

    Parameters
    ----------
    value : any value
        As written, or as it stands in a stored point.
    info : pydantic.ValidationInfo
        Whose context has the folder while a study is read.
    told : tuple of str
        Keys that the file tells.

    Raises
    ------
    ConfigError
        If the study writes one of these.
    """
    folder = (info.context or {}).get("folder")
    if folder is None or not isinstance(value, dict) or not isinstance(value.get("file"), str):
        return None
    for key in told:
        if key in value:
            raise ConfigError("unknown key", "leave it out; the file tells it", (key,), code="unknown-key")
    return Path(folder)


class FromFile(Model):
    """What the kinds have that take a file: where it is, which a point does not hold, and its digest, which it does.

    A kind has `_read_file`, and in `_facts` gives the fields that follow from what it read.
    """

    file: Annotated[str, NoPhysics] = Field(min_length=1, description="the file, relative to the study's folder")
    # Where a user's studies lie is nobody else's matter: it stands in no record.
    folder: SkipJsonSchema[Annotated[str, NoPhysics]] = Field("", exclude=True)
    sha256: SkipJsonSchema[str] = ""

    @classmethod
    def _read_file(cls, path: Path) -> tuple[Any, str]:
        """Give the content of the file, and its digest: a call of `read`."""
        raise NotImplementedError

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        """Give the fields that follow from the content and from the other keys as they are written."""
        raise NotImplementedError

    @model_validator(mode="before")
    @classmethod
    def _take_file(cls, value: Any, info: ValidationInfo) -> Any:
        folder = folder_to_read(value, info, ("folder", "sha256"))
        if folder is None:
            return value
        content, sha256 = cls._read_file(folder / value["file"])
        facts = cls._facts(content, value, info.context or {})
        folder_to_read(value, info, tuple(facts))
        return {**value, **facts, "folder": str(folder.resolve()), "sha256": sha256}

    def content(self) -> Any:
        """Give the content of the file.

        Raises
        ------
        StudyError
            If it is gone, or has changed since the study was planned, or the kind was read from a record.
        """
        if not self.folder:
            problem = f"the file {self.file} is beside its study, which this record does not name"
            raise StudyError(problem, "name the study with --study", code="gone-from-store")
        try:
            content, sha256 = self._read_file(Path(self.folder) / self.file)
        except ConfigError as error:
            # Without its value, which may be a path: a record of the failure says nothing of where the study lies.
            raise StudyError(f"the file {self.file}: {error.problem}", error.remedy, code=error.code) from None
        if sha256 != self.sha256:
            raise StudyError(
                f"the file {self.file} has changed since the study was planned",
                "run the study again",
                code="study-changed",
            )
        return content
